"""Kill OpenCL hosts and their servers at random moments, and look for hangs, wrong answers and whatever is left.

    python -m verification.icd_chaos --moments 200 --seed 1

A host has 16 threads and 100 contexts on the cpu and a simulated chip. Half of the hosts lose their server, again and
again; the others are killed themselves. An answer that comes without an error has to be right; a host has to go on
working with the next server; and of a host that is gone no process and no file may be left. Before anything is killed a
host has to compute rightly on each device: what keeps it from doing so is printed instead of a result.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Mapping

from verification import kills

SOURCE = "kernel void f(global int *x, int a) { int i = get_global_id(0); x[i] = x[i] * 3 + a; }"


def host(threads: int, contexts: int, seed: int) -> int:
    """Work until standard input is closed; 1 if there was a wrong answer."""
    import numpy as np
    import pyopencl as cl

    platforms = {p.name: p for p in cl.get_platforms()}
    if "Headwater" not in platforms:
        found = ", ".join(platforms) or "no platform"
        raise SystemExit(
            f"the OpenCL loader finds {found}; it does not read OCL_ICD_VENDORS, or cannot load the library"
        )
    devices = platforms["Headwater"].get_devices()
    for device in devices:
        context = cl.Context([device])
        x = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(64, dtype=np.int32))
        queue, out = cl.CommandQueue(context), np.empty(64, np.int32)
        cl.Program(context, SOURCE).build().f(queue, (64,), None, x, np.int32(5))
        cl.enqueue_copy(queue, out, x)
        if not (out == np.arange(64) * 3 + 5).all():
            raise SystemExit(f"{device.name} computes wrong before anything is killed")
    made = [cl.Context([devices[i % len(devices)]]) for i in range(contexts)]
    programs: list[cl.Program | None] = [None] * contexts
    tally = kills.Tally()
    print("ready", flush=True)

    def program_of(number: int) -> cl.Program:
        with tally.lock:
            known = programs[number]
        if known is None:
            known = cl.Program(made[number], SOURCE).build()
            with tally.lock:
                programs[number] = known
        return known

    def work(number: int) -> None:
        draw = random.Random(seed * 1000 + number)
        while not tally.stop.is_set():
            chosen = draw.randrange(contexts)
            a, size = draw.randrange(1000), draw.choice((1, 64, 1000, 70000))
            try:
                context = made[chosen]
                queue = cl.CommandQueue(context)
                start = np.arange(size, dtype=np.int32)
                x = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=start)
                kernel = cl.Kernel(program_of(chosen), "f")
                events = [kernel(queue, (size,), None, x, np.int32(a)) for _ in range(3)]
                out = np.empty_like(start)
                events.append(cl.enqueue_copy(queue, out, x, is_blocking=False))
                queue.finish()
                if any(e.command_execution_status != cl.command_execution_status.COMPLETE for e in events):
                    print("a command failed, and clFinish did not say so", file=sys.stderr)
                    out[0] = -1
                good = bool((out == ((start * 3 + a) * 3 + a) * 3 + a).all())
                tally.answer(good)
            except cl.Error as error:
                tally.error(str(error))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    tally.wait()
    for worker in workers:
        worker.join()
    return tally.report()


def environment(devices: str) -> Mapping[str, str]:
    from headwater.icd import install

    return {**install.environment(), "HEADWATER_ICD_DEVICES": devices, "PYOPENCL_NO_CACHE": "1"}


if __name__ == "__main__":
    sys.exit(kills.main("verification.icd_chaos", (__doc__ or "").splitlines()[0], "cpu,vega64", environment, host))
