"""The process behind an OpenCL host program: requests of `headwater.icd.protocol` pass in, replies pass out."""
