"""Nothing passes in; a table (or JSON) of what kernels can run on passes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec

from headwater.cli.options import Parser

_DESCRIPTION = "List the devices of this machine: what --device, HEADWATER_DEVICE and headwater.device() take."
_EXAMPLES = """\
examples:
  headwater devices
  headwater run saxpy.cl … --device gpu             the first GPU
  headwater run saxpy.cl … --device opencl:0:1      second device of the first OpenCL platform
  HEADWATER_DEVICE=NVIDIA headwater run …           by part of its name, for everything
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("devices", "[--json]", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse(words)

    from headwater.runtime.devices import devices as all_devices, resolve

    devices = all_devices()
    chosen = resolve(None)
    if args.json:
        rows = [
            {
                "name": device.name,
                "kind": device.kind,
                "description": device.description,
                "compute_units": device.compute_units,
                "memory_bytes": device.memory_bytes,
                "max_group_size": device.max_group_size,
                "default": device is chosen,
            }
            for device in devices
        ]
        print(json.dumps(rows))
        return 0

    from headwater.cli.terminal import print_table

    print_table(
        ["", "name", "device", "units", "memory", "largest group"],
        [
            [
                "*" if device is chosen else "",
                device.name,
                device.description,
                str(device.compute_units),
                f"{device.memory_bytes / 2**30:.1f} GiB",
                str(device.max_group_size),
            ]
            for device in devices
        ],
        numbers=(3, 4, 5),
    )
    print("* runs what names no device")
    if find_spec("pyopencl") is None:
        print('Install PyOpenCL to run on GPUs too: pip install "headwater[opencl]"')
    return 0
