/* Atomic operations on a dword of global memory (il_g_*) or LDS (il_l_*); each returns what was there before. */
uint il_g_atomic_add(volatile __global uint *p, uint v) { return atomic_add(p, v); }
uint il_g_atomic_sub(volatile __global uint *p, uint v) { return atomic_sub(p, v); }
uint il_g_atomic_min(volatile __global uint *p, uint v) { return atomic_min(p, v); }
uint il_g_atomic_max(volatile __global uint *p, uint v) { return atomic_max(p, v); }
uint il_g_atomic_and(volatile __global uint *p, uint v) { return atomic_and(p, v); }
uint il_g_atomic_or(volatile __global uint *p, uint v) { return atomic_or(p, v); }
uint il_g_atomic_xor(volatile __global uint *p, uint v) { return atomic_xor(p, v); }
uint il_g_atomic_xchg(volatile __global uint *p, uint v) { return atomic_xchg(p, v); }
uint il_g_atomic_min_signed(volatile __global uint *p, uint v) { return (uint)atomic_min((volatile __global int *)p, (int)v); }
uint il_g_atomic_max_signed(volatile __global uint *p, uint v) { return (uint)atomic_max((volatile __global int *)p, (int)v); }
uint il_g_atomic_cmp_xchg(volatile __global uint *p, uint v, uint expected) { return atomic_cmpxchg(p, expected, v); }
uint il_g_atomic_rsub(volatile __global uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, v - old)) != old)
        old = seen;
    return old;
}
uint il_g_atomic_inc_wrap(volatile __global uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, old >= v ? 0u : old + 1u)) != old)
        old = seen;
    return old;
}
uint il_g_atomic_dec_wrap(volatile __global uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, old == 0u || old > v ? v : old - 1u)) != old)
        old = seen;
    return old;
}
uint il_l_atomic_add(volatile __local uint *p, uint v) { return atomic_add(p, v); }
uint il_l_atomic_sub(volatile __local uint *p, uint v) { return atomic_sub(p, v); }
uint il_l_atomic_min(volatile __local uint *p, uint v) { return atomic_min(p, v); }
uint il_l_atomic_max(volatile __local uint *p, uint v) { return atomic_max(p, v); }
uint il_l_atomic_and(volatile __local uint *p, uint v) { return atomic_and(p, v); }
uint il_l_atomic_or(volatile __local uint *p, uint v) { return atomic_or(p, v); }
uint il_l_atomic_xor(volatile __local uint *p, uint v) { return atomic_xor(p, v); }
uint il_l_atomic_xchg(volatile __local uint *p, uint v) { return atomic_xchg(p, v); }
uint il_l_atomic_min_signed(volatile __local uint *p, uint v) { return (uint)atomic_min((volatile __local int *)p, (int)v); }
uint il_l_atomic_max_signed(volatile __local uint *p, uint v) { return (uint)atomic_max((volatile __local int *)p, (int)v); }
uint il_l_atomic_cmp_xchg(volatile __local uint *p, uint v, uint expected) { return atomic_cmpxchg(p, expected, v); }
uint il_l_atomic_rsub(volatile __local uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, v - old)) != old)
        old = seen;
    return old;
}
uint il_l_atomic_mskor(volatile __local uint *p, uint mask, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, (old & ~mask) | v)) != old)
        old = seen;
    return old;
}
uint il_l_atomic_inc_wrap(volatile __local uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, old >= v ? 0u : old + 1u)) != old)
        old = seen;
    return old;
}
uint il_l_atomic_dec_wrap(volatile __local uint *p, uint v)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, old == 0u || old > v ? v : old - 1u)) != old)
        old = seen;
    return old;
}
