/* How many steps each number takes to 1, by halving it or taking 3 n + 1: every work-item goes round the loop as often as
   its own number wants. */
__kernel void collatz(__global const uint *numbers, __global uint *steps)
{
    int i = get_global_id(0);
    uint n = numbers[i], count = 0;
    while (n != 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        count++;
    }
    steps[i] = count;
}
