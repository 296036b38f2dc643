__kernel void step_bodies(__global const float4 *position, __global const float4 *velocity,
                          __global float4 *next_position, __global float4 *next_velocity,
                          int count, float dt, float softening, __local float4 *tile)
{
    const int i = get_global_id(0);
    const int l = get_local_id(0);
    const int size = get_local_size(0);
    const float4 me = position[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int start = 0; start < count; start += size) {
        tile[l] = position[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; ++j) {
            const float4 other = tile[j];
            const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            const float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
            const float pull = other.w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float4 speed = velocity[i] + (float4)(ax, ay, az, 0.0f) * dt;
    next_velocity[i] = speed;
    next_position[i] = me + (float4)(speed.x, speed.y, speed.z, 0.0f) * dt;
}
