"""``headwater run --check`` on a simulated chip."""

RACE = """\
kernel void shift(global int *out) {
  local int tile[64];
  int i = get_local_id(0);
  tile[i] = i;
  out[get_global_id(0)] = tile[(i + 1) & 63];
}
"""


def test_a_race_is_told_with_both_lines(headwater, folder):
    (folder / "race.cl").write_text(RACE)
    done = headwater(*"run race.cl zeros:64 --local 64 --device vega64 --check".split())
    assert done.code == 2
    assert "race.cl:5:" in done.err
    assert "data race: work-item (0) of shift reads 4 bytes at byte 4 of local memory" in done.err
    assert "race.cl:4: tile[i] = i;" in done.err


def test_a_right_kernel_runs(headwater, folder):
    done = headwater(*"run vadd.cl a.npy b.npy -o c.npy --device vega64 --check".split())
    assert (done.code, done.err) == (0, "")
    assert (folder / "c.npy").exists()


def test_needs_a_device_that_can(headwater, folder):
    done = headwater(*"run vadd.cl a.npy b.npy --device opencl --check".split())
    assert done.code == 2
    assert "--check works on the cpu and on simulated chips" in done.err or "no device" in done.err
