/* Derivatives of the values that a quad's four pixels have, numbered by rows: of the whole quad from its first pixel, of a
   pixel (fine) in its own row and column. */
float4 il_dsx(const float4 *known, int quad, int fine)
{
    int row = fine ? quad & 2 : 0;
    return known[row + 1] - known[row];
}
float4 il_dsy(const float4 *known, int quad, int fine)
{
    int column = fine ? quad & 1 : 0;
    return known[column + 2] - known[column];
}

/* Pixels that do not come to a derivative take a neighbour's value: the difference is 0. */
void il_unmet(float4 *known, int met)
{
    for (int k = 0; k < 4; k++)
        if (!(met >> k & 1))
            known[k] = met >> (k ^ 1) & 1 ? known[k ^ 1] : met >> (k ^ 2) & 1 ? known[k ^ 2] : known[k ^ 3];
}
