"""Images and modules: a compiled program on a context's device, its entry and its names (cal.h's calModule…)."""

from __future__ import annotations

from typing import Any

from headwater.cal.compiler import CALimage, CALobject, target_of
from headwater.cal.contexts import unload
from headwater.cal.enums import CALresult
from headwater.cal.errors import CalError, failed
from headwater.cal.memory import owner
from headwater.cal.state import Context, Function, Module, Name, guarded, session
from headwater.cal.structs import CALfuncInfo
from headwater.errors import HeadwaterError

ENTRY = "main"
"""AMD, CAL Programming Guide, calModuleGetEntry: the entry of an IL program."""


def calImageRead(buffer: bytes) -> CALimage:
    """An image from the bytes of its ELF file. CAL_RESULT_ERROR, with the offset, if it is none."""
    from headwater.isa.vliw.image_files import read_all

    try:
        images = read_all(bytes(buffer), "<image>")
    except HeadwaterError as error:
        raise failed(CALresult.ERROR, str(error)) from error
    except TypeError:
        raise failed(CALresult.INVALID_PARAMETER, f"an image is bytes, not a {type(buffer).__name__}") from None
    return CALimage(tuple(CALobject(target_of(image.target), image) for image in images))


def calImageFree(image: CALimage) -> None:
    """Nothing remains to be done: images are Python's."""
    _image(image)


def calModuleLoad(ctx: int, image: CALimage) -> int:
    """Load an image onto a context's device; CAL_RESULT_ERROR if it holds no code for that device."""
    context = owner(ctx)
    board = context.device.board
    accepted = [encoding for encoding in _image(image).encodings if board.accepts(encoding)]
    if not accepted:
        held = ", ".join(encoding.target.name for encoding in image.encodings)
        raise failed(
            CALresult.ERROR,
            f"the image has no code for CAL_TARGET_{board.attributes.target.name}, only for {held}",
            hint="compile for the target that calDeviceGetAttribs gives",
        )
    if len({encoding.image.name for encoding in accepted}) > 1:
        names = ", ".join(encoding.image.name for encoding in accepted)
        raise failed(
            CALresult.ERROR,
            f"the image has several programs for CAL_TARGET_{board.attributes.target.name}: {names}",
            hint="headwater compile --kernel NAME makes an image of one",
        )
    try:
        loaded = board.load(accepted[0])
    except CalError:
        raise
    except HeadwaterError as error:
        raise failed(CALresult.ERROR, str(error)) from error
    module = session().add(lambda handle: Module(handle, context, accepted[0], loaded))
    context.modules.add(module.handle)
    return module.handle


def calModuleUnload(ctx: int, module: int) -> None:
    """Unload a module, after the work that uses it; its function and names become invalid."""
    context = owner(ctx)
    found = _module(context, module)
    context.finish()
    unload(found)


@guarded
def calModuleGetEntry(ctx: int, module: int, name: str) -> int:
    """The function of that name: "main", or an OpenCL kernel's. CAL_RESULT_ERROR if there is none."""
    found = _module(owner(ctx), module)
    if name not in (ENTRY, found.encoding.image.name):
        raise failed(
            CALresult.ERROR, f"the module has no entry {name!r}", hint=f"its entry is {found.encoding.image.name!r}"
        )
    if not found.function:
        found.function = session().add(lambda handle: Function(handle, found)).handle
    return found.function


@guarded
def calModuleGetName(ctx: int, module: int, name: str) -> int:
    """A register's name: "i0", "cb0", "o0", "g[]", "uav0", or a sampler, "s0". CAL_RESULT_ERROR if there is none."""
    found = _module(owner(ctx), module)
    sampler = f"i{name[1:]}" if isinstance(name, str) and name.startswith("s") else ""
    if name not in found.loaded.names and sampler not in found.loaded.names:
        raise failed(
            CALresult.ERROR,
            f"the module has no name {name!r}",
            hint=f"its names are {', '.join(found.loaded.names) or 'none'}",
        )
    if name not in found.names:
        found.names[name] = session().add(lambda handle: Name(handle, found, name)).handle
    return found.names[name]


def calModuleGetFuncInfo(ctx: int, module: int, func: int) -> CALfuncInfo:
    """What a function needs of its device."""
    found = _module(owner(ctx), module)
    if session().get(func, Function, "function").module is not found:
        raise failed(CALresult.BAD_HANDLE, "the function is another module's")
    return found.loaded.info()


def _image(image: Any) -> CALimage:
    if not isinstance(image, CALimage):
        raise failed(CALresult.INVALID_PARAMETER, f"this is not an image but a {type(image).__name__}")
    return image


def _module(context: Context, module: Any) -> Module:
    found = session().get(module, Module, "module")
    if found.context is not context:
        raise failed(CALresult.BAD_HANDLE, "the module is another context's")
    return found
