"""Input: CAL's functions as a table. Output: their messages, and the C of those that only forward numbers.

AMD, ATI CAL Programming Guide 2.0; the functions' parameters as in cal.h and cal_ext_counter.h of CAL 8.95.
"""

from __future__ import annotations

from headwater.bridge.protocol import Fields, Message

NUMBERS = """
calDeviceGetCount     -> count
calDeviceOpen         ordinal -> dev
calDeviceClose        dev
calResAllocLocal2D    dev width height format flags -> res
calResAllocLocal1D    dev width format flags -> res
calCtxCreate          dev -> ctx
calCtxDestroy         ctx
calCtxGetMem          ctx res -> mem
calCtxReleaseMem      ctx mem
calCtxSetMem          ctx name mem
calCtxIsEventDone     ctx event
calCtxFlush           ctx
calMemCopy            ctx srcMem dstMem flags -> event
calModuleUnload       ctx module
calCtxCreateCounter   ctx type -> counter
calCtxDestroyCounter  ctx counter
calCtxBeginCounter    ctx counter
calCtxEndCounter      ctx counter
"""
"""Functions of numbers alone: what passes in, and behind the arrow what passes out. In C what passes out comes first,
as a pointer."""

_TYPES = {
    "ctx": "CALcontext", "dev": "CALdevice", "res": "CALresource", "mem": "CALmem", "srcMem": "CALmem",
    "dstMem": "CALmem", "name": "CALname", "event": "CALevent", "module": "CALmodule", "func": "CALfunc",
    "format": "CALformat", "counter": "CALcounter", "type": "CALcountertype",
}  # fmt: skip


def _split(line: str) -> tuple[str, list[str], list[str]]:
    name, *words = line.split()
    at = words.index("->") if "->" in words else len(words)
    return name, words[:at], words[at + 1 :]


def _u32(names: list[str]) -> Fields:
    return tuple((name, "u32") for name in names)


PLAIN: dict[str, Message] = {
    name: Message(_u32(given), _u32(returned)) for name, given, returned in map(_split, NUMBERS.strip().splitlines())
}
"""The functions of `NUMBERS` as messages."""


def prototype(name: str) -> str:
    """A function of `PLAIN` as C declares it."""
    message = PLAIN[name]
    outs = [f"{_TYPES.get(out, 'CALuint')} *{out}" for out, _ in message.reply]
    ins = [f"{_TYPES.get(given, 'CALuint')} {given}" for given, _ in message.request]
    return f"CALresult {name}({', '.join(outs + ins)})"


def c_functions() -> str:
    """The functions of `PLAIN` in C."""
    return '#include "shim.h"\n\n' + "\n".join(_c_function(name) for name in PLAIN)


def _c_function(name: str) -> str:
    message = PLAIN[name]
    given = ", ".join(f"(uint32_t){field}" for field, _ in message.request)
    outs = [out for out, _ in message.reply]
    lines = [f"HW_API {prototype(name)} {{"]
    for out in outs:
        lines += [f"  if (!{out})", f'    return hw_null("{name}", "{out}");', f"  *{out} = 0;"]
    lines += [
        f"  struct hw_{name}_request request = {{{given or '0'}}};",
        "  struct hw_call call = {0};",
        f"  hw_put_{name}_request(&call.request, &request);",
        f"  CALresult result = hw_call(&call, HW_{name.upper()});",
    ]
    if outs:
        lines += [
            "  if (result == CAL_RESULT_OK) {",
            f"    struct hw_{name}_reply reply;",
            f"    hw_get_{name}_reply(&call.reply, &reply);",
            *(f"    *{out} = reply.{out};" for out in outs),
            "  }",
        ]
    return "\n".join([*lines, "  hw_end_call(&call);", "  return result;", "}", ""])
