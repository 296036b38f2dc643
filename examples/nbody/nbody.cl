// One step of the gravitational n-body problem, all pairs, softened; positions carry the mass in w.
//
// Global size: the number of bodies, a multiple of the local size. The bodies pass through local memory, one
// work-group's worth at a time. Velocities are kicked before positions drift (semi-implicit Euler).

__kernel void step_bodies(__global const float4 *position, __global const float4 *velocity,
                          __global float4 *next_position, __global float4 *next_velocity,
                          int count, float dt, float softening, __local float4 *tile)
{
    const int i = get_global_id(0);
    const int l = get_local_id(0);
    const int size = get_local_size(0);
    const float4 me = position[i];
    float3 acceleration = (float3)(0.0f);

    for (int start = 0; start < count; start += size) {
        tile[l] = position[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; ++j) {
            const float3 away = tile[j].xyz - me.xyz;
            const float inverse = rsqrt(dot(away, away) + softening);
            acceleration += away * (tile[j].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float3 speed = velocity[i].xyz + acceleration * dt;
    next_velocity[i] = (float4)(speed, 0.0f);
    next_position[i] = (float4)(me.xyz + speed * dt, me.w);
}
