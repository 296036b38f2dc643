"""Writes code that compares a memory access with the instruction's previous one and reports it to the library.

Usually the lanes' relative addresses are unchanged and all lanes have advanced by one stride. `hw_repeat` of trace.c
and check.c handles that with a few scalar instructions and no vector register, so that the code around the call saves
none. Everything else goes to ``hw_access``, which is called through a piece of assembly that saves all registers
(repeats.h).

A library may also predict a site's next access; an access that is as predicted is only counted (`Compared`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS
from headwater.emulate.wave.support import keeps_registers

if TYPE_CHECKING:
    from headwater.emulate.wave.builder import WaveBuilder
    from headwater.emulate.wave.memory import Address
    from headwater.emulate.wave.registers import Mask

KIND_SHIFT, WIDE = 16, 1 << 31
"""What `hw_repeat` is given beside the site's number: the kind of memory, and whether addresses have high halves."""
NUMBERS = {
    "SITE_BITS": (1 << KIND_SHIFT) - 1,
    "KIND_SHIFT": KIND_SHIFT,
    "KIND_BITS": WIDE - 1 >> KIND_SHIFT,
    "WIDE": WIDE,
}
"""The same for C, with masks of both."""
Place = Callable[[str, int], str]
"""A pointer to a field of a site, some bytes further."""


@dataclass(frozen=True, slots=True)
class SiteAccess:
    """An access of all parts as the library gets it: a pointer to the ``site``, its ``number``, the ``kind`` of memory,
    ``at``, of which the base is used, and the active lanes, an ``i64``."""

    site: str
    number: int
    kind: int
    at: Address
    mask: str

    def operands(self) -> str:
        """What `hw_repeat` is called with."""
        what = self.number | self.kind << KIND_SHIFT | (WIDE if self.at.high is not None else 0)
        return f"ptr %w, ptr {self.site}, i32 {what}, i64 {self.at.base}, i64 {self.mask}"


_CLOBBERS = "~{memory},~{dirflag},~{fpsr},~{flags}"
_LIKELY = "!prof !9100"
_BITS = f"i{PART_LANES}"


def compare(b: WaveBuilder, place: Place, at: Address, part: int, lanes: Mask, *, still: bool = False) -> str:
    """Lanes that lie otherwise to lane 0 than in the access before, in this part or those already reported: an ``i32``.

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


def _is_set(b: WaveBuilder, place: str) -> str:
    return b.emit(f"icmp ne i32 {b.emit(f'load i32, ptr {place}, align 4')}, 0")


class Compared:
    """An access that is being reported, part by part, to a library that predicts it: see `report_unexpected`."""

    def __init__(self, b: WaveBuilder, first: Address) -> None:
        def of_first(lanes: str) -> str:
            return b.emit(f"extractelement {PART} {lanes}, i64 0")

        def in_all(one: str) -> str:
            alone = b.emit(f"insertelement {PART} poison, i32 {one}, i64 0")
            return b.emit(f"shufflevector {PART} {alone}, {PART} poison, {PART} zeroinitializer")

        self.parts: list[Address] = []
        self.low = of_first(first.low or "zeroinitializer")
        self.high = None if first.high is None else of_first(first.high)
        self._low = in_all(self.low)
        self._high = None if self.high is None else in_all(self.high)
        self._unlike: list[str] = []

    def compare(self, b: WaveBuilder, place: Place, at: Address, part: int, lanes: Mask) -> None:
        """Look at whether a part's lanes lie to lane 0 as in the access before."""
        offset = b.emit(f"sub {PART} {at.low or 'zeroinitializer'}, {self._low}")
        known = b.emit(f"load {PART}, ptr {place('pattern', part * PART_LANES * 4)}, align 64")
        other = b.emit(f"icmp ne {PART} {offset}, {known}")
        if at.high is not None:
            other = b.emit(f"or {PART_MASK} {other}, {b.emit(f'icmp ne {PART} {at.high}, {self._high}')}")
        if not lanes.full:
            other = b.emit(f"and {PART_MASK} {other}, {lanes.part(b, part)}")
        self.parts.append(at)
        self._unlike.append(other)

    def same_pattern(self, b: WaveBuilder) -> str:
        """Whether all lanes do, an ``i1``."""
        anywhere = self._unlike[0]
        for other in self._unlike[1:]:
            anywhere = b.emit(f"or {PART_MASK} {anywhere}, {other}")
        return b.emit(f"icmp eq {_BITS} {b.emit(f'bitcast {PART_MASK} {anywhere} to {_BITS}')}, 0")


def _unless_expected(b: WaveBuilder, place: Place, key: str, mask: str, other: str, done: str, *, local: bool) -> None:
    """Count an access, where ``key`` and ``mask`` are what the library expects."""
    hit = b.label("expected")
    known = b.emit(f"load i64, ptr {place('next', 0)}, align 8")
    fine = b.emit(f"icmp eq i64 {known}, {key}")
    if mask != "-1":
        lanes = b.emit(f"load i64, ptr {place('pattern_mask', 0)}, align 8")
        fine = b.emit(f"and i1 {fine}, {b.emit(f'icmp eq i64 {lanes}, {mask}')}")
    b.line(f"br i1 {fine}, label %{hit}, label %{other}, {_LIKELY}")
    b.start(hit)
    if not local:
        step = b.emit(f"load i64, ptr {place('step', 0)}, align 8")
        b.line(f"store i64 {b.emit(f'add i64 {known}, {step}')}, ptr {place('next', 0)}, align 8")
    hits = b.emit(f"load i32, ptr {place('hits', 0)}, align 4")
    b.line(f"store i32 {b.emit(f'add i32 {hits}, 1')}, ptr {place('hits', 0)}, align 4")
    b.jump(done)


def report_unexpected(
    b: WaveBuilder, place: Place, access: SiteAccess, compared: Compared, put: Callable[[], None], *, local: bool
) -> None:
    """Call the library for an access of all parts unless it is what that expects; ``put`` writes the addresses.

    ``local``: of addresses, only the alignment matters.
    """
    repeated, other, done = b.label("repeated"), b.label("other"), b.label("reported")
    same_pattern = compared.same_pattern(b)
    b.line(f"br i1 {same_pattern}, label %{repeated}, label %{other}, {_LIKELY}")
    b.start(repeated)
    if local:
        key = b.emit(f"zext i32 {b.emit(f'and i32 {compared.low}, 3')} to i64")
    else:
        key = b.emit(f"zext i32 {compared.low} to i64")
        if compared.high is not None:
            high = b.emit(f"zext i32 {compared.high} to i64")
            key = b.emit(f"or disjoint i64 {key}, {b.emit(f'shl i64 {high}, 32')}")
        key = b.emit(f"add i64 {key}, {access.at.base}")
    _unless_expected(b, place, key, access.mask, other, done, local=local)
    b.start(other)
    put()
    same, slow = b.label("same"), b.label("slow")
    b.branch(same_pattern, same, slow)
    b.start(same)
    fine = _by_registers(b, "hw_repeat", access.operands(), rarely=True)
    b.branch(fine, done, slow)
    b.start(slow)
    _report_slowly(b, access)
    b.jump(done)
    b.start(done)


def report_access(
    b: WaveBuilder, access: SiteAccess, differs: str, slow: Callable[[], None], still: tuple[str, str] | None = None
) -> None:
    """Call the library for an access of all parts; ``slow`` writes what `hw_access` needs beside the addresses.

    ``still``: pointers to the site's ``still`` and ``still_base``, if the lanes may have been compared with these.
    """
    repeated, other, done = b.label("repeated"), b.label("other"), b.label("reported")
    b.line(f"br i1 {b.emit(f'icmp eq i32 {differs}, 0')}, label %{repeated}, label %{other}, {_LIKELY}")
    b.start(repeated)
    if still is not None:
        known, moving = b.label("base"), b.label("moving")
        b.line(f"br i1 {_is_set(b, still[0])}, label %{known}, label %{moving}, {_LIKELY}")
        b.start(known)
        base = b.emit(f"load i64, ptr {still[1]}, align 8")
        b.line(f"br i1 {b.emit(f'icmp eq i64 {base}, {access.at.base}')}, label %{done}, label %{other}, {_LIKELY}")
        b.start(moving)
    fine = _by_registers(b, "hw_repeat", access.operands(), rarely=False)
    b.line(f"br i1 {fine}, label %{done}, label %{other}, {_LIKELY}")
    b.start(other)
    slow()
    _report_slowly(b, access)
    b.jump(done)
    b.start(done)


def _report_slowly(b: WaveBuilder, access: SiteAccess) -> None:
    at = access.at
    operands = f"ptr %w, ptr {access.site}, i32 {access.number}, i32 {int(at.high is not None)}, i64 {at.base}"
    operands += f", i64 {access.mask}"
    constraints = f"{{rdi}},{{rsi}},{{edx}},{{ecx}},{{r8}},{{r9}},~{{eax}},{_CLOBBERS}"
    b.line(f'call void asm sideeffect "call hw_access_keep", "{constraints}"({operands})')


def call_keeping(b: WaveBuilder, name: str, pointer: str) -> None:
    """Call a function that is rarely called: code around it has no need to save registers."""
    if keeps_registers():
        b.line(f'call void asm sideeffect "call {name}_keep", "{{rdi}},~{{eax}},{_CLOBBERS}"(ptr {pointer})')
    else:
        b.declare(f"declare hidden void @{name}(ptr) #1")
        b.line(f"call void @{name}(ptr {pointer})")


def report_scalar(
    b: WaveBuilder, site: str, number: int, address: str, mask: str, expects: Place | None = None
) -> None:
    """Call the library for an access of the wavefront's lanes ``mask`` with one address; both are an ``i64``.

    ``expects``: where the fields of the site are, if the library says what it expects.
    """
    other, done = b.label("other"), b.label("reported")
    if expects is not None:
        strange = b.label("strange")
        _unless_expected(b, expects, address, "-1", strange, done, local=False)
        b.start(strange)
    operands = f"ptr %w, ptr {site}, i32 {number}, i64 {address}, i64 0"
    fine = _by_registers(b, "hw_scalar_repeat", operands, rarely=expects is not None)
    b.line(f"br i1 {fine}, label %{done}, label %{other}, {_LIKELY}")
    b.start(other)
    operands = f"ptr %w, ptr {site}, i32 {number}, i64 {address}, i64 {mask}"
    constraints = f"{{rdi}},{{rsi}},{{edx}},{{rcx}},{{r8}},~{{eax}},{_CLOBBERS}"
    b.line(f'call void asm sideeffect "call hw_scalar_access_keep", "{constraints}"({operands})')
    b.jump(done)
    b.start(done)


def _by_registers(b: WaveBuilder, name: str, operands: str, *, rarely: bool) -> str:
    """Call a function that uses no vector registers: whether it returned another number than 0.

    ``rarely``: by way of a piece of assembly that keeps the others, of which the code around has more then.
    """
    if rarely:
        constraints = f"={{eax}},{{rdi}},{{rsi}},{{edx}},{{rcx}},{{r8}},{_CLOBBERS}"
        status = b.emit(f'call i32 asm sideeffect "call {name}_keep", "{constraints}"({operands})')
        return b.emit(f"icmp ne i32 {status}, 0")
    kinds = "i32, ptr, ptr, i32, i64, i64"
    results = "={eax},={rdi},={rsi},={edx},={rcx},={r8}"
    constraints = f"{results},1,2,3,4,5,~{{r9}},~{{r10}},~{{r11}},{_CLOBBERS}"
    got = b.emit(f'call {{ {kinds} }} asm sideeffect "call {name}", "{constraints}"({operands})')
    status = b.emit(f"extractvalue {{ {kinds} }} {got}, 0")
    return b.emit(f"icmp ne i32 {status}, 0")
