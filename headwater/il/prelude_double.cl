/* Doubles, in pairs of lanes, and halves, in their lanes' lower 16 bits. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
double il_double(uint2 bits) { return as_double(bits); }
uint4 il_pair(double value) { return as_uint2(value).xyxy; }
uint4 il_frexp(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return (uint4)((uint)exponent, 0u, as_uint2(fraction));
}
