/* A launch block in; threads that run its work-groups together, started and joined without Python, out.
 *
 * Helpers wait a short while for the next launch inside `hw_serve`, each at a box of its own; a launch claims those that
 * wait (`hw_fork`), works along and waits for them to leave (`hw_lead`). What `hw_fork` does not get, and waiting for
 * longer, is the caller's business (pool.py). It follows the declarations of pool.py's `c_header`. Nothing here allocates, blocks or calls the system.
 *
 * The state word of a launch counts the helpers inside. OPEN: more may enter. LED: the thread that launched is inside.
 * NOTIFY: who leaves last must say so. Once a thread finds no group left, nobody enters any more. JOINED counts the
 * helpers that came in time. PATIENCE: how many turns those who have done their part wait for the others, and for the
 * next launch, before they sleep.
 */

typedef void entry_function(struct launch_block *block, void *args, void *scratch);

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define INSIDE (COUNT | LED)

enum { ASLEEP = 0, IDLE = 1 };

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static i64 seen(i64 *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static int changed(i64 *word, i64 *from, i64 to)
{
    return __atomic_compare_exchange_n(word, from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void run(struct launch_block *block, void *scratch)
{
    void *own = (void *)block->own_scratch;
    if (own)
        scratch = own;
    if (scratch)
        ((entry_function *)block->entry)(block, (void *)block->args, scratch);
}

/* Let nobody else in and a helper out; whether that ends a launch whose end is to be reported. */
static int leave(struct launch_block *block)
{
    i64 old = seen(&block->state), left;
    do
        left = (old & ~(i64)OPEN) - 1;
    while (!changed(&block->state, &old, left));
    return !(left & INSIDE) && (left & NOTIFY);
}

/* Send up to `wanted` waiting helpers to work on a launch that the caller is inside; how many went. */
EXPORT i64 hw_fork(struct board *board, struct launch_block *block, i64 wanted)
{
    struct box *boxes = (struct box *)board + 1;
    i64 count = seen(&board->boxes), sent = 0;
    for (i64 at = 0; at < count && sent < wanted; at++) {
        i64 idle = IDLE;
        if (seen(&boxes[at].word) != IDLE)
            continue;
        __atomic_fetch_add(&block->state, 1, __ATOMIC_RELAXED);
        /* A helper keeps its scratch memory while it waits; it is looked at again once it is ours. */
        if (boxes[at].scratch_bytes >= block->scratch_bytes && changed(&boxes[at].word, &idle, (i64)block))
            sent++;
        else
            __atomic_fetch_sub(&block->state, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&block->joined, sent, __ATOMIC_RELAXED);
    return sent;
}

/* Work in the thread that launched, then wait for the helpers; whether some are still inside, and the last will tell.
 * Without scratch memory there is no work: the launch is only closed. A second call does no harm. */
EXPORT i64 hw_lead(struct launch_block *block, void *scratch)
{
    if (seen(&block->state) & LED)
        run(block, scratch);
    i64 old = __atomic_fetch_and(&block->state, ~(i64)(OPEN | LED), __ATOMIC_ACQ_REL);
    if (!(old & COUNT))
        return 0;
    for (i64 left = block->patience; left > 0; left--) {
        if (!(seen(&block->state) & COUNT))
            return 0;
        relax();
    }
    return (__atomic_fetch_or(&block->state, NOTIFY, __ATOMIC_ACQ_REL) & COUNT) != 0;
}

/* The thread that launched goes its way, and others work; whether all is over and nobody else will tell. */
EXPORT i64 hw_release(struct launch_block *block)
{
    i64 old = __atomic_fetch_and(&block->state, ~(i64)LED, __ATOMIC_ACQ_REL);
    return !(old & (COUNT | OPEN));
}

/* Whether a helper that was asked by other means is in time. */
EXPORT i64 hw_enter(struct launch_block *block)
{
    i64 old = seen(&block->state);
    do
        if (!(old & OPEN))
            return 0;
    while (!changed(&block->state, &old, old + 1));
    __atomic_fetch_add(&block->joined, 1, __ATOMIC_RELAXED);
    return 1;
}

/* Work in a helper that has entered; whether it is the last, and must tell. Without scratch memory it just leaves. */
EXPORT i64 hw_work(struct launch_block *block, void *scratch)
{
    run(block, scratch);
    return leave(block);
}

/* Wait for launches and work on them until none has come for a while (0), or one ended whose end is to be reported. */
EXPORT struct launch_block *hw_serve(struct board *board, struct box *box, i64 spins)
{
    struct launch_block *ended = 0;
    if (__atomic_fetch_add(&board->spinning, 1, __ATOMIC_RELAXED) < board->most) {
        i64 left = spins;
        __atomic_store_n(&box->word, IDLE, __ATOMIC_RELEASE);
        for (;;) {
            i64 word = seen(&box->word);
            if (word == IDLE) {
                if (left-- > 0)
                    relax();
                else if (changed(&box->word, &word, ASLEEP))
                    break;
                continue;
            }
            struct launch_block *block = (struct launch_block *)word;
            run(block, box->scratch);
            left = block->patience; /* before it leaves, when the block may go */
            int last = leave(block);
            __atomic_store_n(&box->word, last ? ASLEEP : IDLE, __ATOMIC_RELEASE);
            if (last) {
                ended = block;
                break;
            }
        }
    }
    __atomic_fetch_sub(&board->spinning, 1, __ATOMIC_RELAXED);
    return ended;
}

/* As long as a helper waits, for calibration. */
EXPORT void hw_spin(i64 spins)
{
    for (; spins > 0; spins--)
        relax();
}
