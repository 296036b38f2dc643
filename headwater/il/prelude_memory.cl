/* Memory, never beyond its end: reads there give 0, writes are dropped. */
uint4 il_element(__global const uint4 *data, int4 size, uint at)
{
    return at < (uint)size.x ? data[at] : (uint4)(0u);
}
uint4 il_shared_element(volatile __global const uint4 *data, int4 size, uint at)
{
    return at < (uint)size.x ? data[at] : (uint4)(0u);
}
uint4 il_uav_vec(__global const uint *data, uint limit, uint at)
{
    uint4 value = 0u;
    if (at < limit) value.x = data[at];
    if (at + 1u < limit) value.y = data[at + 1u];
    if (at + 2u < limit) value.z = data[at + 2u];
    if (at + 3u < limit) value.w = data[at + 3u];
    return value;
}
uint4 il_typed_load(__global const uint *data, int4 size, uint4 at)
{
    return at.x < (uint)size.x && at.y < (uint)size.y ? il_texel(data, size, (int)at.x, (int)at.y) : (uint4)(0u);
}
void il_typed_store(__global uint *data, int4 size, uint4 at, uint4 value)
{
    if (at.x < (uint)size.x && at.y < (uint)size.y) {
        uint place = (at.y * (uint)size.x + at.x) * (uint)size.z;
        data[place] = value.x;
        if (size.z > 1) data[place + 1u] = value.y;
        if (size.z > 2) data[place + 2u] = value.z;
        if (size.z > 3) data[place + 3u] = value.w;
    }
}
uint il_arena_load(__global const uint *data, uint limit, uint at, uint bits)
{
    if (at >> 2 >= limit)
        return 0u;
    uint word = data[at >> 2] >> ((at & 3u) << 3);
    return bits == 32u ? word : word & ((1u << bits) - 1u);
}
void il_arena_store(__global uint *data, uint limit, uint at, uint value, uint bits)
{
    if (at >> 2 >= limit)
        return;
    if (bits == 32u)
        data[at >> 2] = value;
    else if (bits == 16u)
        ((__global ushort *)data)[at >> 1] = (ushort)value;
    else
        ((__global uchar *)data)[at] = (uchar)value;
}
uint4 il_lds_vec(__local const uint *data, uint limit, uint at, uint step)
{
    uint4 value = 0u;
    if (at < limit) value.x = data[at];
    if (at + step < limit) value.y = data[at + step];
    if (at + 2u * step < limit) value.z = data[at + 2u * step];
    if (at + 3u * step < limit) value.w = data[at + 3u * step];
    return value;
}

/* Numbers of work-items and groups, all dimensions in one. */
uint il_flat_local(void)
{
    return (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}
uint il_flat_group(void)
{
    return (uint)((get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0));
}
uint il_flat_global(void)
{
    return il_flat_group() * (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)) + il_flat_local();
}
