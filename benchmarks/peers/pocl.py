"""PoCL's side: the same OpenCL C through PyOpenCL, on arrays in place, with the least host code possible."""

from __future__ import annotations

import re
from collections.abc import Mapping

from suite.case import Case, Data, Local

from .peer import Missing, Run

PLATFORM = "Portable Computing Language"


class Pocl:
    name = "PoCL"

    def __init__(self) -> None:
        try:
            import pyopencl as cl
        except ImportError as error:
            raise Missing(f"PyOpenCL is not installed: {error}") from error
        try:
            platforms = [p for p in cl.get_platforms() if p.name == PLATFORM]
        except cl.LogicError as error:
            raise Missing(f"no OpenCL platform: {error}") from error
        if not platforms:
            raise Missing("no PoCL platform (Debian: pocl-opencl-icd; pip: pocl-binary-distribution)")
        # Where several are installed the newest counts: it is the one a user should be compared with.
        self.platform = max(platforms, key=lambda p: [int(n) for n in re.findall(r"PoCL (\d+)\.(\d+)", p.version)[0]])
        self.device = self.platform.get_devices(cl.device_type.CPU)[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)

    def describe(self) -> str:
        import pyopencl as cl

        return f"{self.platform.version}, device {self.device.name}, PyOpenCL {cl.VERSION_TEXT}"

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        import pyopencl as cl

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        buffers = {name: cl.Buffer(self.context, flags, hostbuf=array) for name, array in data.items()}
        program = cl.Program(self.context, case.source.read_text()).build(case.options.split())
        calls = []
        for launch in case.launches(data):
            kernel = cl.Kernel(program, launch.kernel)
            for index, arg in enumerate(launch.args):
                if isinstance(arg, str):
                    kernel.set_arg(index, buffers[arg])
                else:
                    kernel.set_arg(index, cl.LocalMemory(arg.nbytes) if isinstance(arg, Local) else arg)
            calls.append((kernel, launch.global_size, launch.local_size, buffers))  # a kernel does not keep them alive

        def run() -> None:
            for kernel, global_size, local_size, _ in calls:
                cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)
            self.queue.finish()

        return {"PoCL": run}


PEER = Pocl
