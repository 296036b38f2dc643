"""Input: a kernel and the words of a command line or a plan. Output: the kernel with its arguments, ready to be run."""

CHECK_HINT = "run it with --check, or on a simulated chip: both report the line"
"""What to do about a kernel that accesses memory which is not its own."""
