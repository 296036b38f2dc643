"""Input: a launch on a simulated chip. Output: its state after any instruction, forwards and backwards.

It runs on the reference interpreters of both families (docs/step.md).
"""

from headwater.step.machine import Memory, Place
from headwater.step.session import Abandoned, Session
from headwater.step.stepper import Stepper
from headwater.step.stops import Breakpoint, Stop, Watchpoint

__all__ = ["Abandoned", "Breakpoint", "Memory", "Place", "Session", "Stepper", "Stop", "Watchpoint"]
