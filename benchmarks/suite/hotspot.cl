// One explicit step of heat flow on a plate with sources and loss to its surroundings; the rim keeps its values.
__kernel void hotspot(__global const float *heat, __global const float *power, __global float *result, int width,
                      float conduct_x, float conduct_y, float loss, float ambient)
{
    const int x = get_global_id(0) + 1;
    const int y = get_global_id(1) + 1;
    const int i = y * width + x;
    const float here = heat[i];
    result[i] = here + power[i] + conduct_y * (heat[i - width] + heat[i + width] - 2.0f * here)
              + conduct_x * (heat[i - 1] + heat[i + 1] - 2.0f * here) + loss * (ambient - here);
}
