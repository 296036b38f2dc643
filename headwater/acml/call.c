// Calls of BLAS, LAPACK and NumPy's loops from Python: a plan (`quick.py` writes it) tells how the arguments of a routine
// are tested and passed. Calls that the plan does not take, wrong ones among them, go to the plan's `general`, a callable
// of Python, which names what is wrong. No header is included: objects are pointers, and what is used of Python's C
// interface comes as a table of addresses. Offsets in objects are tested before this code is used.

typedef long long i64;
typedef void *Object;

enum { FLAG, DIGIT, INT, ANY, LEADING, INCREMENT, SCALAR, VECTOR, MATRIX, ARRAY, PIVOTS, STEPS, BLOCKS, FIXED, ASKED, SIZE };
enum { NONE, INFO, WHOLE, FLOAT, DOUBLE, PAIR, PAIR_OF_DOUBLES };
enum { END, CONSTANT, VALUE, ADD, SUBTRACT, MULTIPLY, DIVIDE, MIN, MAX, IF_N, OF, KEPT, COLUMNS, SDD_U, SDD_VT, SDD_WORK };
#define MOST 32
#define LEAST_WORKSPACE 32 // as in native.py
#define INT_MAX 2147483647LL

static struct {
    Object none, ints, floats, complexes, arrays; // None and types
    i64 head;                                     // size of an object's head, whose last word is the type
    Object (*vectorcall)(Object, Object const *, i64, Object);
    void *(*address)(Object);
    i64 (*whole)(Object, int *);
    double (*number)(Object), (*real)(Object), (*imaginary)(Object);
    Object (*error)(void);
    void (*clear)(void);
    Object (*from_whole)(i64), (*from_double)(double), (*from_doubles)(double, double);
    void (*keep)(Object), (*drop)(Object);
    void *(*save_thread)(void);
    void (*restore_thread)(void *);
    void *(*allocate)(i64);
    void (*release)(void *);
} api;

typedef struct {
    i64 kind, argument, written, bytes, follower, swapped, rows, columns, parts, letters, count;
    Object dtype;
} Parameter;

typedef struct {
    Object text;
    i64 letter;
} Letter;

typedef struct {
    void *function;
    Object general;
    i64 arguments, parameters, result, single, *code;
    Letter *letters;
    Parameter *parameter;
} Plan;

typedef struct { // NumPy's PyArrayObject_fields (numpy/ndarraytypes.h), behind the object's head
    char *data;
    int rank, unused;
    i64 *shape, *strides;
    Object base, dtype;
    int flags;
} Array;
enum { IN_FORTRANS_ORDER = 2, ALIGNED = 0x100, WRITEABLE = 0x400 };

void hw_set(void **table)
{
    for (unsigned i = 0; i < sizeof api / sizeof(void *); ++i)
        ((void **)&api)[i] = table[i];
}

static Object type_of(Object object) { return *(Object *)((char *)object + api.head - sizeof(Object)); }
static Array *array_of(Object object) { return (Array *)((char *)object + api.head); }
static i64 least(i64 x, i64 y) { return x < y ? x : y; }
static i64 most(i64 x, i64 y) { return x > y ? x : y; }

// An extent: an expression of the sizes and flags, its operands before their operation.
static i64 extent(const i64 *code, const i64 *value)
{
    i64 stack[16], *top = stack;
    for (;; code += 2)
        switch (code[0]) {
        case END: return top[-1];
        case CONSTANT: *top++ = code[1]; break;
        case VALUE: *top++ = value[code[1]]; break;
        case ADD: --top; top[-1] += top[0]; break;
        case SUBTRACT: --top; top[-1] -= top[0]; break;
        case MULTIPLY: --top; top[-1] *= top[0]; break;
        case DIVIDE: --top; top[-1] /= top[0]; break;
        case MIN: --top; top[-1] = least(top[-1], top[0]); break;
        case MAX: --top; top[-1] = most(top[-1], top[0]); break;
        case IF_N: top -= 2; top[-1] = top[-1] == 'N' ? top[0] : top[1]; break;
        case OF: top -= 2; top[-1] = top[-1] == 'L' ? top[0] : top[1]; break;
        case KEPT: --top; top[-1] = top[-1] == 'A' || top[-1] == 'S' ? top[0] : 0; break;
        case COLUMNS: top -= 2; top[-1] = top[-1] == 'S' ? top[1] : top[0]; break;
        case SDD_U:
        case SDD_VT:
            top -= 2;
            top[-1] = top[-1] == 'A' || top[-1] == 'S' || (top[-1] == 'O' && (top[0] < top[1]) == (code[0] == SDD_U));
            break;
        case SDD_WORK: {
            const i64 m = *--top, n = top[-1], low = least(m, n);
            top[-1] = low * most(7, most(5 * low + 5, 2 * most(m, n) + 2 * low + 1));
        }
        }
}

#define P(i) p[i]
#define EIGHT(i) P(i), P(i + 1), P(i + 2), P(i + 3), P(i + 4), P(i + 5), P(i + 6), P(i + 7)
#define V void *
#define EIGHT_TYPES V, V, V, V, V, V, V, V
typedef struct { float x, y; } Pair;
typedef struct { double x, y; } PairOfDoubles;

// The routine with `count` pointers; those behind are not looked at by it.
static void run(void *function, void **p, int count)
{
    if (count <= 8)
        ((void (*)(EIGHT_TYPES))function)(EIGHT(0));
    else if (count <= 16)
        ((void (*)(EIGHT_TYPES, EIGHT_TYPES))function)(EIGHT(0), EIGHT(8));
    else
        ((void (*)(EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES))function)(EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24));
}

static Object value_of(void *function, void **p, i64 kind)
{
    void *thread;
    double real = 0, imaginary = 0;
    i64 whole = 0;
#define CALL(type) ((type (*)(EIGHT_TYPES))function)(EIGHT(0))
    thread = api.save_thread();
    if (kind == WHOLE)
        whole = CALL(int);
    else if (kind == FLOAT)
        real = CALL(float);
    else if (kind == DOUBLE)
        real = CALL(double);
    else if (kind == PAIR) {
        const Pair pair = CALL(Pair);
        real = pair.x, imaginary = pair.y;
    } else {
        const PairOfDoubles pair = CALL(PairOfDoubles);
        real = pair.x, imaginary = pair.y;
    }
    api.restore_thread(thread);
    if (kind == WHOLE)
        return api.from_whole(whole);
    return kind == FLOAT || kind == DOUBLE ? api.from_double(real) : api.from_doubles(real, imaginary);
}

// A whole number of 32 bits; 0 if the object is none.
static int whole(Object object, i64 *value)
{
    int overflow;
    if (type_of(object) != api.ints)
        return 0;
    *value = api.whole(object, &overflow);
    return !overflow && *value >= -INT_MAX && *value <= INT_MAX;
}

// Whether the array has `needed` elements of its parameter, `step` apart or by columns that are, and where it begins.
static int memory(Object object, const Parameter *p, i64 needed, i64 step, void **address)
{
    if (type_of(object) != api.arrays)
        return 0;
    const Array *array = array_of(object);
    if (array->dtype != p->dtype || !(array->flags & ALIGNED) || (p->written && !(array->flags & WRITEABLE)))
        return 0;
    i64 span = 1;
    if (array->flags & IN_FORTRANS_ORDER)
        for (int i = 0; i < array->rank; ++i)
            span *= array->shape[i];
    else if (array->rank == 2 && p->kind == MATRIX && array->shape[1] > 1 && array->strides[0] == p->bytes &&
             array->strides[1] == step * p->bytes && array->shape[0])
        span = (array->shape[1] - 1) * step + array->shape[0];
    else
        return 0;
    *address = array->data;
    return span >= needed;
}

// Whether LAPACK stays within its arrays with such exchanged rows (`Row.exchanges` in routines.py).
static int are_rows(const int *rows, i64 count, i64 kind)
{
    int half = 0; // of a block of two rows
    for (i64 at = 0; at < count; ++at) {
        const i64 row = rows[at];
        if (!row || row > count || row < -count || (row < 0 ? kind != BLOCKS : half) ||
            (kind == STEPS && row != at + 1 && row != at + 2))
            return 0;
        half = row < 0 && !half;
    }
    return !half;
}

static Object by_plan(const Plan *plan, Object const *args, i64 count)
{
    i64 value[MOST], needed[MOST], bytes[MOST];
    int number[MOST + 1], asked = 0, blocks = 0;
    double doubles[MOST][2];
    void *p[MOST + 1], *block[MOST];
    const int n = plan->parameters;
    if (count != plan->arguments)
        return 0;
    for (int i = 0; i < n; ++i) {
        const Parameter *q = plan->parameter + i;
        const Object object = q->argument >= 0 ? args[q->argument] : 0;
        needed[i] = 0;
        p[i] = number + i;
        switch (q->kind) {
        case FLAG: {
            const Letter *letter = plan->letters + q->letters;
            i64 at = 0;
            while (at < q->count && letter[at].text != object)
                ++at;
            if (at == q->count)
                return 0;
            value[i] = letter[at].letter;
            p[i] = (void *)&letter[at].letter; // its first byte: processors are little-endian
            break;
        }
        case DIGIT:
        case INT:
        case ANY:
        case LEADING:
        case INCREMENT: {
            if (!whole(object, value + i) || (q->kind != ANY && q->kind != INCREMENT && value[i] < (q->kind != INT)) ||
                (q->kind == INCREMENT && !value[i]) || (q->kind == DIGIT && value[i] > q->count))
                return 0;
            number[i] = value[i];
            break;
        }
        case SCALAR: {
            const Object type = type_of(object);
            p[i] = doubles[i];
            if (type == api.complexes && q->parts == 2) {
                doubles[i][0] = api.real(object);
                doubles[i][1] = api.imaginary(object);
            } else {
                if (type != api.floats && type != api.ints)
                    return 0;
                doubles[i][0] = api.number(object);
                doubles[i][1] = 0;
                if (doubles[i][0] == -1 && api.error()) { // an int beyond all doubles
                    api.clear();
                    return 0;
                }
            }
            if (plan->single) {
                const float pair[2] = {doubles[i][0], doubles[i][1]};
                ((float *)doubles[i])[0] = pair[0];
                ((float *)doubles[i])[1] = pair[1];
            }
            break;
        }
        case SIZE: number[i] = -1; break;
        }
    }
    for (int i = 0; i < n; ++i) {
        const Parameter *q = plan->parameter + i;
        i64 step = 1;
        if (q->kind < VECTOR || q->kind > BLOCKS)
            continue;
        i64 rows = extent(plan->code + q->rows, value);
        if (q->kind == MATRIX) {
            i64 columns = extent(plan->code + q->columns, value);
            if (q->swapped >= 0 && value[q->swapped] != 'N') {
                const i64 other = rows;
                rows = columns;
                columns = other;
            }
            step = value[q->follower];
            if (step < rows)
                return 0;
            needed[i] = rows > 0 && columns > 0 ? step * (columns - 1) + rows : 0;
        } else if (q->kind == VECTOR) {
            step = value[q->follower];
            needed[i] = rows > 0 ? (rows - 1) * (step < 0 ? -step : step) + 1 : 0;
        } else
            needed[i] = most(rows, 0);
        if (!memory(args[q->argument], q, needed[i], step, p + i))
            return 0;
        bytes[i] = needed[i] * q->bytes;
        if (q->kind >= PIVOTS && !are_rows(p[i], needed[i], q->kind))
            return 0;
        for (int j = 0; j < i; ++j) {
            const Parameter *other = plan->parameter + j;
            if (other->kind >= VECTOR && other->kind <= BLOCKS && (q->written || other->written) && needed[i] &&
                (char *)p[i] < (char *)p[j] + bytes[j] && (char *)p[j] < (char *)p[i] + bytes[i])
                return 0;
        }
    }
    if (plan->result > INFO)
        return value_of(plan->function, p, plan->result);
    double first[MOST][2];
    for (int i = 0; i < n; ++i) {
        const Parameter *q = plan->parameter + i;
        if (q->kind == FIXED)
            p[i] = block[blocks++] = api.allocate(most(extent(plan->code + q->rows, value), 1) * q->bytes);
        else if (q->kind == ASKED)
            asked = 1, p[i] = first[i], first[i][0] = first[i][1] = 0;
    }
    int failed = 0;
    for (int i = 0; i < blocks; ++i)
        failed |= !block[i];
    void *thread = api.save_thread();
    number[n] = 0;
    p[n] = number + n;
    if (asked && !failed) {
        run(plan->function, p, n + 1);
        for (int i = 0; i < n && !number[n]; ++i) {
            const Parameter *q = plan->parameter + i;
            if (q->kind != ASKED)
                continue;
            // a size as a number of the routine's type: float rounds those above 2**24
            const double size = !q->parts ? *(int *)first[i] : plan->single ? *(float *)first[i] * (1 + 0x1p-23) : first[i][0];
            if (!(size >= 0 && size <= INT_MAX)) { // LAPACK's sizes have 32 bits, and it wraps around itself
                failed = 1;
                break;
            }
            const i64 wanted = most(size, LEAST_WORKSPACE);
            p[i] = block[blocks++] = api.allocate((wanted + 1) * q->bytes);
            failed |= !p[i];
            if (i + 1 < n && plan->parameter[i + 1].kind == SIZE)
                number[i + 1] = wanted;
        }
    }
    if (!failed && !number[n])
        run(plan->function, p, n + 1);
    api.restore_thread(thread);
    for (int i = 0; i < blocks; ++i)
        api.release(block[i]);
    if (failed)
        return 0;
    if (plan->result == INFO)
        return api.from_whole(number[n]);
    api.keep(api.none);
    return api.none;
}

// A builtin function of Python (METH_FASTCALL) whose object has a plan's address behind its head.
Object hw_call(Object self, Object const *args, i64 count)
{
    const Plan *plan = api.address(*(Object *)((char *)self + api.head));
    const Object found = by_plan(plan, args, count);
    return found || api.error() ? found : api.vectorcall(plan->general, args, count, 0);
}

// A function of vector maths: `loop` is NumPy's of one operand and one result. By the arguments (n, x, y), or (x, y) of
// `fixed` elements.
typedef struct {
    Object general;
    void (*loop)(char **, const i64 *, const i64 *, void *);
    void *data;
    Object dtype;
    i64 bytes, fixed;
} Loop;

static int of_loop(const Loop *loop, Object object, i64 n, char **data)
{
    if (type_of(object) != api.arrays)
        return 0;
    const Array *array = array_of(object);
    *data = array->data;
    return array->dtype == loop->dtype && array->rank == 1 && array->shape[0] >= n &&
           (array->flags & (IN_FORTRANS_ORDER | ALIGNED)) == (IN_FORTRANS_ORDER | ALIGNED);
}

Object hw_vector(Object self, Object const *args, i64 count)
{
    const Loop *loop = api.address(*(Object *)((char *)self + api.head));
    i64 n = loop->fixed;
    Object const *arrays = args + !n;
    char *data[2];
    if (count != 2 + !n || (!n && (!whole(args[0], &n) || n < 0)) || !of_loop(loop, arrays[0], n, data) ||
        !of_loop(loop, arrays[1], n, data + 1) || !(array_of(arrays[1])->flags & WRITEABLE) ||
        (data[0] != data[1] && data[0] < data[1] + n * loop->bytes && data[1] < data[0] + n * loop->bytes))
        return api.vectorcall(loop->general, args, count, 0);
    const i64 steps[2] = {loop->bytes, loop->bytes};
    void *thread = api.save_thread();
    if (n)
        loop->loop(data, &n, steps, loop->data);
    api.restore_thread(thread);
    api.keep(api.none);
    return api.none;
}

// A transform of one sequence in its place, (mode, n, x, comm): by `transform`, SciPy's own function, where x
// has n elements. Its other arguments are constants: the axis, the direction, the scale, and one thread.
typedef struct {
    Object general, transform, dtype, axes, forward, backward, scale, threads, zero;
} Transform;

Object hw_transform(Object self, Object const *args, i64 count)
{
    const Transform *plan = api.address(*(Object *)((char *)self + api.head));
    i64 mode, n;
    if (count != 4 || !whole(args[0], &mode) || !whole(args[1], &n) || !mode || mode < -2 || mode > 2 || n < 1 ||
        type_of(args[2]) != api.arrays)
        return api.vectorcall(plan->general, args, count, 0);
    const Array *x = array_of(args[2]);
    const int flags = IN_FORTRANS_ORDER | ALIGNED | WRITEABLE;
    if (x->dtype != plan->dtype || x->rank != 1 || x->shape[0] != n || (x->flags & flags) != flags)
        return api.vectorcall(plan->general, args, count, 0);
    Object const all[] = {args[2], plan->axes, mode < 0 ? plan->forward : plan->backward, plan->scale, args[2], plan->threads};
    const Object found = api.vectorcall(plan->transform, all, 6, 0);
    if (!found)
        return 0;
    api.drop(found);
    api.keep(plan->zero);
    return plan->zero;
}

// A product of two matrices: NumPy's where it has fewer elementary ones than `limit` of its type, where it is the only
// way, or where its size is one of `settled`, for which it was found fastest; else `general` decides.
enum { SLOTS = 4096 };
typedef struct {
    i64 m, n, k, type;
} Size;

typedef struct {
    Object general, matmul;
    i64 alone;
    Object dtype[4];
    i64 limit[4];
    Size *settled;
} Product;

static int is_settled(const Product *plan, i64 m, i64 n, i64 k, i64 type)
{
    const unsigned long long slot = m * 73856093ULL ^ n * 19349663ULL ^ k * 83492791ULL ^ type;
    const Size *size = plan->settled + slot % SLOTS;
    return size->m == m && size->n == n && size->k == k && size->type == type;
}

Object hw_product(Object self, Object const *args, i64 count, Object names)
{
    const Product *plan = api.address(*(Object *)((char *)self + api.head));
    if (count == 2 && !names && type_of(args[0]) == api.arrays && type_of(args[1]) == api.arrays) {
        const Array *a = array_of(args[0]), *b = array_of(args[1]);
        int small = plan->alone;
        if (!small && a->rank == 2 && b->rank == 2 && a->dtype == b->dtype)
            for (int i = 0; i < 4; ++i)
                small |= a->dtype == plan->dtype[i] &&
                         ((double)a->shape[0] * a->shape[1] * b->shape[1] < (double)plan->limit[i] ||
                          (a->shape[1] == b->shape[0] &&
                           is_settled(plan, a->shape[0], b->shape[1], a->shape[1], i)));
        if (small)
            return api.vectorcall(plan->matmul, args, 2, 0);
    }
    return api.vectorcall(plan->general, args, count, names);
}
