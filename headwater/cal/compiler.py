"""CAL's compiler. Input: IL or assembly text. Output: an object for one target, linked to an image (calcl.h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.cal.enums import CALlanguage, CALprogramtype, CALresult, CALtarget
from headwater.cal.errors import CalError, last_error, not_compiled
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.il.model import Program
    from headwater.isa.vliw.image import ShaderImage

VERSION = (1, 4, 0)
"""The interface that is kept: CAL 1.4, as in the Stream SDK 2.x and Catalyst 9 and 10."""

_TARGETS = {
    CALtarget.R600: "r600",
    CALtarget.RV610: "rs880",
    CALtarget.RV630: "r630",
    CALtarget.RV670: "rv670",
    CALtarget.R7XX: "rv770",
    CALtarget.RV770: "rv770",
    CALtarget.RV710: "rv710",
    CALtarget.RV730: "rv730",
    CALtarget.CYPRESS: "cypress",
    CALtarget.JUNIPER: "juniper",
    CALtarget.REDWOOD: "redwood",
    CALtarget.CEDAR: "cedar",
    CALtarget.SUMO: "sumo",
    CALtarget.CAYMAN: "cayman",
    CALtarget.BARTS: "barts",
    CALtarget.TURKS: "turks",
    CALtarget.CAICOS: "caicos",
}
"""LLVM's names of the processors (R600Processors.td), by which chip files name their code; RV610's code is RS880's."""


def processor(target: CALtarget) -> str:
    """LLVM's name of a target's processor; CAL_RESULT_NOT_SUPPORTED for those whose code is not VLIW."""
    if target not in _TARGETS:
        raise not_compiled(f"there is no VLIW code for CAL_TARGET_{target.name}", result=CALresult.NOT_SUPPORTED)
    return _TARGETS[target]


def target_of(name: str) -> CALtarget:
    """The target of a processor that LLVM names so."""
    found = [target for target, known in _TARGETS.items() if known == name and target is not CALtarget.R7XX]
    return found[0] if found else CALtarget.R600


@dataclass(frozen=True)
class CALobject:
    """A program for one target: its machine code and what belongs to it, and the IL that it was made of."""

    target: CALtarget
    image: ShaderImage

    @property
    def il(self) -> str | None:
        """The IL text; None of assembled programs."""
        return self.image.il or None


Encoding = CALobject
"""What an image holds for a target."""


@dataclass(frozen=True)
class CALimage:
    """Programs, each for another target, of which a device takes the one for it."""

    encodings: tuple[Encoding, ...]


def calclGetVersion() -> tuple[int, int, int]:
    """The compiler's version: major, minor, implementation."""
    return VERSION


def calclGetErrorString() -> str:
    """What went wrong in the last function of the compiler that failed."""
    return last_error.compiler


def calclExtSupported(extid: int) -> None:
    """Raises CAL_RESULT_NOT_SUPPORTED: the compiler has no public extensions."""
    raise not_compiled(f"the compiler has no extension {extid!r:.40}", result=CALresult.NOT_SUPPORTED)


def calclExtGetProc(extid: int, procname: str) -> Callable[..., Any]:
    """Raises CAL_RESULT_NOT_SUPPORTED: the compiler has no public extensions."""
    raise not_compiled(f"the compiler has no function {procname!r:.40}", result=CALresult.NOT_SUPPORTED)


def calclCompile(language: CALlanguage, source: str, target: CALtarget) -> CALobject:
    """Compile IL text for a target, which need not be a device's.

    CAL_RESULT_ERROR with position if the program is wrong, or cannot be run by that target.
    """
    if language != CALlanguage.IL:
        raise not_compiled(f"{language!r} is no language", hint="CAL_LANGUAGE_IL", result=CALresult.INVALID_PARAMETER)
    from headwater.il.parser import parse

    wanted, text = _target(target), _text(source)
    _chip(wanted)
    return compile_program(_attempt(lambda: parse(text, "<IL>")), text, wanted)


def compile_program(program: Program, text: str, target: CALtarget) -> CALobject:
    """An object of an IL program, whose text is kept in it."""
    from headwater.runtime.vliw.images import image_of

    chip = _chip(target)
    return CALobject(target, _attempt(lambda: image_of(text, chip, "<IL>", program)))


def calclAssembleObject(kind: CALprogramtype, source: str, target: CALtarget) -> CALobject:
    """Assemble machine code in the vendor's notation, as `calclDisassembleObject` gives it, edited or not."""
    from headwater.isa.vliw.image_text import parse

    try:
        kind = CALprogramtype(kind)
    except ValueError:
        raise not_compiled(f"{kind!r} is no kind of program", result=CALresult.INVALID_PARAMETER) from None
    chip = _chip(_target(target))
    name = "ps" if kind is CALprogramtype.PS else "cs"
    return CALobject(CALtarget(target), _attempt(lambda: parse(_text(source), chip.target, name)))


def calclLink(objects: Sequence[CALobject]) -> CALimage:
    """An image of objects, of which no two are for the same target."""
    made = tuple(objects)
    if not made or not all(isinstance(part, CALobject) for part in made):
        raise not_compiled("an image is linked of one object or more", result=CALresult.INVALID_PARAMETER)
    twice = [part.target.name for k, part in enumerate(made) if part.target in [other.target for other in made[:k]]]
    if twice:
        raise not_compiled(f"two objects are for CAL_TARGET_{twice[0]}")
    return CALimage(made)


def calclFreeObject(object: CALobject) -> None:
    """Nothing remains to be done: objects are Python's."""
    if not isinstance(object, CALobject):
        raise not_compiled("this is no object", result=CALresult.INVALID_PARAMETER)


def calclFreeImage(image: CALimage) -> None:
    """Nothing remains to be done: images are Python's. Modules that were loaded from it stay."""
    _image(image)


def calclImageGetSize(image: CALimage) -> int:
    """How many bytes `calclImageWrite` writes."""
    return len(calclImageWrite(image))


def calclImageWrite(image: CALimage) -> bytes:
    """The image as the bytes of an ELF file, for `calImageRead`."""
    from headwater.isa.vliw.image_files import write

    data: bytes = _attempt(lambda: write(*(encoding.image for encoding in _image(image).encodings)))
    return data


def calclDisassembleImage(image: CALimage, log: Callable[[str], Any]) -> None:
    """Hand the text of each program to ``log``."""
    for encoding in _image(image).encodings:
        calclDisassembleObject(encoding, log)


def calclDisassembleObject(object: CALobject, log: Callable[[str], Any]) -> None:
    """Hand the program's text, in the vendor's notation, to ``log``."""
    if not isinstance(object, CALobject):
        raise not_compiled("this is no object", result=CALresult.INVALID_PARAMETER)
    from headwater.isa.vliw.image_text import text

    log(_attempt(lambda: text(object.image, exact=True)))


def _target(target: Any) -> CALtarget:
    try:
        return CALtarget(target)
    except ValueError:
        raise not_compiled(f"{target!r} is no target", result=CALresult.INVALID_PARAMETER) from None


def _chip(target: CALtarget) -> Chip:
    """The chip that a target's code is compiled for: the board that has most of it, where several have it."""
    from headwater import chips

    name = processor(target)
    found = [chip for chip in chips.all_chips() if chip.target == name]
    if not found:
        raise not_compiled(f"no chip file is for CAL_TARGET_{target.name}", result=CALresult.NOT_SUPPORTED)
    return found[-1]


def _text(source: Any) -> str:
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    if not isinstance(source, str):
        raise not_compiled(f"source text is a str, not a {type(source).__name__}", result=CALresult.INVALID_PARAMETER)
    return source


def _image(image: Any) -> CALimage:
    if not isinstance(image, CALimage):
        raise not_compiled("this is not an image", result=CALresult.INVALID_PARAMETER)
    return image


def _attempt(job: Callable[[], Any]) -> Any:
    try:
        return job()
    except CalError:
        raise
    except HeadwaterError as error:
        raise not_compiled(str(error)) from error
