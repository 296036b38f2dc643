/* DRAM: accesses to chunks of channels in, when their data have moved out.

   A channel's bus moves bytes, less what refresh takes. A chunk of some hundred bytes lies in one row of one bank. A row that
   is not open is activated first: a bank can do that once a row cycle (tRC), a channel as often as its power allows (tRRD,
   tFAW). Controllers take what is in their queue row by row (Rixner et al., Memory access scheduling, 2000). Compute units
   are replayed in turn, and what they ask for in these turns says little about the order in a queue; so a row stays open for
   what is asked for within `queue_cycles_of_channel` of its activation, and as long as no other row of the bank is wanted. Writes
   wait until there is a batch of them, each of which turns the bus around twice if reads came between. Writes of less than a
   burst activate their row each on its own. */

enum { ROWS = 4 }; /* of a bank that are found in a queue */

struct dram_bank {
    u32 row[ROWS]; /* number + 1 */
    u32 newest, unused[3];
    u64 opened[ROWS];
} __attribute__((aligned(64)));

struct dram_channel { u32 written, read; };

struct dram {
    const struct chip *chip;
    struct calendar *bus, *activation;
    struct dram_channel *channel;
    struct dram_bank *banks;
    u64 *ready; /* when a bank can activate a row next */
    struct divisor of_channels, of_banks, of_columns, of_below;
    u64 bytes, written, activations, turns;
};

static inline __attribute__((always_inline)) u64 dram_activate(struct dram *d, u32 channel, u32 chunk, u64 time, u32 alone) {
    const struct chip *k = d->chip;
    u32 below = over(chunk, &d->of_below), row = over(below, &d->of_banks), number = below - row * k->dram_banks;
    u32 tag; /* what tells a bank's rows apart */
    if (k->bank_below == 1) tag = row = over(row, &d->of_columns); /* a row's columns lie above the banks */
    else tag = over(chunk, &d->of_columns);
    if (k->bank_hash) number ^= row & (k->dram_banks - 1);
    u32 at = channel * k->dram_banks + number;
    struct dram_bank *b = &d->banks[at];
    tag++;
    if (!alone) {
        if (b->row[b->newest] == tag) return time;
        for (u32 n = 0; n < ROWS; n++)
            if (b->row[n] == tag && time < b->opened[n] + k->queue_cycles_of_channel) return time;
    }
    u64 start = later(calendar_take(&d->activation[channel], time, k->activate_sixteenths), d->ready[at]);
    d->activations++;
    d->ready[at] = start + k->row_cycles;
    b->newest = (b->newest + 1) % ROWS;
    b->row[b->newest] = tag;
    b->opened[b->newest] = start;
    return start;
}

/* When `bytes` of a chunk, in so many lines, have moved. `writes`: 1, or 2 where each line is written in part. */
static inline u64 dram_access(struct dram *d, u32 bank, u32 chunk, u64 time, u32 lines, u32 bytes, u32 writes) {
    const struct chip *k = d->chip;
    u32 number = rest(bank, &d->of_channels), units = bytes * 16;
    struct dram_channel *c = &d->channel[number];
    d->bytes += bytes;
    if (writes) d->written += bytes;
    if (writes) {
        c->written += lines;
        if (c->written >= k->batch_lines) {
            c->written -= k->batch_lines;
            if (c->read) {
                units += k->turn_sixteenths;
                d->turns++;
            }
            c->read = 0;
        }
    } else c->read = 1;
    return calendar_take(&d->bus[number], dram_activate(d, number, chunk, time, writes > 1), units);
}

static void dram_advance(struct dram *d, u64 time) {
    for (u32 n = 0; n < d->chip->channels; n++) {
        calendar_advance(&d->bus[n], time);
        calendar_advance(&d->activation[n], time);
    }
}

static u64 dram_need(const struct chip *k) {
    u64 bank = sizeof(struct dram_bank) + sizeof(u64);
    return k->channels * (2 * sizeof(struct calendar) + sizeof(struct dram_channel) + k->dram_banks * bank) + 5 * 128;
}

static void dram_begin(struct dram *d, const struct chip *k, struct arena *a) {
    d->chip = k;
    d->bus = give(a, k->channels * sizeof(struct calendar));
    d->activation = give(a, k->channels * sizeof(struct calendar));
    d->channel = give(a, k->channels * sizeof(struct dram_channel));
    d->banks = give(a, (u64)k->channels * k->dram_banks * sizeof(struct dram_bank));
    d->ready = give(a, (u64)k->channels * k->dram_banks * sizeof(u64));
    d->of_channels = divisor_of(k->channels);
    d->of_banks = divisor_of(k->dram_banks);
    d->of_columns = divisor_of(k->row_chunks);
    d->of_below = divisor_of(k->bank_below);
    for (u32 n = 0; n < k->channels; n++) {
        calendar_begin(&d->bus[n], k->channel_bucket_sixteenths);
        calendar_begin(&d->activation[n], BUCKET * 16);
    }
}
