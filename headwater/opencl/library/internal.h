/* What the units of the device library share. Each unit states what it provides in comments `// Provides <type>: names`,
   where <type> is the mangling code of the first parameter (f, d, Dh, …) or * for any.

   The vectoriser runs these functions many lanes wide after inlining: selects are better than branches, polynomials than
   tables. `FMA` is a fused multiply-add, one rounding; the units are compiled without contraction. */
#ifndef HEADWATER_LIBRARY_INTERNAL
#define HEADWATER_LIBRARY_INTERNAL

#define PURE __attribute__((overloadable, always_inline, const))
#define OVER __attribute__((overloadable, always_inline))
#define HELPER static inline __attribute__((overloadable, always_inline, const))

#define FMA(a, b, c) __builtin_elementwise_fma((a), (b), (c))
#define RINT(x) __builtin_elementwise_roundeven(x)
#define ABS(x) __builtin_elementwise_abs(x)

/* ---- what the vectoriser implements */
#define PRIMITIVE3(T, name) \
  T __hw_##name##_0(void) __attribute__((const)); \
  T __hw_##name##_1(void) __attribute__((const)); \
  T __hw_##name##_2(void) __attribute__((const));
PRIMITIVE3(ulong, global_id)
PRIMITIVE3(ulong, local_id)
PRIMITIVE3(ulong, group_id)
PRIMITIVE3(ulong, global_size)
PRIMITIVE3(ulong, local_size)
PRIMITIVE3(ulong, enqueued_local_size)
PRIMITIVE3(ulong, num_groups)
PRIMITIVE3(ulong, global_offset)
uint __hw_work_dim(void) __attribute__((const));
ulong __hw_local_begin(void) __attribute__((const));
ulong __hw_local_end(void) __attribute__((const));
ulong __hw_scratch_end(void) __attribute__((const));
ulong __hw_stack_begin(void) __attribute__((const));
ulong __hw_stack_end(void) __attribute__((const));
void __hw_barrier(void) __attribute__((convergent));

/* ---- what a program may define instead of the library */
ulong __hw_copies_ahead(void) __attribute__((const));

#endif
