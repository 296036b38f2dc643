"""The benchmark of code objects launches every one that is stored."""

from benchmarks.code_objects import CHIPS, OBJECTS, cases

NOT_LAUNCHED = {"beyond", "dump", "first_of_each"}
"""They are made to fault, to print, or to follow addresses that arrays hold."""


def test_every_stored_kernel_is_measured():
    stored = {tuple(path.stem.split(".")) for path in OBJECTS.glob("*.hsaco")}
    wanted = {f"{name}, {CHIPS[target]}" for name, target in stored if name not in NOT_LAUNCHED}
    found = cases()
    assert wanted < found.keys()
    for name, script in found.items():
        compile(script, name, "exec")
