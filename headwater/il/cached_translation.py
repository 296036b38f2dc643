"""Input: ATI IL's text. Output: its `Translation`: translated now, or from the cache.

What knows IL is imported only where it has to be translated.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from headwater.base import cache
from headwater.errors import Span
from headwater.il.translation import NotInOpenClError, Parameter, Refusal, StepNeeded, Translation

_FORMAT = "il to opencl 3"
_FILE = "translation.json"


def translation_of(text: str, filename: str) -> Translation:
    """The translation of a program, or why there is none. SourceError for what is wrong in it, or not supported."""
    from headwater.base.freshness import code_state

    key = cache.key(_FORMAT, code_state(__name__), text, filename)
    entry = cache.get(key)
    if entry is None:
        from headwater.il.parser import parse
        from headwater.il.to_opencl import interface, to_opencl

        program = parse(text, filename)
        try:
            made = to_opencl(program, filename)
        except NotInOpenClError as error:
            at = error.span or Span(filename)
            made = replace(interface(program, filename), refusal=Refusal(error.message, at.line, at.column, error.hint))
        entry = cache.put(key, {_FILE: json.dumps(asdict(made)).encode()})
    found = json.loads((entry / _FILE).read_bytes())
    parameters = tuple(Parameter(**parameter) for parameter in found["parameters"])
    refusal = Refusal(**found["refusal"]) if found["refusal"] else None
    step = StepNeeded(**found["step"]) if found["step"] else None
    return Translation(found["source"], parameters, tuple(found["group"]) if found["group"] else None, refusal, step)
