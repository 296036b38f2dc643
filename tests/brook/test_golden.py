from pathlib import Path

import pytest

from headwater.brook import translate
from headwater.brook.model import BrookModule
from headwater.brook.pixel_support import ADDRESS_TRANSLATION
from headwater.opencl.clang import compile_to_ir
from tests.brook import corpus_files

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", corpus_files.NAMES)
def test_translation_is_the_golden_text(name, update_golden):
    module = translate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    golden = GOLDEN / f"{name}.cl"
    if update_golden:
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(module.source, encoding="utf-8")
    assert module.source == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", corpus_files.NAMES)
def test_clang_takes_the_translation_without_a_word(name):
    module = translate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    compiled = compile_to_ir(module.source, f"{name}.cl", "")
    assert compiled.warnings.strip() == ""
    for kernel in module.kernels.values():
        for entry in kernel.entries:
            assert [argument.name for argument in compiled.kernels[entry.symbol].args] == [a.name for a in entry.args]


@pytest.mark.parametrize("name", corpus_files.NAMES)
@pytest.mark.parametrize("options", ["", f"-D {ADDRESS_TRANSLATION}"])
def test_clang_takes_pixel_shaders_without_a_word(name, options):
    pixels = translate(corpus_files.read(name), f"{name}.br", corpus_files.options(name)).pixels
    compiled = compile_to_ir(pixels.source, f"{name}.cl", options)
    assert compiled.warnings.strip() == ""
    for kernel in pixels.kernels.values():
        for entry in kernel.entries:
            own = [argument.name for argument in entry.args if argument.slot < 0]
            assert [argument.name for argument in compiled.kernels[entry.symbol].args] == own


@pytest.mark.parametrize("name", corpus_files.NAMES)
def test_a_module_survives_json(name):
    module = translate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    assert BrookModule.from_json(module.to_json()) == module


@pytest.mark.parametrize("name", corpus_files.NAMES)
def test_every_generated_line_of_a_body_maps_to_the_kernel(name):
    module = translate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    lines = module.source.rstrip("\n").split("\n")
    assert len(module.line_map) == len(lines)
    mapped = [(text, line) for text, line in zip(lines, module.line_map, strict=True) if line]
    written = corpus_files.read(name).split("\n")
    assert mapped
    for text, line in mapped:
        assert written[line - 1].strip(), f"{text!r} maps to the empty line {line}"


def test_groups_of_a_commutative_fold_take_equal_stretches():
    # Hosts reduce rows by it: see "Full reduction" in headwater/brook/model.py.
    source = translate(corpus_files.read("reduce"), "reduce.br").source
    assert "const long units = count / size + (count % size != 0);" in source
    assert "const int first = (int)(units * get_group_id(0) / get_num_groups(0) * size);" in source
