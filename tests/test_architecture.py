"""Imports follow the table of packages in docs/how-it-works.md: a package imports only those above it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import headwater
from headwater import chips
from headwater.isa.vliw import table as vliw_table

ROOT = Path(headwater.__file__).parent
ORDER = (
    "errors", "base", "sources", "data", "views", "chips", "native", "llvm", "vectorise", "opencl", "brook", "il", "hip", "python", "isa", "emulate", "runtime", "pictures", "timing",
    "step", "analyze", "triton", "cuda", "bridge", "cal", "icd", "files", "acml", "jobs", "sweep", "", "ui", "cli", "__main__",
)  # fmt: skip
"""From the top of the table to its bottom; "" is the package's own `__init__`."""
MOST_IN_A_CIRCLE = 3
"""Files; this number only ever goes down."""


OF_LIBRARIES = {"_FuncPointer", "_actions", "_asdict", "_exit", "_fields", "_parse_table", "_replace", "_write"}
"""Private names of other projects' objects that are read (argparse, ctypes, Lark, named tuples, os)."""
INSIDE = {
    "isa": (("cost", "elf", "msgpack", "semantics"), ("gcn",), ("vliw",)),
    "emulate": (("wave",), ("watch",), ("gcn", "vliw"), ("",)),
    "runtime": (
        ("checking", "events", "images", "shapes", "values"), ("interface", "signature"), ("streams",), ("program",),
        ("host", "python_functions"), ("python",), ("cpu", "simulated", "opencl"), ("gcn", "vliw"), ("devices",), ("brook", "il"),
        ("machine_code",),
        ("loading",),
    ),
}  # fmt: skip
"""Rows of sub-packages and modules: each imports only itself and those of rows before its own. "" are the package's other
modules."""


def package(module):
    return module.split(".")[1] if "." in module else ""


@cache
def tree(path):
    """A file's syntax tree, read once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _forgotten():
    yield
    tree.cache_clear()


@cache
def imports():
    """Module -> modules that it imports, with statements in functions and for types alone included."""
    paths = {".".join(("headwater", *p.relative_to(ROOT).with_suffix("").parts)): p for p in ROOT.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    found = {}
    for module, path in modules.items():
        names = set()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {n if (n := f"{node.module}.{a.name}") in modules else node.module for a in node.names}
        found[module] = {name for name in names if name in modules}
    return found


def circles():
    """Sets of modules each of which imports all others of its set, if only by way of others (Tarjan's algorithm)."""
    graph, index, low, stack, found = imports(), {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in graph[module]:
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            at = stack.index(module)
            found.append(stack[at:])
            del stack[at:]

    for module in graph:
        if module not in index:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def test_packages_import_only_packages_above_them():
    place = {name: at for at, name in enumerate(ORDER)}
    up = [
        f"{module} imports {other}"
        for module, others in imports().items()
        for other in others
        if place[package(other)] > place[package(module)]
    ]
    assert not sorted(up)


@pytest.mark.parametrize("name", INSIDE)
def test_sub_packages_import_only_those_of_rows_above_their_own(name):
    prefix = f"headwater.{name}."
    row = {part: at for at, parts in enumerate(INSIDE[name]) for part in parts}

    def part(module):
        head, dot, _ = module.removeprefix(prefix).partition(".")
        return head if dot or head in row else ""

    inside = {module: others for module, others in imports().items() if module.startswith(prefix)}
    assert {part(module) for module in inside} == set(row)
    wrong = [
        f"{module} imports {other}"
        for module, others in inside.items()
        for other in others
        if other.startswith(prefix) and part(other) != part(module) and row[part(other)] >= row[part(module)]
    ]
    assert not sorted(wrong)


def test_tests_mirror_packages():
    """Each folder of tests has the name of what it tests: a package, or a folder beside them."""
    here = Path(__file__).parent
    folders = {path.parent.relative_to(here) for path in here.rglob("test_*.py")}
    assert Path("isa/vliw/compiler") in folders
    assert not sorted(one for one in folders if not any((top / one).is_dir() for top in (ROOT, ROOT.parent)))


def test_nobody_reads_private_names_of_other_modules():
    """Neither by imports, nor of other objects, nor of a class's own bases in other modules."""
    found = []
    for path in ROOT.rglob("*.py"):
        nodes = list(ast.walk(tree(path)))
        own = {getattr(node, "name", None) for node in nodes}
        own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}  # slots
        imported = (
            node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "")[:9] == "headwater"
        )
        names = {alias.name for node in imported for alias in node.names}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)} - own - OF_LIBRARIES
        found += [f"{path.relative_to(ROOT)}: {name}" for name in names if name[0] == "_" and name[:2] != "__"]
    assert not sorted(found)


def test_constructors_call_those_of_their_bases():
    """No class of ours is inherited from for its methods, with its own state left out."""
    classes = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, node)

    def constructor(node):
        return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)

    def bases(node):
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0].split(".")[-1]
            if name in classes and name != node.name:
                yield classes[name]
                yield from bases(classes[name])

    assert [base.name for base in bases(classes["HipProgram"])][:1] == ["ClProgram"]
    skipped = [
        f"{name} leaves {base.name}.__init__ out"
        for name, node in classes.items()
        if (own := constructor(node)) and "__init__(" not in "".join(map(ast.unparse, own.body))
        for base in bases(node)
        if constructor(base) and "Protocol" not in map(ast.unparse, base.bases)
    ]
    assert not sorted(skipped)


def test_circles_of_files_stay_within_a_package_and_small():
    for circle in circles():
        assert len({package(module) for module in circle}) == 1, circle
        assert len(circle) <= MOST_IN_A_CIRCLE, sorted(circle)


def test_the_vectoriser_is_composed():
    """Classes of its package inherit from none of Headwater's but the builder of LLVM's text: state is passed on, not
    shared by a tower of bases."""
    own = {node.name for path in ROOT.rglob("*.py") for node in tree(path).body if isinstance(node, ast.ClassDef)}
    trees = {path: tree(path) for path in (ROOT / "vectorise").rglob("*.py")}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert len(classes) > 10
    bases = {node.name: ast.unparse(base).partition("[")[0].split(".")[-1] for node in classes for base in node.bases}
    assert {name: base for name, base in bases.items() if base in own} == {
        "Out": "Block",
        "Writer": "Builder",
        "Lines": "Builder",
    }


NAMES = re.compile(r"r600|r700|evergreen|cayman|terascale|northern islands|gfx[0-9a-f]+|^(gcn|vliw)$", re.IGNORECASE)
"""Of families, generations and targets."""


def literals(node):
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def compared(node):
    """The strings that an expression or a pattern compares something with."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [word for side in (left, *others) for word in literals(side)]
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "index"), args=args):
            return [word for argument in args for word in literals(argument)]
        case ast.MatchValue(value=value):
            return literals(value)
    return []


def test_what_generations_differ_in_is_asked_of_tables():
    """No comparison with a name of a chip, a generation or a target: those have rows in tables, and fields that say
    what differs."""
    assert compared(ast.parse('generation in ("r600", "r700")').body[0].value) == ["r600", "r700"]
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {word}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(tree(path))
        for word in compared(node)
        if NAMES.search(word) or word in chips.names()
    ]
    assert not found


PATTERNS = {"compile", "sub", "subn", "match", "search", "findall", "finditer", "fullmatch", "split"}
"""Functions of `re` whose first argument is a pattern."""
OF_LLVM = re.compile(
    r'%(?![-+%]|\d*\()["(\[\\\w]|@["(\[\\\w]|(?<!\()!(?:\\d|\d|[({\[]|\w+ )|\b(?:define|declare|alloca|getelementptr|'
    r"addrspace(?:cast)?|metadata|attributes|spir_func|insertelement|datalayout|noundef|amdgpu-[a-z-]+)\b|\bi(?:8|16|32|64)\b|"
    r"(?:\\d\+\)?|\d) x "
)
"""What a pattern over the text of LLVM IR has: names of values (``%x``), symbols (``@f``), nodes (``!7``), words, types."""
NOT_OF_LLVM = {
    "isa/semantics/prelude.py": ("^(?:@raw",),  # functions of the language of semantics
    "opencl/library_calls.py": (r"llvm\.(?P<name>",),  # names of intrinsics
}
"""Patterns that look like some and are over other text: file -> what each begins with."""


def patterns(path):
    """Lines with regular expressions, and these."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]) if attr in PATTERNS:
                parts = (one.value for one in ast.walk(first) if isinstance(one, ast.Constant))
                texts = (part.decode() if isinstance(part, bytes) else part for part in parts)
                yield node.lineno, "".join(text for text in texts if isinstance(text, str))


OF_MNEMONICS = re.compile(r"\b[vs]_|\b(?:ds|flat|global|buffer)_|atomic|cmp[_s]|CMP|\bSET|PRED|MEM_")
PREFIXES = re.compile(r"^_?[vs]_[a-z]|^(?:ds|flat|global|buffer|image|scratch)_")
"""Beginnings of mnemonics of GCN."""


def test_nothing_is_read_from_mnemonics():
    """Neither by regular expressions nor by how they begin: what instructions do and cost is in their rows."""
    assert OF_MNEMONICS.search("(?:v_cmp|s_cmpk?)_(lt|eq)")
    assert PREFIXES.search("v_mfma_f64")
    found = []
    for path in (
        path for part in ("analyze", "emulate", "isa", "timing", "step") for path in (ROOT / part).rglob("*.py")
    ):
        name = path.relative_to(ROOT).as_posix()
        found += [f"{name}:{line}: {one}" for line, one in patterns(path) if OF_MNEMONICS.search(one)]
        for node in ast.walk(tree(path)):
            match node:
                case ast.Call(func=ast.Attribute(attr="startswith" | "removeprefix"), args=[beginning, *_]):
                    found += [f"{name}:{node.lineno}: {one}" for one in literals(beginning) if PREFIXES.search(one)]
                case ast.Compare(
                    ops=[ast.In() | ast.NotIn()],
                    comparators=[ast.Attribute(value=ast.Attribute(attr="row") | ast.Name(id="row"), attr="name")],
                ):
                    found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not found


OF_VLIW = ("isa/vliw/", "emulate/vliw/", "timing/vliw", "analyze/vliw", "step/vliw", "runtime/vliw/")
"""Where instructions of VLIW chips are looked at; of those the assembler and the printer read and write names."""


def asked_of_names(path):
    """Lines with a word that a name is asked to begin or end with, or to have in it, and these words."""
    lists = {}
    for node in tree(path).body:
        if isinstance(node, ast.Assign):
            lists |= {target.id: literals(node.value) for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="startswith" | "removeprefix" | "endswith" | "removesuffix"), args=[asked, *_]
            ):
                words = lists.get(asked.id, []) if isinstance(asked, ast.Name) else literals(asked)
                yield from ((node.lineno, word) for word in words)
            case ast.Compare(
                left=ast.Constant(value=str() as word),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Attribute(attr="name" | "mnemonic") | ast.Name(id="name" | "mnemonic")],
            ):
                yield node.lineno, word


def test_nothing_is_read_from_names_of_vliw_instructions():
    """Neither from how they begin nor from how they end: kinds and flags are columns of their tables."""
    names = {row.name for row in vliw_table.rows()} | {row.mnemonic for row in vliw_table.rows()}
    parts = {part for name in names for n in range(3, len(name)) for part in (name[:n], name[-n:])}
    assert {"LDS_", "_RET", "PRED_", "MEM_STREAM", "SCRATCH"} <= parts
    found = [
        f"{file}:{line}: {word}"
        for path in ROOT.rglob("*.py")
        if (file := path.relative_to(ROOT).as_posix()).startswith(OF_VLIW) and "vliw/assembly" not in file
        for line, word in asked_of_names(path)
        if word in parts
    ]
    assert not found


def test_nothing_but_its_package_looks_into_the_text_of_llvm():
    """Regular expressions over IR stand in `headwater.llvm` alone; all else asks the model."""
    found, excused = [], set()
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("llvm/"):
            continue
        for line, pattern in patterns(path):
            if OF_LLVM.search(re.sub(r"\(\?<?!", "(", pattern)):
                known = [start for start in NOT_OF_LLVM.get(name, ()) if pattern.startswith(start)]
                excused |= {(name, start) for start in known}
                found += [] if known else [f"{name}:{line}: {pattern}"]
    assert not sorted(found)
    assert excused == {(name, start) for name, starts in NOT_OF_LLVM.items() for start in starts}
