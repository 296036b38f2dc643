"""The documentation's blocks are run: files are made, commands print what the page shows, Python does not raise.

``c file=NAME``: the block is saved under that name. ``console``: a shell runs the lines after ``$``, and the lines up
to the next ``$`` are what they print (``…`` for anything); ``# exit code N`` says what they end with. A command that
ends with a backslash continues behind ``>``. ``sh``: every
command ends well. ``python``: executed, all blocks of a page in one namespace. Pages are run where ``examples`` and
``headwater`` are those of the checkout.
"""

import linecache
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return [(match[1], match[2].strip(), match[3]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def run_console(text, folder):
    command, expected = None, []
    for line in [*text.replace("\\\n> ", "").splitlines(), "$ "]:
        if not line.startswith("$ "):
            expected.append(line)
            continue
        if command is not None:
            check(command, "\n".join(expected), folder)
        command, expected = line[2:], []


# What takes minutes, or makes an environment: the installation is what runs these tests, and the two programs have tests
# of their own.
NOT_RUN = ("python3 -m venv", "headwater bench", "headwater validate")


def run_commands(text, folder):
    for command in text.splitlines():
        if command.strip() and not command.startswith(NOT_RUN):
            check(command, "…", folder)


def check(command, expected, folder):
    code = int(match[1]) if (match := re.search(r"# exit code (\d+)$", command)) else 0
    binaries = folder / "bin"
    if not binaries.exists():
        binaries.mkdir()
        script = binaries / "headwater"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headwater "$@"\n')
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    environment.pop("HEADWATER_DEVICE", None)
    ran = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment,
    )
    shown = "\n".join(line.rstrip() for line in ran.stdout.rstrip().splitlines())
    pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
    assert ran.returncode == code, f"$ {command}\n{shown}"
    assert re.fullmatch(pattern, shown, re.DOTALL), f"$ {command}\n{shown}\n-- expected --\n{expected}"


@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for a POSIX shell")
@pytest.mark.parametrize(
    "name",
    [
        "docs/acml.md",
        "docs/brook.md",
        "docs/cal.md",
        "docs/checks.md",
        "docs/emulator.md",
        "docs/hip.md",
        "docs/il.md",
        "docs/python.md",
        "docs/runtime.md",
        "docs/trace.md",
        "docs/triton.md",
        "docs/tutorial.md",
        "docs/chips.md",
        "docs/gcn-isa.md",
        "docs/vliw-isa.md",
        "docs/analyzer.md",
        "docs/timing.md",
        "docs/step.md",
        "docs/sweep.md",
        "examples/README.md",
        "README.md",
    ],
)
def test_a_page_says_what_is_so(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("HEADWATER_DEVICE", raising=False)
    for folder in ("examples", "headwater"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    namespace = {}
    found = blocks(ROOT / name)
    assert found
    for kind, info, text in found:
        if info.startswith("file="):
            (tmp_path / info.removeprefix("file=")).write_text(text)
        elif kind == "console":
            run_console(text, tmp_path)
        elif kind == "sh":
            run_commands(text, tmp_path)
        elif kind == "python":
            place = f"<{name}, block {found.index((kind, info, text))}>"  # kernels in Python want their text
            linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
            exec(compile(text, place, "exec"), namespace)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"]:
        text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))
        for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            assert not place or place in headings(file), f"{page.name}: {target}#{place}"


def test_no_page_is_wider_than_120_columns():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    pages += [page for folder in ("examples", "benchmarks", "verification") for page in (ROOT / folder).rglob("*.md")]
    wide = [
        f"{page.relative_to(ROOT)}:{number}: {len(line)}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not wide


def headings(page):
    """What links call the headings of a page, as GitHub makes it of them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in found}
