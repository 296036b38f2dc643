"""A memory access in; code that compares it with the instruction's last one and tells the library, out.

Mostly lanes lie to each other as they did then, all moved on by the same distance. `hw_again` of trace.c and check.c
needs a few scalar instructions for that and no vector register, so that the code around the call saves none. What it
leaves is ``hw_access``'s affair, which is called by way of a piece of assembly that keeps all registers (again.h).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.emulate.registers import PART, PART_LANES, PART_MASK, PARTS

if TYPE_CHECKING:
    from headwater.emulate.builder import Builder
    from headwater.emulate.memory import Address
    from headwater.emulate.registers import Mask

KIND_SHIFT, WIDE = 16, 1 << 31
"""What `hw_again` is given beside the site's number: the kind of memory, and whether addresses have high halves."""
_CLOBBERS = "~{memory},~{dirflag},~{fpsr},~{flags}"
_LIKELY = "!prof !9100"
_BITS = f"i{PART_LANES}"


def compare(
    b: Builder, place: Callable[[str, int], str], at: Address, part: int, lanes: Mask, *, still: bool = False
) -> str:
    """Lanes that lie otherwise to lane 0 than in the access before, in this part or those already told: an ``i32``.

    ``place``: a pointer to a field of the site, some bytes further; its ``low`` and ``high`` have been stored.
    ``still``: where the site says that it knows memory that the launch does not write, lanes outside of that.
    """

    def first(field: str) -> str:
        one = b.emit(f"load i32, ptr {place(field, 0)}, align 4")
        alone = b.emit(f"insertelement {PART} poison, i32 {one}, i64 0")
        return b.emit(f"shufflevector {PART} {alone}, {PART} poison, {PART} zeroinitializer")

    def others(least: str, high: str, test: Callable[[str], str]) -> str:
        other = test(b.emit(f"sub {PART} {low}, {first(least)}"))
        if at.high is not None:
            far = b.emit(f"icmp ne {PART} {at.high}, {first(high)}")
            other = b.emit(f"or {PART_MASK} {other}, {far}")
        return b.emit(f"bitcast {PART_MASK} {other} to {_BITS}")

    def unlike(offset: str) -> str:
        known = b.emit(f"load {PART}, ptr {place('pattern', part * PART_LANES * 4)}, align 64")
        return b.emit(f"icmp ne {PART} {offset}, {known}")

    low = at.low or "zeroinitializer"
    active = "-1" if lanes.full else lanes.part_bits(b, part)
    if still:
        outside, anywhere, done = b.label("still"), b.label("moving"), b.label("compared")
        b.line(f"br i1 {_is_set(b, place('still', 0))}, label %{outside}, label %{anywhere}, {_LIKELY}")
        b.start(outside)
        far = others("still_low", "still_high", lambda o: b.emit(f"icmp ugt {PART} {o}, {first('still_span')}"))
        b.jump(done)
        b.start(anywhere)
        near = others("low", "high", unlike)
        b.jump(done)
        b.start(done)
        bits = b.emit(f"phi {_BITS} [{far}, %{outside}], [{near}, %{anywhere}]")
    else:
        bits = others("low", "high", unlike)
    if not lanes.full:
        bits = b.emit(f"and {_BITS} {bits}, {active}")
    differs = b.emit(f"zext {_BITS} {bits} to i32")
    kept = place("differs", 0)
    if part:
        differs = b.emit(f"or i32 {differs}, {b.emit(f'load i32, ptr {kept}, align 4')}")
    if part < PARTS - 1:
        b.line(f"store i32 {differs}, ptr {kept}, align 4")
    return differs


def _is_set(b: Builder, place: str) -> str:
    return b.emit(f"icmp ne i32 {b.emit(f'load i32, ptr {place}, align 4')}, 0")


def tell(
    b: Builder,
    site: str,
    number: int,
    kind: int,
    at: Address,
    mask: str,
    differs: str,
    slow: Callable[[], None],
    still: tuple[str, str] | None = None,
) -> None:
    """Call the library for an access of all parts; ``slow`` writes what `hw_access` needs beside the addresses.

    ``still``: pointers to the site's ``still`` and ``still_base``, if the lanes may have been compared with these.
    """
    wide = at.high is not None
    again, other, done = b.label("again"), b.label("other"), b.label("told")
    b.line(f"br i1 {b.emit(f'icmp eq i32 {differs}, 0')}, label %{again}, label %{other}, {_LIKELY}")
    b.start(again)
    if still is not None:
        known, moving = b.label("base"), b.label("moving")
        b.line(f"br i1 {_is_set(b, still[0])}, label %{known}, label %{moving}, {_LIKELY}")
        b.start(known)
        base = b.emit(f"load i64, ptr {still[1]}, align 8")
        b.line(f"br i1 {b.emit(f'icmp eq i64 {base}, {at.base}')}, label %{done}, label %{other}, {_LIKELY}")
        b.start(moving)
    what = number | kind << KIND_SHIFT | (WIDE if wide else 0)
    fine = _by_registers(b, "hw_again", f"ptr %w, ptr {site}, i32 {what}, i64 {at.base}, i64 {mask}")
    b.line(f"br i1 {fine}, label %{done}, label %{other}, {_LIKELY}")
    b.start(other)
    slow()
    operands = f"ptr %w, ptr {site}, i32 {number}, i32 {int(wide)}, i64 {at.base}, i64 {mask}"
    constraints = f"{{rdi}},{{rsi}},{{edx}},{{ecx}},{{r8}},{{r9}},~{{eax}},{_CLOBBERS}"
    b.line(f'call void asm sideeffect "call hw_access_keep", "{constraints}"({operands})')
    b.jump(done)
    b.start(done)


def tell_scalar(b: Builder, site: str, number: int, address: str) -> None:
    """Call the library for an access of the wavefront with one address, an ``i64``."""
    other, done = b.label("other"), b.label("told")
    fine = _by_registers(b, "hw_scalar_again", f"ptr %w, ptr {site}, i32 {number}, i64 {address}, i64 0")
    b.line(f"br i1 {fine}, label %{done}, label %{other}, {_LIKELY}")
    b.start(other)
    operands = f"ptr %w, ptr {site}, i32 {number}, i64 {address}"
    b.line(
        f'call void asm sideeffect "call hw_scalar_access_keep", "{{rdi}},{{rsi}},{{edx}},{{rcx}},~{{eax}},{_CLOBBERS}"'
        f"({operands})"
    )
    b.jump(done)
    b.start(done)


def _by_registers(b: Builder, name: str, operands: str) -> str:
    """Call a function that uses no vector registers: whether it returned another number than 0."""
    kinds = "i32, ptr, ptr, i32, i64, i64"
    results = "={eax},={rdi},={rsi},={edx},={rcx},={r8}"
    constraints = f"{results},1,2,3,4,5,~{{r9}},~{{r10}},~{{r11}},{_CLOBBERS}"
    got = b.emit(f'call {{ {kinds} }} asm sideeffect "call {name}", "{constraints}"({operands})')
    status = b.emit(f"extractvalue {{ {kinds} }} {got}, 0")
    return b.emit(f"icmp ne i32 {status}, 0")
