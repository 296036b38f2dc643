"""Input: lines of LLVM IR. Output: their parts.

What is looked for in the text of IR is looked for here, and nowhere outside of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

FINDING = "__hw_finding"
"""The function that code for checks calls for a finding (`headwater.opencl.checked`): with what it is, a file's number,
line and column, and a further line of that file or 0."""


_CALL = f"call void @{FINDING}("
_OPAQUE = re.compile(r'target\("spirv\.(\w+)"[^)]*\)')


def has_findings(text: str) -> bool:
    """Whether optimised code may still report a finding."""
    return _CALL in text


def with_plain_types(text: str, types: Mapping[str, str]) -> str:
    """A module's text with other types in place of those that only SPIR-V has, by the ends of their names (``Image``).
    They may stand in any line, so that they are replaced before the text is read."""
    if 'target("spirv.' not in text:
        return text
    return _OPAQUE.sub(lambda m: next((new for end, new in types.items() if m[1].endswith(end)), m[0]), text)


_ATTACHED = re.compile(r"(?:, ![\w.]+ !(?:\d+|\{\}))+$")


def attachments(line: str) -> str:
    """The metadata at the end of an instruction's line: ``, !dbg !7, !range !3``."""
    at = line.find(", !")
    found = _ATTACHED.search(line, at) if at >= 0 else None
    return found[0] if found else ""


def attachment(line: str, kind: str) -> str:
    """The node (``!7``) of a line's metadata of a kind (``dbg``), "" if it has none."""
    _, found, rest = line.partition(f" !{kind} ")
    return rest.replace(",", " ").partition(" ")[0] if found else ""


_OF_FUNCTION = re.compile(r" !([\w.]+) (!\d+)")


def attached_to_function(head: str) -> dict[str, str]:
    """The metadata nodes at the end of the line that a function begins with, by their kinds."""
    return dict(_OF_FUNCTION.findall(head, head.rfind(")")))


def type_end(text: str, start: int) -> int:
    """Where the type ends that begins at a position."""
    if text.startswith("target(", start):
        return text.find(")", start) + 1
    if text[start] not in "<[{":
        end = _TYPE_END.search(text, start)
        return end.start() if end else len(text)
    depth, at = 0, start
    for mark in _BRACKET.finditer(text, start):
        depth += 1 if mark[0] in "<[{(" else -1
        at = mark.end()
        if depth == 0:
            break
    return at


_LOCAL = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_SYMBOL_OR_STRING = re.compile(r'c"[^"]*"|@(?:"[^"]*"|[\w.$-]+)')
_LABEL = re.compile(r"\blabel %([\w.]+)")
_SYMBOL = re.compile(r'@(?:"[^"]*"|[\w.$-]+)')


def names_in(line: str) -> list[str]:
    """The local names (``%x``) that a line has, of values and blocks, each as often as it stands there."""
    return _LOCAL.findall(line)


def targets_in(text: str) -> list[str]:
    """The labels (without the %) of the blocks that branches in a piece of IR go to."""
    return _LABEL.findall(text)


def symbols_in(text: str) -> list[str]:
    """The functions and global variables (without the @) that a piece of IR mentions, its own name among them, each as
    often as it stands there."""
    return [symbol[1:].strip('"') for symbol in _SYMBOL.findall(text)]


def first_symbol(text: str) -> str:
    """The first of them with its @, as it is written; "" if there is none."""
    found = _SYMBOL.search(text)
    return found[0] if found else ""


def with_symbols(text: str, names: Mapping[str, str]) -> str:
    """The text with other functions and variables (``@x``) in the place of some; strings stay as they are."""
    if not names or "@" not in text:
        return text
    return _SYMBOL_OR_STRING.sub(lambda m: names.get(m[0], m[0]), text)


def callee_of(line: str) -> str:
    """What a call's line calls (without the @), "" if that is no function by its name."""
    start = line.find("@") + 1
    end = line.find("(", start)
    return line[start:end] if start and end > start else ""


_ALIGN = re.compile(r"\balign (\d+)")
_WIDE = re.compile(r"\bi(?:6[5-9]|[7-9]\d|1\d\d)\b")


def arguments_of(line: str) -> list[str]:
    """The arguments of a call of a function by its name: types, attributes and values, as they are written."""
    start = line.find("(", line.find("@"))
    depth = 0
    for at in range(start, len(line)):
        depth += (line[at] == "(") - (line[at] == ")")
        if depth == 0:
            return split(line[start + 1 : at]) if at > start + 1 else []
    return []


def alignment(argument: str) -> int:
    """What the attributes of a pointer say of its alignment, in bytes; 1 if they say nothing."""
    found = _ALIGN.search(argument)
    return int(found[1]) if found else 1


_OF_LESS_THAN_A_WORD = re.compile(r", align [12]\b")


def aligned_to_words(line: str) -> str:
    """The line of a variable that begins at a word, 4 bytes, if it began at less."""
    return _OF_LESS_THAN_A_WORD.sub(", align 4", line)


_NARROW_ARRAY = re.compile(r" alloca [^,]*x i(?:8|16)\]")


def has_narrow_arrays(text: str) -> bool:
    """Whether functions in a module's text have arrays of bytes or shorts as variables."""
    return _NARROW_ARRAY.search(text) is not None


def has_wide_integers(text: str) -> bool:
    """Whether a module's text has integers of more than 64 bits. It looks at the whole, as they may stand in any line,
    and nearly no module has any."""
    return _WIDE.search(text) is not None


_CAST = re.compile(r"addrspacecast \(ptr addrspace ?\((\d+)\)")


def spaces_cast_from(text: str) -> set[int]:
    """The address spaces that the pointers in a constant expression were cast from."""
    return {int(space) for space in _CAST.findall(text)}


_TYPE = re.compile(r"void|<\d+ x \w+>|ptr(?: addrspace\(\d+\))?|target\(.*?\)|half|float|double|i\d+")
_VECTOR = re.compile(r"<\d+ x (\w+)>")


def result_type(declaration: str) -> str:
    """The type that a function returns by its ``declare`` line, without attributes; "" if there is no line."""
    found = _TYPE.findall(declaration.partition("@")[0].replace("declare", ""))
    return found[-1] if found else ""


def element_type(ty: str) -> str:
    """The type of a vector's components, by its text; of another type that itself."""
    found = _VECTOR.fullmatch(ty)
    return found[1] if found else ty


_RESULT_OF_CALL = r"call (?:spir_func )?([^@\n]+) @{}\("
_QUOTED = re.compile(r'"[^"]*"(?:="[^"]*")?')
_ATTRIBUTE = re.compile(r"\w+(?:\([^)]*\))?")
_METADATA = re.compile(r'(?:, )?!(?!")[\w.]+ !\d+')
_COMMENT = re.compile(r"\s*; preds = .*")
_GROUP = re.compile(r"#\d+")


def result_type_of_call(text: str, symbol: str) -> str:
    """The type of what a function gives, with its attributes, by the first call of it in a text; "" if it has none."""
    found = re.search(_RESULT_OF_CALL.format(re.escape(symbol)), text)
    return found[1] if found else ""


def attributes_in(group: str) -> list[str]:
    """The attributes of a group (``{ nounwind "no-trapping-math"="true" }``) but those that are strings."""
    return _ATTRIBUTE.findall(_QUOTED.sub("", group))


def self_contained(line: str, groups: Mapping[str, str]) -> str:
    """A line without its metadata and comments, and with attributes in the place of their groups' names."""
    if "!" in line:
        line = _METADATA.sub("", line)
    if "#" in line:
        line = _GROUP.sub(lambda m: groups.get(m[0], m[0]), line)
    return _COMMENT.sub("", line) if ";" in line else line


_NAME = re.compile(r'([@%])"((?:[\w.$-]|\\[89A-F][0-9A-F])+)"', re.ASCII)
_BYTE = re.compile(rb"\\([0-9A-Fa-f]{2})")
_ASSEMBLY = re.compile(r"^[^;\n]*\b(?:call|callbr|invoke) [^@\n]*?\basm (?:\w+ )*\"[^\n]*$", re.MULTILINE)
_OF_VALUE = re.compile(r" [^@]*\bcall (?:[\w.*<>{}\[\], ]|addrspace\(\d+\))*%[\w.]+\(")
_DECLARE = re.compile(r"#dbg_declare\(\w+[^,]* (%(?:\"[^\"]*\"|[\w.$-]+)), .*, (!\d+)\)")
_MACHINE = re.compile(r'"target-cpu"="(\w+)" "target-features"="[^"]*"')
_ADDRESS = (
    r'(?:addrspacecast \(ptr (?:addrspace\(\d+\) )?)?@(?:[\w.$]+|"[^"]+"){}\w*\b(?!\()'
    r"(?: to ptr(?: addrspace\(\d+\))?\))?"
)


def with_names(text: str, name_of: Callable[[str], str]) -> str:
    """A module's text with other names in place of those in quotes that have letters beyond ASCII. Names may stand in
    any line, so that they are replaced before the text is read; nearly no module has any."""
    if '@"' not in text and '%"' not in text:
        return text
    return _NAME.sub(lambda m: m[1] + name_of(unescaped(m[2])), text)


def unescaped(text: str) -> str:
    """What is meant by a text between quotes, whose bytes may be escaped."""
    if "\\" not in text:
        return text
    return _BYTE.sub(lambda m: bytes((int(m[1], 16),)), text.encode()).decode("utf-8", "replace")


def assembly_call(text: str) -> str:
    """The first line of a module's text that calls inline assembly, "" if there is none."""
    found = _ASSEMBLY.search(text) if " asm " in text else None
    return found[0] if found else ""


def calls_value(line: str) -> bool:
    """Whether a line calls what a value says, not a function by its name."""
    return _OF_VALUE.match(line) is not None


def variable_declared(line: str) -> tuple[str, str]:
    """What a record for debuggers says of a variable: the name of its memory, and the node that describes where it is
    declared; both "" of another line."""
    found = _DECLARE.search(line) if "#dbg_declare" in line else None
    return (found[1], found[2]) if found else ("", "")


def element_count(line: str) -> str:
    """How many elements ``alloca`` makes room for, with the type, "" if it does not say it."""
    start = line.find(" = alloca ") + len(" = alloca ")
    end = type_end(line, start)
    rest = line[end + 2 :]
    return rest.partition(",")[0] if rest.startswith(("i32 ", "i64 ")) else ""


def with_flag(group: str, flag: str) -> str:
    """A group of attributes with one more."""
    return group.replace("{ ", f"{{ {flag} ", 1)


def without_flags(group: str, flags: Collection[str]) -> str:
    """A group of attributes without some."""
    return " ".join(word for word in group.split(" ") if word not in flags)


_GROUP_SIZES = re.compile(r'("amdgpu-flat-work-group-size"="(\d+),)(\d+)"')


def with_largest_group(group: str, largest: Callable[[int, int], int]) -> str:
    """A group of attributes, in which code generation for GCN is told another largest work-group: what ``largest``
    makes of the least and the largest that it says."""
    return _GROUP_SIZES.sub(lambda m: f'{m[1]}{largest(int(m[2]), int(m[3]))}"', group)


def for_processor(group: str, processor: str) -> str:
    """A group of attributes for another processor, with the features that LLVM gives it by itself."""
    return _MACHINE.sub(f'"target-cpu"="{processor}"', group)


def accesses_volatile(line: str) -> bool:
    """Whether an instruction is a volatile load or store."""
    return _VOLATILE.search(line) is not None


_VOLATILE = re.compile(r"\b(?:load|store) volatile\b")


def with_narrower_vectors(text: str, halvings: int) -> str:
    """A module whose code uses vectors of half the width, or less: what its functions' attributes say."""
    if not halvings:
        return text
    return _WIDTHS.sub(lambda found: f'"{found[1]}"="{int(found[2]) >> halvings}"', text)


_WIDTHS = re.compile(r'"(prefer-vector-width|min-legal-vector-width)"="(\d+)"')


def without_addresses(line: str, ending: str) -> str:
    """A line with null for the addresses of functions whose names end so, where these are not called."""
    return re.sub(_ADDRESS.format(re.escape(ending)), "null", line) if ending in line else line


_COMDAT = re.compile(r",? comdat(?:\([^)]*\))?(?=[ ,]|$)")


def without_words(line: str, words: Collection[str]) -> str:
    """A line without some of the words before the first name in it: linkage, visibility."""
    head, at, rest = line.partition("@")
    return " ".join(word for word in head.split(" ") if word not in words) + at + rest


def without_comdat(line: str) -> str:
    """The end of a definition's line without what says that definitions of several files may be merged."""
    strings, quote, rest = line.rpartition('"')
    return strings + quote + _COMDAT.sub("", rest) if " comdat" in rest else line


def without_metadata(line: str, kind: str) -> str:
    """A line without its metadata of a kind."""
    strings, quote, rest = line.rpartition('"')
    return strings + quote + re.sub(rf",? !{kind} !\d+", "", rest) if f"!{kind} " in rest else line


def without_field(node: str, field: str) -> str:
    """A specialised node without a field that names another node."""
    return re.sub(rf", {field}: !\d+", "", node) if field in node else node


_BRACKET = re.compile(r"[<\[{(]|[>\]})]")
_TYPE_END = re.compile(r"[\s,](?!addrspace\()")


def split(text: str) -> list[str]:
    """The parts of a list at its commas, those in brackets left alone."""

    def parts() -> Iterator[str]:
        depth = start = 0
        for position, mark in enumerate(text):
            depth += (mark in "<([{") - (mark in ">)]}")
            if mark == "," and depth == 0:
                yield text[start:position].strip()
                start = position + 1
        yield text[start:].strip()

    return list(parts())


_ESCAPED = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")


def string_bytes(text: str) -> bytes:
    """The bytes of a string, ``c"…"`` and whatever follows, or what is between its quotation marks: a backslash is
    written as two, what cannot be printed as one and two digits (LLVM's printEscapedString)."""
    body = text[2 : text.index('"', 2)] if text.startswith('c"') else text
    return _ESCAPED.sub(lambda m: m[1] if m[1] == b"\\" else bytes((int(m[1], 16),)), body.encode("ascii"))
