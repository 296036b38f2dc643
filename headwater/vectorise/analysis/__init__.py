"""What is known of a kernel before its code is vectorised: shapes of values, costs, loops, atomics, order of blocks."""
