float cumulative_normal(float x)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    const float poly =
        k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.3989422804f * exp(-0.5f * x * x) * poly;
    return x > 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float *spot, __global const float *strike, __global const float *years,
                            float rate, float volatility, __global float *call, __global float *put)
{
    const int i = get_global_id(0);
    const float s = spot[i], x = strike[i], t = years[i];
    const float deviation = volatility * sqrt(t);
    const float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
    const float d2 = d1 - deviation;
    const float discounted = x * exp(-rate * t);
    const float n1 = cumulative_normal(d1);
    const float n2 = cumulative_normal(d2);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
