"""What `headwater analyze --json` prints is what its schema says, and every key of it can be explained."""

import json
import math

import pytest

import headwater
from headwater.analyze import explain as explaining
from headwater.analyze.glossary import metrics

LOOP = """kernel void k(global const float *a, global float *c, int n) {
  local float l[64];
  float s = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) s += sqrt(a[i]) * a[i + 1];
  l[get_local_id(0) % 64] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  c[get_global_id(0)] = l[63 - get_local_id(0) % 64];
}
"""
PIXEL = "il_ps_2_0\ndcl_output_generic o0\ndcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\ndcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\nsample_resource(0)_sampler(0) r0, vWinCoord0.xyxx\nadd o0, r0, r0\nend\n"
TYPES = {
    "object": dict, "array": (list, tuple), "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip


def valid(value, schema, whole, path="$"):
    """The part of JSON Schema that the schema uses; an AssertionError names the place."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    known = {
        "$schema", "$defs", "title", "description", "type", "properties", "required", "additionalProperties", "items",
        "enum", "const",
    }  # fmt: skip
    assert set(schema) <= known, path
    if "const" in schema:
        assert value == schema["const"], path
    if "enum" in schema:
        assert value in schema["enum"], (path, value)
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, TYPES[kind]) for kind in kinds), (path, value)
        assert not isinstance(value, bool) or "boolean" in kinds, (path, value)
    if isinstance(value, dict) and schema.get("type") == "object":
        assert set(schema.get("required", ())) <= set(value), (path, set(schema["required"]) - set(value))
        for name, inner in value.items():
            part = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
            assert part is not False, (path, name)
            if isinstance(part, dict):
                valid(inner, part, whole, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            valid(inner, schema["items"], whole, f"{path}[{number}]")
    if isinstance(value, float):
        assert math.isfinite(value), path


@pytest.fixture(scope="module")
def reports():
    made = [
        headwater.analyze(
            LOOP, device=["vega64", "hd5870", "hd4870"], arguments={"n": 10_000}, size=1024, set=["clock_mhz=500"]
        ),
        headwater.analyze(LOOP, device=["hd7970"], trips={"L1": 3}, hit=0.5),
        headwater.analyze(PIXEL, device=["hd4870", "hd2400-xt"], size=(30, 20)),
        headwater.analyze("kernel void z(global float *a) {}", device=["vega64", "hd5870"]),
    ]
    return [json.loads(json.dumps(report.as_json(), allow_nan=False)) for report in made]


def test_reports_follow_the_schema(reports):
    schema = explaining.schema()
    assert [len(report["analyses"]) for report in reports] == [4, 1, 2, 2]
    assert reports[0]["refused"][0]["device"] == "Radeon HD 4870"
    for report in reports:
        valid(report, schema, schema)


def test_the_schema_refuses_what_is_not_in_it(reports):
    schema = explaining.schema()
    for spoil in (
        lambda a: a.update(colour="red"),
        lambda a: a.pop("launch"),
        lambda a: a["estimate"].update(seconds="long"),
        lambda a: a["loops"][0].update(known="perhaps"),
        lambda a: a["paths"]["average"].pop("waits"),
    ):
        broken = json.loads(json.dumps(reports[0]))
        spoil(broken["analyses"][0])
        with pytest.raises(AssertionError):
            valid(broken, schema, schema)


def keys(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_key_is_explained(reports):
    classes = {"VALU", "SALU", "SMEM", "VMEM", "LDS", "branch", "other", "ALU", "fetch", "write", "flow"}
    found = {name for report in reports for name in keys(report)} - classes
    assert len(found) > 100
    for name in sorted(found):
        assert all(text for one in explaining.explain(name) for _, text in one.lines), name
    for report in reports:
        for analysis in report["analyses"]:
            for name in [*analysis["metrics"], *(advice["metric"] for advice in analysis["advice"])]:
                assert explaining.explain(name)[0].kind == "metric", name
                assert metrics()[name].threshold, name
            for advice in analysis["advice"]:
                assert any(letter.isdigit() for letter in advice["because"]), advice


def test_metrics_have_the_glossary_s_units(reports):
    for report in reports:
        for analysis in report["analyses"]:
            for name, metric in analysis["metrics"].items():
                assert metric["unit"] == metrics()[name].unit
