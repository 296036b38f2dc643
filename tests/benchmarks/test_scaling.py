"""The benchmark of sizes has programs that are what their names say, and the VLIW compiler's work grows as they do."""

from importlib import import_module
from operator import attrgetter

import pytest

from benchmarks import scaling
from benchmarks.scaling_programs import PROGRAMS
from headwater import chips
from headwater.il.parser import parse
from headwater.isa.vliw.compiler import compile_program
from tests.counted import count_calls

HD5870 = chips.find("hd5870")


def calls(name, count):
    """Functions called while a program of IL is compiled."""
    program = parse(PROGRAMS[name].text(count), "program.il")
    return count_calls(compile_program, program, HD5870, "program.il")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("IL, branches in sequence", 40),
        ("IL, loops in sequence", 25),
        ("IL, nested branches", 8),
        ("IL, nested loops", 3),
        ("IL, literals", 50),
        ("IL, fetches", 40),
    ],
)
def test_the_compilers_work_grows_with_the_program(name, count):
    """Ten times as much took up to a hundred times as long: variables were copied for each branch, all live sets looked
    at for each block, everything that was ready sorted for each group, and each loop had phis for the counters of all in it."""
    calls(name, 1)  # what is computed once a process
    assert calls(name, 10 * count) < 15 * calls(name, count)


def test_growth_is_an_exponent():
    assert scaling.growth([1.0, 10.0, 1000.0]) == pytest.approx(2)
    assert scaling.sizes(100) == [1, 10, 100]


def test_a_size_is_measured_by_stage():
    found, wrong = scaling.run("IL, literals", 1, "hd5870", ["run"], 60)
    assert not wrong
    assert {"run: VLIW schedule", "run: IL parser", "run: LLVM for emulators"} <= found.keys()


@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.suffix == ".cl"], ids=lambda p: p.name)
def test_programs_grow(program):
    assert len(program.source(10)) > len(program.source(1))
    assert program.source(1).startswith(("kernel void k(", "constant ", "int f0("))


@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.suffix == ".br"], ids=lambda p: p.name)
def test_brook_programs_are_translated(program):
    from headwater.brook.translator import translate

    assert "k" in {kernel.name for kernel in translate(program.source(2), "program.br").kernels.values()}


@pytest.mark.parametrize("stage", scaling.STAGES)
def test_stages_are_functions_of_the_package(stage):
    for name in scaling.STAGES[stage]:
        module, _, function = name.partition(":")
        assert callable(attrgetter(function)(import_module(f"headwater.{module}")))
