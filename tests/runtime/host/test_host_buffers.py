"""Buffers of devices whose memory is this machine's: each device takes its own."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import UsageError


@pytest.mark.parametrize("name", ["cpu", "vega64", "hd5870"])
def test_buffers_of_other_devices_are_refused(name):
    device, other = hw.device(name), hw.device("hd4870")
    own, foreign = device.allocate(16), other.allocate(16)
    data = np.arange(4, dtype=np.int32)
    for access in (
        lambda: device.copy(foreign, own),
        lambda: device.copy(own, foreign),
        lambda: device.copy_part(foreign, own, (4,), (slice(0, 2),), 4),
        lambda: device.write(foreign, data),
        lambda: device.download(foreign, data),
        lambda: device.fill(foreign, b"\0"),
        lambda: device.part(foreign, 0, 8),
    ):
        with pytest.raises(UsageError, match=f"this buffer is on hd4870, not on {name}"):
            access()


def test_parts_and_copies_of_odd_sizes():
    device = hw.device("cpu")
    empty, full = device.allocate(0), device.upload(np.arange(8, dtype=np.uint8))
    device.copy(empty, full)
    device.fill(empty, b"\0")
    with pytest.raises(UsageError, match="9 bytes at 0 are not inside a buffer of 8 bytes"):
        device.download(full, np.zeros(9, np.uint8))
    with pytest.raises(UsageError, match="a buffer cannot have -1 bytes"):
        device.allocate(-1)
