"""Cached results depend on the code that made them, and on no other."""

import subprocess
import sys
from pathlib import Path

import headwater
from headwater.base import freshness

FILES = freshness._package_files()


def needed(module):
    return freshness.files_of(module, FILES)


def test_a_module_depends_on_itself_on_what_it_imports_and_on_its_data():
    found = needed("headwater.opencl.host")
    assert {"opencl/host.py", "opencl/codegen.py", "base/cache.py", "opencl/library/float_trig.cl"} <= found
    assert not [name for name in found if name.startswith(("analyze/", "cli/", "timing/"))]


def test_tables_belong_to_the_package_around_them():
    found = needed("headwater.isa.gcn.decode")
    assert {"isa/gcn/tables/vop.isa", "isa/gcn/table.py"} <= found


def test_modules_that_the_compiler_process_loads_count():
    assert "il/from_llvm/worker.py" in needed("headwater.il.from_llvm")


def test_all_imports_of_a_process_are_found():
    """What Python itself imports for the module is among the files, whatever form its import statements have."""
    for module in ("headwater.opencl.host", "headwater.isa.vliw.compiler", "headwater.emulate.gcn.native"):
        code = (
            f"import {module}, sys; print(*[m.__file__ for n, m in sys.modules.items() if n.startswith('headwater.')])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        root = Path(headwater.__file__).parent
        loaded = {Path(path).relative_to(root).as_posix() for path in done.stdout.split()}
        loaded -= {"__init__.py", "base/tools.py", "base/version.py"}  # the whole package's, which no code depends on
        assert loaded <= needed(module), module


def test_a_changed_file_changes_the_state(monkeypatch):
    before = freshness.code_state("headwater.chips")
    changed = {**FILES, "chips/reader.py": "chips/reader.py 1 1"}
    monkeypatch.setattr(freshness, "_package_files", lambda: changed)
    after = freshness.code_state.__wrapped__("headwater.chips")
    assert after != before
    assert freshness.code_state.__wrapped__("headwater.errors") == freshness.code_state("headwater.errors")


def test_code_that_watches_depends_on_what_writes_it():
    for module in ("emulate.gcn.check", "emulate.vliw.check", "emulate.watch.trace", "emulate.watch.stats"):
        assert {"emulate/watch/staging.py", "emulate/watch/repeats.py"} <= needed(f"headwater.{module}"), module


def test_objects_of_other_packages_have_a_state():
    assert freshness.state_of(None) == ""
    first = freshness.code_state.__wrapped__(__name__)
    assert freshness.code_state.__wrapped__(__name__) == first == freshness.state_of(Here())


class Here:
    """An object whose class no package of ours defines."""
