"""What a CAL program's library and its server say to each other, as tables. Output: the C header for it.

A message has the name of the function that it is for. The reply to a call that failed is a ``failure``, whatever the
message's reply is. Objects and images are their bytes: the server remembers none.
"""

from __future__ import annotations

from headwater.bridge.protocol import Fields, Message, Protocol, c_record
from headwater.cal.abi.functions import PLAIN

RECORDS: dict[str, Fields] = {
    "object": (("target", "u32"), ("data", "bytes")),
    "grid": (
        ("func", "u32"), ("block_x", "u32"), ("block_y", "u32"), ("block_z", "u32"),
        ("size_x", "u32"), ("size_y", "u32"), ("size_z", "u32"), ("flags", "u32"),
    ),
}  # fmt: skip

FAILURE: Fields = (("text", "bytes"),)
"""What calGetErrorString or calclGetErrorString says."""

DEVICE_INFO: Fields = tuple(
    (name, "u32") for name in ("target", "maxResource1DWidth", "maxResource2DWidth", "maxResource2DHeight")
)
FUNC_INFO: Fields = tuple(
    (name, "u32")
    for name in (
        "maxScratchRegsNeeded", "numSharedGPRUser", "numSharedGPRTotal", "eCsSetupMode", "numThreadPerGroup",
        "numThreadPerGroupX", "numThreadPerGroupY", "numThreadPerGroupZ", "totalNumThreadGroup", "numWavefrontPerSIMD",
        "isMaxNumWavePerSIMD", "setBufferForNumGroup", "wavefrontSize", "numGPRsAvailable", "numGPRsUsed",
        "LDSSizeAvailable", "LDSSizeUsed", "stackSizeAvailable", "stackSizeUsed",
    )
)  # fmt: skip
"""CALfuncInfo as the SDK 2.x has it. Catalyst's later headers append four fields, for which callers that were compiled
before have no room."""

_DOMAIN: Fields = tuple((name, "u32") for name in ("ctx", "func", "x", "y", "width", "height"))
_EVENT: Fields = (("event", "u32"),)
_DATA: Fields = (("data", "bytes"),)
_RES: Fields = (("res", "u32"),)

MESSAGES: dict[str, Message] = {
    # The file of the memory that the host pins comes along.
    "hello": Message((("version", "u32"),), ()),
    "connect": Message((), ()),
    **PLAIN,
    "calInit": Message((), ()),
    "calShutdown": Message((), ()),
    "calDeviceGetInfo": Message((("ordinal", "u32"),), DEVICE_INFO),
    # Attributes and status: the bytes behind struct_size.
    "calDeviceGetAttribs": Message((("ordinal", "u32"),), _DATA),
    "calDeviceGetStatus": Message((("dev", "u32"),), _DATA),
    # devs: a u32 each.
    "calResAllocRemote2D": Message(
        (("devs", "bytes"), ("width", "u32"), ("height", "u32"), ("format", "u32"), ("flags", "u32")), _RES
    ),
    "calResAllocRemote1D": Message((("devs", "bytes"), ("width", "u32"), ("format", "u32"), ("flags", "u32")), _RES),
    # address: the host's, which is also the offset in the file of pinned memory.
    "calResCreate": Message(
        (
            ("dev", "u32"),
            ("address", "u64"),
            ("dimensions", "u32"),
            ("width", "u32"),
            ("height", "u32"),
            ("format", "u32"),
            ("size", "u32"),
            ("flags", "u32"),
        ),
        _RES,
    ),
    "calResFree": Message((("res", "u32"),), ()),
    "calResUnmap": Message((("res", "u32"),), ()),
    # unknown: the host has no mapping of it; if has_file, a file of so many bytes follows the reply.
    "calResMap": Message(
        (("res", "u32"), ("flags", "u32"), ("unknown", "u32")),
        (("pitch", "u32"), ("has_file", "u32"), ("bytes", "u64")),
    ),
    "calCtxRunProgram": Message(_DOMAIN, _EVENT),
    # params: eight times three corners of four floats.
    "calCtxRunProgramParams": Message((*_DOMAIN, ("params", "bytes")), _EVENT),
    "calCtxRunProgramGridArray": Message((("ctx", "u32"), ("flags", "u32"), ("grids", "[grid]")), _EVENT),
    # events: a u32 each.
    "calCtxWaitForEvents": Message((("ctx", "u32"), ("flags", "u32"), ("events", "bytes")), ()),
    "calCtxGetCounter": Message((("ctx", "u32"), ("counter", "u32")), (("bits", "u32"),)),
    # value: a u32, of a border's colour four floats.
    "calCtxSetSamplerParams": Message((("ctx", "u32"), ("name", "u32"), ("param", "u32"), ("value", "bytes")), ()),
    "calCtxGetSamplerParams": Message((("ctx", "u32"), ("name", "u32"), ("param", "u32")), (("value", "bytes"),)),
    "calImageRead": Message(_DATA, ()),
    "calModuleLoad": Message((("ctx", "u32"), ("data", "bytes")), (("module", "u32"),)),
    "calModuleGetEntry": Message((("ctx", "u32"), ("module", "u32"), ("name", "bytes")), (("func", "u32"),)),
    "calModuleGetName": Message((("ctx", "u32"), ("module", "u32"), ("name", "bytes")), (("name", "u32"),)),
    "calModuleGetFuncInfo": Message((("ctx", "u32"), ("module", "u32"), ("func", "u32")), FUNC_INFO),
    "calclCompile": Message((("language", "u32"), ("target", "u32"), ("source", "bytes")), _DATA),
    "calclAssembleObject": Message((("type", "u32"), ("target", "u32"), ("source", "bytes")), _DATA),
    "calclLink": Message((("objects", "[object]"),), _DATA),
    "calclDisassembleImage": Message(_DATA, (("text", "bytes"),)),
}
"""By name; the number of a message is its place. Statuses are CALresults."""

PROTOCOL = Protocol(1, RECORDS, MESSAGES)
pack, unpack = PROTOCOL.pack, PROTOCOL.unpack


def c_header() -> str:
    """Records, messages and the functions that write and read them, in C."""
    return "// Made from headwater/cal/abi/protocol.py.\n" + PROTOCOL.c_header(c_record("failure", FAILURE))
