/* OpenCL C translated from structs.br by Headwater. */

typedef struct {
    float first;
    float second;
} Pair;

typedef struct {
    float4 position;
    uchar kind;
    float3 velocity;
    Pair charge;
} Particle;

/* The same as it lies in buffers: vectors are not aligned to their size. */
typedef struct {
    float position[4];
    uchar kind;
    float velocity[3];
    Pair charge;
} Particle_stored;

Particle Particle_load(__global const Particle_stored *p)
{
    Particle s;
    s.position = vload4(0, p->position);
    s.kind = p->kind;
    s.velocity = vload3(0, p->velocity);
    s.charge = p->charge;
    return s;
}

Particle Particle_load_constant(__constant const Particle_stored *p)
{
    Particle s;
    s.position = vload4(0, p->position);
    s.kind = p->kind;
    s.velocity = vload3(0, p->velocity);
    s.charge = p->charge;
    return s;
}

void Particle_store(__global Particle_stored *p, Particle s)
{
    vstore4(s.position, 0, p->position);
    p->kind = s.kind;
    vstore3(s.velocity, 0, p->velocity);
    p->charge = s.charge;
}

/* The position of this work-item in a three-dimensional launch over the given extents. */
int4 hw_grid(int4 extents)
{
    const int layer = get_global_id(2);
    int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), layer, 0);
    if (extents.w > 1) {
        p.z = layer % extents.z;
        p.w = layer / extents.z;
    }
    return p;
}

/* Whether position p lies beyond the extents: a surplus work-item of a rounded-up launch. */
int hw_outside(int4 p, int4 extents)
{
    return p.x >= extents.x || p.y >= extents.y || p.z >= extents.z || p.w >= extents.w;
}

/* The place of the domain's position p in a stream, by the stream's address table. */
int hw_mapped(__global const int *map, int4 p, int4 domain)
{
    int place = map[p.x];
    map += domain.x;
    place += map[p.y];
    map += domain.y;
    place += map[p.z];
    map += domain.z;
    return place + map[p.w];
}

/* Index i into an extent of n elements; an index outside reads the nearest element. */
int hw_at(int i, int n)
{
    return clamp(i, 0, n - 1);
}

/* kernel Pair swap(Pair p), line 20 */
Pair swap_body(const Pair p)
{
    Pair q = { 0.0f, 0.0f };
    q.first = p.second;
    q.second = p.first;
    return q;
}

/* kernel void input(Pair p<>, out float r<>), line 28 */
void input_body(const Pair p, float *r)
{
    *r = p.first + swap_body(p).first;
}

__kernel void input_linear(
    __global const Pair *restrict p,
    __global float *restrict r,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float r_value = 0.0f;
    input_body(p[i], &r_value);
    r[i] = r_value;
}

__kernel void input_mapped(
    __global const Pair *restrict p,
    __global float *restrict r,
    const int4 domain,
    const int4 origin,
    __global const int *restrict p_map,
    __global const int *restrict r_map)
{
    const int4 p_ = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p_, domain)) return;
#endif
    const int p_at = hw_mapped(p_map, p_, domain);
    const int r_at = hw_mapped(r_map, p_, domain);
    const int4 position = p_ + origin;
    float r_value = 0.0f;
    input_body(p[p_at], &r_value);
    r[r_at] = r_value;
}

/* kernel void move(Particle p<>, float dt, Pair scale, out Particle q<>), line 33 */
void move_body(const Particle p, const float dt, const Pair scale, Particle *q)
{
    *q = p;
    (*q).position.xyz += p.velocity * (float3)(dt, dt, dt);
    (*q).charge = scale;
}

__kernel void move_linear(
    __global const Particle_stored *restrict p,
    const float dt,
    __global const Pair *restrict scale,
    __global Particle_stored *restrict q,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    Particle q_value = { 0 };
    move_body(Particle_load(&p[i]), dt, scale[0], &q_value);
    Particle_store(&q[i], q_value);
}

__kernel void move_mapped(
    __global const Particle_stored *restrict p,
    const float dt,
    __global const Pair *restrict scale,
    __global Particle_stored *restrict q,
    const int4 domain,
    const int4 origin,
    __global const int *restrict p_map,
    __global const int *restrict q_map)
{
    const int4 p_ = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p_, domain)) return;
#endif
    const int p_at = hw_mapped(p_map, p_, domain);
    const int q_at = hw_mapped(q_map, p_, domain);
    const int4 position = p_ + origin;
    Particle q_value = { 0 };
    move_body(Particle_load(&p[p_at]), dt, scale[0], &q_value);
    Particle_store(&q[q_at], q_value);
}

/* kernel void pick(int index<>, Particle all[], out float4 position<>), line 40 */
void pick_body(const int index, __global const Particle_stored *all_, const int4 all__shape, float4 *position)
{
    *position = Particle_load(&all_[hw_at(index, all__shape.x)]).position;
}

__kernel void pick_linear(
    __global const int *restrict index,
    __global const Particle_stored *restrict all_,
    const int4 all__shape,
    __global float4 *restrict position,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float4 position_value = (float4)(0.0f);
    pick_body(index[i], all_, all__shape, &position_value);
    position[i] = position_value;
}

__kernel void pick_mapped(
    __global const int *restrict index,
    __global const Particle_stored *restrict all_,
    const int4 all__shape,
    __global float4 *restrict position,
    const int4 domain,
    const int4 origin,
    __global const int *restrict index_map,
    __global const int *restrict position_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int index_at = hw_mapped(index_map, p, domain);
    const int position_at = hw_mapped(position_map, p, domain);
    const int4 position_ = p + origin;
    float4 position_value = (float4)(0.0f);
    pick_body(index[index_at], all_, all__shape, &position_value);
    position[position_at] = position_value;
}
