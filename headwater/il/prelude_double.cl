/* Doubles, in pairs of lanes. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
double il_double(uint2 bits) { return as_double(bits); }
uint4 il_pair(double value) { return as_uint2(value).xyxy; }
uint4 il_frexp(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return (uint4)((uint)exponent, 0u, as_uint2(fraction));
}

/* Quotients by zero, as _zeroop says. */
double il_ddiv_infinity(double a, double b) { return a / b; }
double il_ddiv_inf_else_max(double a, double b) { return a / b; }
double il_ddiv_zero(double a, double b) { return b == 0.0 ? 0.0 : a / b; }
double il_ddiv_fltmax(double a, double b) { return b == 0.0 ? copysign(DBL_MAX, a) * copysign(1.0, b) : a / b; }
