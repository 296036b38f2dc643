"""Input: a generator's name and seeds. Output: sequences of random numbers, the same on the processor and on every
device.

`Generator` has the usual interface; `headwater.acml.random.states` the one of ACML, whose generators are arrays.
"""

from headwater.acml.random.generator import Generator as Generator
from headwater.acml.random.generators import NAMES as NAMES

__all__ = ["NAMES", "Generator"]
