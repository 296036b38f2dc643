/* Halves, in their lanes' lower 16 bits. */
uint4 il_to_half(float4 a)
{
    ushort4 bits;
    vstore_half4_rte(a, 0, (half *)&bits);
    return convert_uint4(bits);
}
float4 il_from_half(uint4 a)
{
    ushort4 bits = convert_ushort4(a & 0xFFFFu);
    return vload_half4(0, (const half *)&bits);
}
