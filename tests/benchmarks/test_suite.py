"""Every benchmark kernel gives NumPy's answer on the default device, on small data."""

import numpy as np
import pytest
from suite import CASES
from suite.case import Local

import headwater as hw


@pytest.mark.parametrize("name", CASES)
def test_kernel_agrees_with_numpy(name):
    case = CASES[name]
    data, reference = case.make(True), case.make(True)
    next(iter(case.numpy().values()))(reference)
    program = hw.compile(case.source, options=case.options)
    for launch in case.launches(data):
        args = [
            data[a] if isinstance(a, str) else hw.Local(a.nbytes) if isinstance(a, Local) else a for a in launch.args
        ]
        getattr(program, launch.kernel)[launch.global_size, launch.local_size](*args).wait()
    for output in case.outputs:
        assert case.matches(data[output], reference[output]), output


def test_comparison_rejects_wrong_results():
    for case in CASES.values():
        reference = case.make(True)
        next(iter(case.numpy().values()))(reference)
        output = reference[case.outputs[0]]
        assert case.matches(output, output)
        assert not case.matches(np.roll(output, 1) * 2 + 1, output), case.name
