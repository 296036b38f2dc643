// What this machine's memory can do: c = a and c = a + b with streaming stores, and sums, split over threads.
// HALF: half a vector, which moves more on processors whose data paths are no wider.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct part {
    const float *a, *b;
    float *c;
    size_t count;
};

#if defined(__AVX512F__)
#define WIDTH 16
#define STORE(p, v) _mm512_stream_ps(p, v)
#define LOAD(p) _mm512_loadu_ps(p)
#define ADD(x, y) _mm512_add_ps(x, y)
#define HALF 8
#define STORE_HALF(p, v) _mm256_stream_ps(p, v)
#define LOAD_HALF(p) _mm256_loadu_ps(p)
#define ADD_HALVES(x, y) _mm256_add_ps(x, y)
#elif defined(__AVX__)
#define WIDTH 8
#define STORE(p, v) _mm256_stream_ps(p, v)
#define LOAD(p) _mm256_loadu_ps(p)
#define ADD(x, y) _mm256_add_ps(x, y)
#define HALF 4
#define STORE_HALF(p, v) _mm_stream_ps(p, v)
#define LOAD_HALF(p) _mm_loadu_ps(p)
#define ADD_HALVES(x, y) _mm_add_ps(x, y)
#elif defined(__x86_64__)
#define WIDTH 4
#define STORE(p, v) _mm_stream_ps(p, v)
#define LOAD(p) _mm_loadu_ps(p)
#define ADD(x, y) _mm_add_ps(x, y)
#else
typedef float vector __attribute__((vector_size(16), aligned(4)));
#define WIDTH 4
#if __has_builtin(__builtin_nontemporal_store)
#define STORE(p, v) __builtin_nontemporal_store(v, (vector *)(p))
#else
#define STORE(p, v) (*(vector *)(p) = (v))
#endif
#define LOAD(p) (*(const vector *)(p))
#define ADD(x, y) ((x) + (y))
#endif

#ifndef HALF
#define HALF WIDTH
#define STORE_HALF STORE
#define LOAD_HALF LOAD
#define ADD_HALVES ADD
#endif

static void *run_copy(void *argument)
{
    const struct part *p = argument;
    for (size_t i = 0; i < p->count; i += 2 * WIDTH) {
        STORE(p->c + i, LOAD(p->a + i));
        STORE(p->c + i + WIDTH, LOAD(p->a + i + WIDTH));
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
    return NULL;
}

static void *run_add(void *argument)
{
    const struct part *p = argument;
    for (size_t i = 0; i < p->count; i += 2 * WIDTH) {
        STORE(p->c + i, ADD(LOAD(p->a + i), LOAD(p->b + i)));
        STORE(p->c + i + WIDTH, ADD(LOAD(p->a + i + WIDTH), LOAD(p->b + i + WIDTH)));
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
    return NULL;
}

static void *run_add_of_halves(void *argument)
{
    const struct part *p = argument;
    for (size_t i = 0; i < p->count; i += 2 * HALF) {
        STORE_HALF(p->c + i, ADD_HALVES(LOAD_HALF(p->a + i), LOAD_HALF(p->b + i)));
        STORE_HALF(p->c + i + HALF, ADD_HALVES(LOAD_HALF(p->a + i + HALF), LOAD_HALF(p->b + i + HALF)));
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
    return NULL;
}

// A thread's part is read in so many places at once: processors' own prefetchers follow each of them.
static inline void *sum(void *argument, int streams)
{
    const struct part *p = argument;
    const size_t share = p->count / streams;
    float sums[2 * 4 * WIDTH] = {0};
    for (size_t i = 0; i < share; i += 2 * WIDTH)
        for (int s = 0; s < streams; ++s)
            for (int k = 0; k < 2 * WIDTH; ++k)
                sums[2 * WIDTH * s + k] += p->a[s * share + i + k];
    *p->c = 0;
    for (int k = 0; k < 2 * streams * WIDTH; ++k)
        *p->c += sums[k];
    return NULL;
}

static void *run_sum(void *argument)
{
    return sum(argument, 1);
}

static void *run_sum_of_four(void *argument)
{
    return sum(argument, 4);
}

// count is a multiple of 256 * threads, c is aligned to 64 bytes, and each thread's part of it comes result_share after
// the one before; returns 0, or an error number.
static int run(void *(*work)(void *), const float *a, const float *b, float *c, size_t count, int threads,
               size_t result_share)
{
    pthread_t started[256];
    struct part parts[256];
    const size_t share = count / threads;
    int failed = 0;
    for (int t = 0; t < threads; ++t)
        parts[t] = (struct part){a + t * share, b + t * share, c + t * result_share, share};
    for (int t = 1; t < threads && !failed; ++t)
        failed = pthread_create(&started[t], NULL, work, &parts[t]);
    if (failed)
        return failed;
    work(&parts[0]);
    for (int t = 1; t < threads; ++t)
        pthread_join(started[t], NULL);
    return 0;
}

int stream_copy(const float *a, float *c, size_t count, int threads)
{
    return run(run_copy, a, a, c, count, threads, count / threads);
}

int stream_add(const float *a, const float *b, float *c, size_t count, int threads, int halves)
{
    return run(halves ? run_add_of_halves : run_add, a, b, c, count, threads, count / threads);
}

int stream_sum(const float *a, float *total, size_t count, int threads, int streams)
{
    static float sums[256 * 16]; // a cache line each
    const int failed = run(streams == 4 ? run_sum_of_four : run_sum, a, a, sums, count, threads, 16);
    *total = 0;
    for (int t = 0; t < threads; ++t)
        *total += sums[16 * t];
    return failed;
}
