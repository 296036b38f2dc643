"""The process behind an OpenCL host program. Input: requests of `headwater.icd.protocol`. Output: replies."""
