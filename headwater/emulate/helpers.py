"""Sizes of memory accesses in; LLVM functions that load and store one part's lanes from any addresses, out.

The translated code has the usual access of a part inline: consecutive addresses in the allocation that was used last.
Everything else comes here. A gather or scatter is done if all lanes are in that allocation; what is left, the C code
does lane by lane (`hw_load` and `hw_store` of support.c), which also knows apertures and writes the error record.

The functions take the wavefront, the lanes' addresses as ``base + (high << 32 | low)``, the mask of lanes, the
address of the instruction, ``how`` (the bits of support.c, with the part's first lane from bit 8 on) and the slot
that remembers an allocation. They return whether there was no fault.
"""

from __future__ import annotations

from headwater.emulate.builder import Builder
from headwater.emulate.registers import PART, PART_LANES, PART_MASK

WRITE, FLAT, LDS, PRIVATE, GDS = 1, 2, 4, 8, 16
"""Bits of ``how``: see support.c."""

_BITS = f"i{PART_LANES}"
_LONG = f"<{PART_LANES} x i64>"
_POINTERS = f"<{PART_LANES} x ptr>"
_ARGUMENTS = f"ptr %w, {PART} %low, {PART} %high, i64 %base, {_BITS} %mask, i64 %pc, i32 %how, ptr %slot"


def dwords(nbytes: int) -> int:
    """Registers that an access of ``nbytes`` bytes fills."""
    return max(nbytes // 4, 1)


def load_result(nbytes: int) -> str:
    """The type that the load helper returns: no fault, and the dwords (zero-extended if smaller)."""
    return f"{{ i1, {', '.join([PART] * dwords(nbytes))} }}"


def load_helper(b: Builder, nbytes: int) -> str:
    """The name of the function that loads ``nbytes`` bytes for each lane."""
    name = f"load.{nbytes}"
    b.declare(_load(name, nbytes))
    b.declare(_DECLARE_LOAD)
    return name


def store_helper(b: Builder, nbytes: int) -> str:
    """The name of the function that stores ``nbytes`` bytes for each lane; its data come last."""
    name = f"store.{nbytes}"
    b.declare(_store(name, nbytes))
    b.declare(_DECLARE_STORE)
    return name


_DECLARE_LOAD = "declare hidden i32 @hw_load(ptr, ptr, i64, i32, i32, i32, i32, i64, ptr, ptr) #1"
_DECLARE_STORE = "declare hidden i32 @hw_store(ptr, ptr, i64, i32, i32, i32, i32, i64, ptr, ptr) #1"
_INTRINSICS = (
    f"declare {PART} @llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0({_POINTERS}, {PART_MASK}, {PART})",
    f"declare void @llvm.masked.scatter.v{PART_LANES}i32.v{PART_LANES}p0({PART}, {_POINTERS}, {PART_MASK})",
    "declare i64 @llvm.usub.sat.i64(i64, i64)",
)


def intrinsics(b: Builder) -> None:
    """Declare what the functions here call."""
    for line in _INTRINSICS:
        b.declare(line)


def _addresses(nbytes: int) -> str:
    """From the entry to `inside`, where all lanes are in the slot's allocation, or `slow`."""
    return f"""  %none = icmp eq {_BITS} %mask, 0
  br i1 %none, label %nothing, label %some
some:
  %low.wide = zext {PART} %low to {_LONG}
  %high.wide = zext {PART} %high to {_LONG}
  %high.moved = shl {_LONG} %high.wide, splat (i64 32)
  %joined = or disjoint {_LONG} %high.moved, %low.wide
  %base.first = insertelement {_LONG} poison, i64 %base, i64 0
  %base.all = shufflevector {_LONG} %base.first, {_LONG} poison, <{PART_LANES} x i32> zeroinitializer
  %address = add {_LONG} %joined, %base.all
  %start = load i64, ptr %slot, align 8
  %bytes.at = getelementptr i8, ptr %slot, i64 8
  %bytes = load i64, ptr %bytes.at, align 8
  %limit = call i64 @llvm.usub.sat.i64(i64 %bytes, i64 {nbytes - 1})
  %start.first = insertelement {_LONG} poison, i64 %start, i64 0
  %starts = shufflevector {_LONG} %start.first, {_LONG} poison, <{PART_LANES} x i32> zeroinitializer
  %limit.first = insertelement {_LONG} poison, i64 %limit, i64 0
  %limits = shufflevector {_LONG} %limit.first, {_LONG} poison, <{PART_LANES} x i32> zeroinitializer
  %offset = sub {_LONG} %address, %starts
  %outside.lanes = icmp uge {_LONG} %offset, %limits
  %outside = bitcast {PART_MASK} %outside.lanes to {_BITS}
  %bad = and {_BITS} %outside, %mask
  %fine = icmp eq {_BITS} %bad, 0
  %lanes = bitcast {_BITS} %mask to {PART_MASK}
"""


def _slow(function: str, nbytes: int) -> str:
    return f"""  %mask.wide = zext {_BITS} %mask to i64
  %first = lshr i32 %how, 8
  %kind = and i32 %how, 255
  store {_LONG} %address, ptr %addresses, align 64
  %done = call i32 @{function}(ptr %w, ptr %addresses, i64 %mask.wide, i32 {PART_LANES}, i32 %first, i32 {nbytes}, i32
  %kind, i64 %pc, ptr %slot, ptr %data) %ok = icmp ne i32 %done, 0
"""


def _load(name: str, nbytes: int) -> str:
    count = dwords(nbytes)
    result = load_result(nbytes)
    gathers = ""
    condition = "%fine"
    if nbytes < 4:
        # A dword that holds all of it is aligned, so it cannot reach into a page that is not the allocation's.
        split = f"%in.dword = and {_LONG} %address, splat (i64 3)\n"
        if nbytes == 2:
            split += f"  %crosses = icmp eq {_LONG} %in.dword, splat (i64 3)\n"
            split += f"  %crossing = bitcast {PART_MASK} %crosses to {_BITS}\n"
            split += f"  %crossing.now = and {_BITS} %crossing, %mask\n"
            split += f"  %whole = icmp eq {_BITS} %crossing.now, 0\n  %simple = and i1 %fine, %whole\n"
            condition = "%simple"
        gathers = f"""  %aligned = and {_LONG} %address, splat (i64 -4)
  %places = inttoptr {_LONG} %aligned to {_POINTERS}
  %dword = call {PART} @llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0({_POINTERS} align 4 %places, {PART_MASK}
  %lanes, {PART} zeroinitializer) %in.dword.short = trunc {_LONG} %in.dword to {PART}
  %shift = shl {PART} %in.dword.short, splat (i32 3)
  %shifted = lshr {PART} %dword, %shift
  %g0 = and {PART} %shifted, splat (i32 {(1 << 8 * nbytes) - 1})
"""
        split = "  " + split
    else:
        split = ""
        for d in range(count):
            gathers += f"""  %a{d} = add {_LONG} %address, splat (i64 {4 * d})
  %p{d} = inttoptr {_LONG} %a{d} to {_POINTERS}
  %g{d} = call {PART} @llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0({_POINTERS} align 1 %p{d}, {PART_MASK}
  %lanes, {PART} zeroinitializer)
"""
    size = PART_LANES * 4
    clears = "".join(f"  %d{d} = getelementptr i8, ptr %data, i64 {d * size}\n" for d in range(count))
    clears += "".join(f"  store {PART} zeroinitializer, ptr %d{d}, align 64\n" for d in range(count))
    reads = "".join(f"  %s{d} = load {PART}, ptr %d{d}, align 64\n" for d in range(count))
    return f"""define internal {result} @{name}({_ARGUMENTS}) #2 {{
  %addresses = alloca {_LONG}, align 64
  %data = alloca [{count} x {PART}], align 64
{_addresses(nbytes)}{split}  br i1 {condition}, label %inside, label %slow
inside:
{gathers}{_pack("inside", result, "true", [f"%g{d}" for d in range(count)])}
slow:
{clears}{_slow("hw_load", nbytes)}{reads}{_pack("slow", result, "%ok", [f"%s{d}" for d in range(count)])}
nothing:
{_pack("nothing", result, "true", ["zeroinitializer"] * count)}
}}"""


def _pack(prefix: str, result: str, ok: str, values: list[str]) -> str:
    lines = [f"  %{prefix}.r = insertvalue {result} poison, i1 {ok}, 0"]
    last = f"%{prefix}.r"
    for d, value in enumerate(values):
        lines.append(f"  %{prefix}.r{d} = insertvalue {result} {last}, {PART} {value}, {d + 1}")
        last = f"%{prefix}.r{d}"
    lines.append(f"  ret {result} {last}")
    return "\n".join(lines)


def _store(name: str, nbytes: int) -> str:
    count = dwords(nbytes)
    size = PART_LANES * 4
    arguments = "".join(f", {PART} %v{d}" for d in range(count))
    saves = "".join(f"  %d{d} = getelementptr i8, ptr %data, i64 {d * size}\n" for d in range(count))
    saves += "".join(f"  store {PART} %v{d}, ptr %d{d}, align 64\n" for d in range(count))
    scatters = ""
    for d in range(count):
        scatters += f"""  %a{d} = add {_LONG} %address, splat (i64 {4 * d})
  %p{d} = inttoptr {_LONG} %a{d} to {_POINTERS}
  call void @llvm.masked.scatter.v{PART_LANES}i32.v{PART_LANES}p0({PART} %v{d}, {_POINTERS} align 1 %p{d}, {PART_MASK}
  %lanes)
"""
    fast = "%fine" if nbytes >= 4 else "false"  # bytes and halves cannot be scattered
    return f"""define internal i1 @{name}({_ARGUMENTS}{arguments}) #2 {{
  %addresses = alloca {_LONG}, align 64
  %data = alloca [{count} x {PART}], align 64
{_addresses(nbytes)}  br i1 {fast}, label %inside, label %slow
inside:
{scatters}  ret i1 true
slow:
{saves}{_slow("hw_store", nbytes)}  ret i1 %ok
nothing:
  ret i1 true
}}"""
