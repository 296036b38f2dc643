"""Which loops wait for other work-groups, and are not simulated; which others look like them, and are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import UsageError

# The one work-item that runs does not have to wait.
WAITING = {
    "spin": "if (get_global_id(0) != 0) while (flag[0] == 0) ;\n flag[0] = 1; y[get_global_id(0)] = 1;",
    "counting": "int k = 0;\n while (flag[0] == 0 && k < 100) k++;\n y[0] = k;",
    "below": "int n = 0;\n while (flag[0] < y[1]) n += 2;\n y[get_global_id(0)] = n;",
}
LOCKS = {
    "lock": "while (atomic_xchg((global int *)flag, 1)) ;\n y[0] += 1; flag[0] = 0;",
    "swap": "while (atomic_cmpxchg((global int *)flag, 0, 1) != 0) ;\n y[0] += 1; flag[0] = 0;",
    "tries": "int k = 0; while (atomic_xchg((global int *)flag, 1) && k < 9) k++;\n y[0] += k;",
    "idle": "while (atomic_or((global int *)flag, 0) != 0) ;\n y[0] += 1;",
}
OTHERS = {
    "chase": "int at = get_global_id(0);\n while (y[at] != at) at = y[at];\n flag[1] = at;",
    "bound": "int s = 0; for (int k = 0; k < ((global int *)flag)[1]; k++) s += y[k];\n y[get_global_id(0)] = s;",
    "some": "int k; for (k = 0; k < y[9]; k++) if (k > 3 && ((global int *)flag)[1] > 0) break;\n y[0] = k;",
    "written": "int k = 0; while ((((global int *)flag)[1] == 0) & (k < 50)) y[k++ & 7] = k;",
    "once": "if (flag[0] == 0) flag[0] = 1;\n for (int k = 0; k < 4; k++) y[k] += 1;",
}
UPDATES = {
    "update": "int old = flag[0], seen;\n"
    "while ((seen = atomic_cmpxchg((global int *)flag, old, old + 3)) != old) old = seen;\n y[0] = old;",
    "work": "int k;\n while ((k = atomic_inc((global int *)flag)) < 4) y[k] += 1;",
}
DEVICES = ("vega64", "hd7970", "hd3870", "hd4870", "hd5870", "hd6970")
ATOMIC = tuple(device for device in DEVICES if device not in ("hd3870", "hd4870"))


def simulated(body: str, device: str) -> Any:
    source = f"kernel void waits(global volatile int *flag, global int *y) {{\n{body}\n}}"
    program = hw.compile(source, language="opencl", device=device)
    return program.waits[(1,), (1,)].simulate(np.zeros(2, np.int32), np.zeros(64, np.int32), device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WAITING)
def test_waiting_for_another_group_is_refused_with_the_line(name: str, device: str) -> None:
    line = WAITING[name][: WAITING[name].index("while")].count("\n") + 2
    with pytest.raises(UsageError, match=rf"waits waits in line {line} of .* other work-groups"):
        simulated(WAITING[name], device)


@pytest.mark.parametrize("device", ATOMIC)
@pytest.mark.parametrize("name", LOCKS)
def test_locks_are_refused(name: str, device: str) -> None:
    with pytest.raises(UsageError, match=r"waits waits in line 2 of .* other work-groups"):
        simulated(LOCKS[name], device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", OTHERS)
def test_loops_that_end_by_themselves_are_not(name: str, device: str) -> None:
    assert simulated(OTHERS[name], device).cycles > 0


@pytest.mark.parametrize("device", ATOMIC)
@pytest.mark.parametrize("name", UPDATES)
def test_updates_and_work_queues_are_not(name: str, device: str) -> None:
    assert simulated(UPDATES[name], device).cycles > 0
