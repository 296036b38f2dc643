"""Input: a file's name and contents. Output: which language they are in.

The one place where this is decided, for compiling, analyzing, checking and the command line alike: by what the caller
says, by the file's suffix, by the first bytes of machine code, and last by the text itself.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePath
from typing import Final, Literal

from headwater.base import reading
from headwater.base.tools import tool
from headwater.errors import UsageError

Language = Literal["brook", "opencl", "il", "hip"]

SUFFIXES: Final[dict[str, Language]] = {
    ".br": "brook",
    ".brh": "brook",
    ".cl": "opencl",
    ".ocl": "opencl",
    ".py": "opencl",  # its kernels, which `read` translates
    ".clh": "opencl",
    ".il": "il",
    ".hip": "hip",
    ".cu": "hip",
    ".cuh": "hip",
}
MACHINE_CODE_SUFFIXES: Final = (".hsaco", ".co", ".cal")
ASSEMBLY_SUFFIXES: Final = (".s", ".isa")

_CHOSEN: Final = ".py::"
"""Between a Python file's name and that of a kernel of it."""
_MACHINE_CODE: Final = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__")
"""How files of machine code begin."""
_WORDS: Final[dict[str, Language]] = {
    "brook": "brook",
    "brook+": "brook",
    "br": "brook",
    "opencl": "opencl",
    "opencl c": "opencl",
    "cl": "opencl",
    "il": "il",
    "ati il": "il",
    "hip": "hip",
    "cuda": "hip",
    "cu": "hip",
    "python": "opencl",  # as of files: `read` translates it
}
_COMMENTS: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IL: Final = re.compile(r"(?:\s|;[^\n]*\n|##[^\n]*\n)*il_[pcvghd]s(?:_\d|\s)")
_OPENCL: Final = re.compile(r"\b(?:__kernel|__global|global|get_global_id|__constant|__local)\b")
_HIP: Final = re.compile(r"\b(?:__global__|__device__)\s")
_PYTHON: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+headwater\b", re.MULTILINE)
_KERNEL: Final = re.compile(r"\b(?:kernel|reduce)\s+void\b")
_STREAMS: Final = re.compile(r"\w\s*<[^<>;{}()]*>|\bout\s+\w+|\w\s*\[\s*\]")
"""Only Brook+ writes ``float a<>``, ``out float b<>``; gather arrays are written ``float a[]``."""
_HINT: Final = (
    'say language="brook", "opencl", "il" or "hip" (--language on a command line), or name it .br, .cl, .il or .hip'
)


def is_text(value: str) -> bool:
    """Whether a string is source text rather than a path: it has a line break or a brace."""
    return any(mark in value for mark in "\n{}")


def is_machine_code(data: bytes, filename: str) -> bool:
    """Whether a file holds machine code: by its first bytes, or by its suffix."""
    return data.startswith(_MACHINE_CODE) or PurePath(filename).suffix.lower() in MACHINE_CODE_SUFFIXES


def named(word: object) -> Language:
    """The language that a caller's ``word`` names: "brook", "opencl", "il", "hip", "python" (whose kernels `read` makes
    OpenCL C of) and some other spellings. UsageError for anything else."""
    found = _WORDS.get(word.lower()) if isinstance(word, str) else None
    if found is None:
        raise UsageError(f"unknown language {word!r}", hint="choose brook, opencl, il, hip or python")
    return found


def language_of(text: str, filename: str, word: object = None) -> Language:
    """The language of source text: as ``word`` says if there is one, by the suffix of ``filename``, or by the text.
    UsageError if none of these tells it."""
    if word:
        return named(word)
    known = SUFFIXES.get(PurePath(filename).suffix.lower())
    return known if known is not None else _of_text(text, filename)


def _of_text(text: str, filename: str) -> Language:
    plain = _COMMENTS.sub(" ", text)
    if _IL.match(text):
        return "il"
    if _PYTHON.search(plain):
        raise UsageError(f"{filename} is Python", hint='say language="python": then it is executed, for its kernels')
    if _HIP.search(plain):
        return "hip"
    if _OPENCL.search(plain):
        return "opencl"
    if _KERNEL.search(plain) and _STREAMS.search(plain):
        return "brook"
    if re.search(r"\bkernel\b", plain):
        return "opencl"
    raise UsageError(f"cannot tell the language of {filename}", hint=_HINT)


def read(path_or_source: str | os.PathLike[str], word: object = None) -> tuple[str | bytes, str]:
    """Source text, or the bytes of machine code, and the name that messages give it. A string that `is_text` is the
    source itself, anything else a path. Where ``word`` or the file's name says that it is Python, it is executed, and
    the text is the OpenCL C of its kernels, of ``file.py::name`` of that one. UsageError if it cannot be read, or is no
    text."""
    if isinstance(path_or_source, str) and is_text(path_or_source):
        return _of_python(path_or_source, "<source>") if _is_python(word) else path_or_source, "<source>"
    if isinstance(path_or_source, str) and not path_or_source.strip():
        raise UsageError("the source is empty", hint="pass a file's name or a kernel's text")
    try:
        file, kernel = chosen(os.fspath(path_or_source))
        path = Path(file)
    except TypeError:
        raise UsageError(f"a path or source text is expected, not a {type(path_or_source).__name__}") from None
    try:
        data = reading.contents(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise UsageError(f"{path} is a link that leads nowhere") from None
        raise UsageError(f"no such file: {path}", hint=_nearby(path)) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a directory, not a source file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return _decoded(data, path, word, kernel)


def chosen(name: str) -> tuple[str, str]:
    """A file's name, and that of the kernel which ``file.py::name`` chooses, "" if it is all of them."""
    stem, mark, kernel = name.partition(_CHOSEN)
    return (f"{stem}.py", kernel) if mark and kernel else (name, "")


def given(name: str) -> tuple[str | bytes, str]:
    """`read` of a file that a command line names; ``-`` is standard input."""
    return _decoded(sys.stdin.buffer.read(), Path("<stdin>")) if name == "-" else read(Path(name))


def _is_python(word: object) -> bool:
    return isinstance(word, str) and word.lower() == "python"


def _of_python(text: str, name: str, kernel: str = "") -> str:
    made: str = tool("kernels of a Python file")(text, name, kernel)
    return made


def _decoded(data: bytes, path: Path, word: object = None, kernel: str = "") -> tuple[str | bytes, str]:
    if is_machine_code(data, path.name):
        return data, str(path)
    if path.suffix in ASSEMBLY_SUFFIXES:
        raise UsageError(f"{path} is assembly", hint=f"headwater asm {path} makes machine code of it, which runs")
    if _is_python(word) or (not word and path.suffix == ".py"):
        return _of_python(data.decode("utf-8-sig", "replace"), str(path), kernel), str(path)
    if b"\0" in data:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise UsageError(f"{path} is not a text file", hint="it is UTF-16: save it as UTF-8" if wide else "")
    try:
        return data.decode("utf-8-sig"), str(path)
    except UnicodeDecodeError:
        return data.decode("latin-1"), str(path)  # old sources carry names with accents in comments


def _nearby(path: Path) -> str:
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix in SUFFIXES]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.with_name(near[0])}?" if near else ""
