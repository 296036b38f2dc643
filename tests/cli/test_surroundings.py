"""What is around a command: caches that others can write, users without a home, disks that are full."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="only here files have an owner and a mode")
KERNEL = "__kernel void k(__global int *a) { a[get_global_id(0)] = 7; }"
NAMELESS = "import pwd; pwd.getpwuid = lambda number: {}[number]; "


def run(folder, words, environment=None, before=""):
    """``headwater WORDS`` in a process of its own."""
    (folder / "k.cl").write_text(KERNEL)
    code = f"import sys; {before}from headwater.cli import main; sys.exit(main(sys.argv[1:]))"
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    kept |= {"PYTHONPATH": str(ROOT)} | (environment or {})
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=kept, capture_output=True, text=True, timeout=120
    )


def plant(cache, code):
    """Put ``code`` into every library of a cache, with a checksum that is right."""
    found = list(cache.glob("v1/*/*/kernel.so"))
    for library in found:
        library.write_bytes(code)
        manifest = library.with_name("manifest")
        lines = manifest.read_text().split("\n")
        lines = [f"{zlib.crc32(code):08x} kernel.so" if line.endswith("kernel.so") else line for line in lines]
        manifest.write_text("\n".join(lines))
    return len(found)


@pytest.mark.skipif(sys.platform != "linux", reason="libraries have other names there")
def test_libraries_that_others_could_have_written_are_not_loaded(tmp_path):
    cache = tmp_path / "cache"
    words, environment = ["run", "k.cl", "zeros:4", "-d", "hd5870"], {"HEADWATER_CACHE_DIR": str(cache)}
    assert run(tmp_path, words, environment).returncode == 0
    assert plant(cache, b"foreign code")
    ran = run(tmp_path, words, environment)
    assert ran.returncode == 2
    assert "cannot load the compiled code" in ran.stderr
    assert "Traceback" not in ran.stderr
    cache.chmod(0o777)
    ran = run(tmp_path, words, environment)
    assert ran.returncode == 0
    assert "[7 7 7 7]" in ran.stdout
    assert ran.stderr.count("\n") == 1
    assert f"warning: the cache in {cache} is not used" in ran.stderr


@ON_POSIX
@pytest.mark.parametrize(
    "words", [["run", "k.cl", "zeros:4"], ["disasm", "k.cl", "-d", "hd5870"], ["cache"], ["devices"]]
)
def test_a_user_without_a_home_directory_can_do_all(tmp_path, words):
    ran = run(tmp_path, words, {"HEADWATER_CACHE_DIR": "", "TMPDIR": str(tmp_path)}, NAMELESS)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if "warning" not in line] == []
    assert sorted(os.listdir(tmp_path)) == ["k.cl"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_home_that_cannot_be_written_is_told_once(tmp_path):
    environment = {"HEADWATER_CACHE_DIR": "/dev/full/cache", "TMPDIR": str(tmp_path)}
    ran = run(tmp_path, ["run", "k.cl", "zeros:4", "-d", "vega64"], environment)
    assert ran.returncode == 0
    assert "[7 7 7 7]" in ran.stdout
    assert ran.stderr.count("cannot write the cache") == ran.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["k.cl"]
