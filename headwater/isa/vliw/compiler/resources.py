"""The numbers by which a program reaches what docs/vliw.md gives it: fetch resources, and a random access target."""

from __future__ import annotations

GLOBAL_BYTES, GLOBAL_ELEMENTS, UAVS, CONSTANTS, RETURNS = 126, 127, 128, 144, 160
"""Fetch resources: the global buffer as bytes and as vec4, the first of the views, constant buffers, return buffers."""
GLOBAL_RAT = 11
"""What writes the global buffer, from Evergreen on."""
