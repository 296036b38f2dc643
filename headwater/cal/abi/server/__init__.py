"""The process behind a CAL program: requests of `headwater.cal.abi.protocol` pass in, replies pass out."""
