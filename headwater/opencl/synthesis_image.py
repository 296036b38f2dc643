"""Image functions: name and types pass in, IR that calls the image unit passes out."""

from __future__ import annotations

from headwater.opencl.mangle import Type
from headwater.opencl.synthesis_base import Body


def define(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """Write the image function's body, if ``name`` is one."""
    return False
