"""ATI IL, the virtual instruction set of ATI Stream: text in; a checked `Program`, text again, or OpenCL C out."""
