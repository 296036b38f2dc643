"""Decoding agrees with LLVM: of code that its r600 back end made, and that no encoder of ours has seen."""

from pathlib import Path

import llvm_text
import pytest

from headwater.isa.vliw.decode import decode
from headwater.isa.vliw.encode import encode
from headwater.isa.vliw.model import GENERATION_OF_TARGET


def cases() -> list[tuple[str, str, bytes, str]]:
    found = []
    for block in (Path(__file__).parent / "llvm.txt").read_text().split("\n== ")[1:]:
        head, _, rest = block.partition("\n")
        words, _, text = rest.partition("\n--\n")
        code = b"".join(int(word, 16).to_bytes(8, "little") for word in words.split())
        name, target = head.split()
        found.append((name, target, code, text))
    return found


CASES = cases()
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
