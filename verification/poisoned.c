/* An allocator for NumPy's data (NEP 49) that overwrites what is freed, and finds what is written there or beyond an
 * end. A block is a header, the memory with `GUARD` bytes on either side, and waits in a queue for some time after it is
 * freed, so that nothing else lies there at once. */

typedef unsigned long size;
typedef unsigned char byte;

enum { HEADER = 64, GUARD = 64, FRESH = 0xC5, FREED = 0xA5, EDGE = 0x5C };

struct block {
    struct block *next;
    size bytes;
};

static void *(*get)(size);
static void (*give_back)(void *);
static size most, waiting;
static struct block *oldest, *newest;
static volatile int busy;
/* What was found: blocks written after they were freed, blocks written beyond an end; how many were freed. */
static long found[3];

static void lock(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
}

static void unlock(void) { __atomic_store_n(&busy, 0, __ATOMIC_RELEASE); }

static void fill(byte *at, size bytes, byte value)
{
    for (size k = 0; k < bytes; k++)
        at[k] = value;
}

static int holds(const byte *at, size bytes, byte value)
{
    int same = 1;
    for (size k = 0; k < bytes; k++)
        same &= at[k] == value;
    return same;
}

static byte *memory(struct block *block) { return (byte *)block + HEADER + GUARD; }

static struct block *block_of(void *at) { return (struct block *)((byte *)at - HEADER - GUARD); }

/* Look at a freed block; what was found is told once. */
static void look(struct block *block)
{
    if (!holds(memory(block), block->bytes, FREED)) {
        found[0]++;
        fill(memory(block), block->bytes, FREED);
    }
}

void hw_begin(void *allocate, void *release, size room)
{
    get = (void *(*)(size))allocate;
    give_back = (void (*)(void *))release;
    most = room;
}

void hw_free(void *context, void *at, size bytes)
{
    if (!at)
        return;
    struct block *block = block_of(at), *gone = 0;
    lock();
    found[2]++;
    if (!holds(memory(block) - GUARD, GUARD, EDGE) || !holds(memory(block) + block->bytes, GUARD, EDGE))
        found[1]++;
    fill(memory(block), block->bytes, FREED);
    block->next = 0;
    if (newest)
        newest->next = block;
    else
        oldest = block;
    newest = block;
    waiting += block->bytes;
    while (waiting > most && oldest != newest) {
        struct block *first = oldest;
        oldest = first->next;
        waiting -= first->bytes;
        look(first);
        first->next = gone;
        gone = first;
    }
    unlock();
    while (gone) {
        struct block *next = gone->next;
        give_back(gone);
        gone = next;
    }
}

static void *allocated(size bytes, byte value)
{
    struct block *block = bytes > ~(size)0 / 2 ? 0 : get(bytes + HEADER + 2 * GUARD);
    if (!block)
        return 0;
    block->bytes = bytes;
    fill(memory(block) - GUARD, GUARD, EDGE);
    fill(memory(block), bytes, value);
    fill(memory(block) + bytes, GUARD, EDGE);
    return memory(block);
}

void *hw_malloc(void *context, size bytes) { return allocated(bytes, FRESH); }

void *hw_calloc(void *context, size count, size each)
{
    return each && count > ~(size)0 / each ? 0 : allocated(count * each, 0);
}

void *hw_realloc(void *context, void *at, size bytes)
{
    byte *made = allocated(bytes, FRESH), *old = at;
    if (made && old) {
        size kept = block_of(old)->bytes;
        for (size k = 0; k < kept && k < bytes; k++)
            made[k] = old[k];
        hw_free(context, old, kept);
    }
    return made;
}

/* Look at all that waits; the counts. */
long *hw_look(void)
{
    lock();
    for (struct block *block = oldest; block; block = block->next)
        look(block);
    unlock();
    return found;
}
