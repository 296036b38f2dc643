// European call and put prices after Black and Scholes (1973); global size: the number of options or more.

// Cumulative normal distribution: Abramowitz and Stegun, Handbook of Mathematical Functions, formula 26.2.17
// (absolute error below 7.5e-8).
float cumulative_normal(float x)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    const float poly =
        k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.3989422804f * exp(-0.5f * x * x) * poly;
    return x > 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float *spot, __global const float *strike, __global const float *years,
                            float rate, float volatility, __global float *call, __global float *put, int count)
{
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const float deviation = volatility * sqrt(years[i]);
    const float d1 = (log(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / deviation;
    const float d2 = d1 - deviation;
    const float discounted = strike[i] * exp(-rate * years[i]);
    const float n1 = cumulative_normal(d1);
    const float n2 = cumulative_normal(d2);

    call[i] = spot[i] * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - spot[i] * (1.0f - n1);
}
