"""Machine code, executed: translated to this machine's code, or interpreted one instruction at a time.

``wave`` has what both families of instruction sets share, ``gcn`` and ``vliw`` each one's translator and interpreter,
``watch`` what looks on: checks, traces and statistics.
"""
