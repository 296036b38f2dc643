"""The process behind a CAL program. Input: requests of `headwater.cal.abi.protocol`. Output: replies."""
