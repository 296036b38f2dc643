"""The cycle model. Input: a trace and a chip. Output: how many cycles the kernel takes there, and where they go.

``kernel[global, local].simulate(…, device="vega64")`` is the usual way here; `Recorded` replays what any Python code
launches, on any number of chips; `sweep` does so on all cores, for the `variants` of a chip, say.
"""

from headwater.timing.report import Report
from headwater.timing.simulate import Launch, Recorded, simulate_launch
from headwater.timing.sweep import sweep, variants

__all__ = ["Launch", "Recorded", "Report", "simulate_launch", "sweep", "variants"]
