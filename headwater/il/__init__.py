"""ATI IL, the virtual instruction set of ATI Stream. Input: text. Output: a checked `Program`, text again, or OpenCL
C."""
