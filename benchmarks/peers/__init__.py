"""The sides of the comparison by name; a side is imported in its own process only."""

from __future__ import annotations

from importlib import import_module

from .peer import Missing as Missing, Peer

MODULES = {
    "headwater": "headwater_cpu",
    "pocl": "pocl",
    "numba": "numba_jit",
    "numpy": "numpy_arrays",
    "c": "c_stream",
}


def start(side: str) -> Peer:
    """The side's peer, made in this process; raises :class:`Missing` where it cannot run."""
    peer: Peer = import_module(f"peers.{MODULES[side]}").PEER()
    return peer
