"""Decoding agrees with LLVM: of code that its r600 back end made, and that no encoder of ours has seen."""

import llvm_text
import pytest
from vliw_samples import CASES

from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.isa.vliw.decode import decode
from headwater.isa.vliw.encode import encode

NAMES = [f"{name}-{target}" for name, target, *_ in CASES]


@pytest.mark.parametrize(("name", "target", "code", "text"), CASES, ids=NAMES)
def test_decoding_agrees_with_llvm(name: str, target: str, code: bytes, text: str) -> None:
    shader = decode(code, GENERATION_OF_TARGET[target])
    assert llvm_text.text(shader) == llvm_text.lines_of(text)


@pytest.mark.parametrize(("name", "target", "code", "text"), CASES, ids=NAMES)
def test_encoding_gives_the_same_bytes(name: str, target: str, code: bytes, text: str) -> None:
    shader = decode(code, GENERATION_OF_TARGET[target])
    made = encode(shader)
    end = len(shader.cf) * 8  # behind the end of the program LLVM has a CF_END that is never reached
    first = min(cf.address for cf in shader.cf if cf.address is not None) * 8
    assert made[:end] == code[:end]
    assert made[first:] == code[first:]
