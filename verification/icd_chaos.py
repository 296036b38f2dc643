"""Kill OpenCL hosts and their servers at random moments, and look for hangs, wrong answers and whatever is left.

    python verification/icd_chaos.py --moments 200 --seed 1

A host has 16 threads and 100 contexts on the cpu and a simulated chip. Half of the hosts lose their server, again and
again; the others are killed themselves. An answer that comes without an error has to be right; a host has to go on
working with the next server; and of a host that is gone no process and no file may be left. Before anything is killed a
host has to compute rightly on each device: what keeps it from doing so is printed instead of a result.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SERVERS = 6
"""Servers that a host loses: it starts at most eight."""
PATIENCE_S = 120.0
"""A host that has not ended so long after it was asked to, or a server after its host, hangs."""
MARK = "HEADWATER_CHAOS"
SOURCE = "kernel void f(global int *x, int a) { int i = get_global_id(0); x[i] = x[i] * 3 + a; }"


def host(threads: int, contexts: int, seed: int) -> int:
    """Work until standard input is closed; the number of wrong answers. Once it has read a line, says when another
    answer was right; in the end prints how many were, and which errors there were, the most frequent ones first."""
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
    counts = {"right": 0, "wrong": 0, "failed": 0}
    errors: Counter[str] = Counter()
    lock, stop = threading.Lock(), threading.Event()
    print("ready", flush=True)

    def program_of(number: int) -> cl.Program:
        with lock:
            known = programs[number]
        if known is None:
            known = cl.Program(made[number], SOURCE).build()
            with lock:
                programs[number] = known
        return known

    def work(number: int) -> None:
        draw = random.Random(seed * 1000 + number)
        while not stop.is_set():
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
                with lock:
                    counts["right" if good else "wrong"] += 1
            except cl.Error as error:
                with lock:
                    errors[str(error).splitlines()[0]] += 1
                    counts["failed"] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    if sys.stdin.readline():
        right = counts["right"]
        while counts["right"] == right:
            time.sleep(0.02)
        print("works", flush=True)
    sys.stdin.read()
    stop.set()
    for worker in workers:
        worker.join()
    print(f"{counts['right']} {counts['wrong']} {counts['failed']}")
    print(*(f"{count} times {text}" for text, count in errors.most_common(3)), sep="; ", flush=True)
    return counts["wrong"]


def processes(mark: str) -> dict[int, str]:
    """The processes whose environment has the mark, and their command lines; zombies have neither."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def servers(mark: str) -> list[int]:
    """Those that serve."""
    return [number for number, line in processes(mark).items() if "headwater.icd.server" in line]


def wait_for(what: str, done: Callable[[], object]) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if done():
            return True
        time.sleep(0.02)
    print(f"HANGS: {what}")
    return False


def trial(kill_server: bool, draw: random.Random, devices: str) -> tuple[int, int]:
    """One host; how many moments it had, and how many faults were found."""
    from headwater.icd import install

    mark = f"{MARK}={os.getpid()}.{draw.random()}"
    moments = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, **install.environment(), "HEADWATER_ICD_DEVICES": devices, "TMPDIR": folder}
        environ |= {"PYOPENCL_NO_CACHE": "1", MARK: mark.partition("=")[2]}
        command = [sys.executable, __file__, "--host", str(draw.randrange(1 << 30))]
        with tempfile.TemporaryFile("w+") as messages:
            run = subprocess.Popen(
                command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True
            )
            assert run.stdin is not None
            assert run.stdout is not None
            if run.stdout.readline() != "ready\n":
                run.communicate()
                messages.seek(0)
                raise SystemExit(f"a host cannot work here:\n{messages.read()[-4000:].strip()}")
        if kill_server:
            for _ in range(SERVERS):
                if not wait_for("a server", lambda: servers(mark)):
                    faults += 1
                    break
                time.sleep(draw.random() * 4)
                for server in servers(mark):
                    os.kill(server, signal.SIGKILL)
                moments += 1
            run.stdin.write("the last one\n")
            run.stdin.flush()
            answers = run.stdout
            works = wait_for("a host with its last server", lambda: select.select([answers], [], [], 0)[0])
            if works:
                works = run.stdout.readline() == "works\n"
            else:
                run.kill()
            faults += not works
        else:
            time.sleep(draw.random() * 3)
            run.kill()
            moments += 1
        try:
            said, _ = run.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            print("HANGS: a host")
            run.kill()
            said, faults = "", faults + 1
        if kill_server:
            numbers, _, errors = said.partition("\n")
            right, wrong, failed = map(int, numbers.split() or (0, 0, 0))
            print(f"servers killed: {right} right, {wrong} wrong, {failed} failed ({errors.strip()})", flush=True)
            faults += wrong + (run.returncode != 0)
        if not wait_for("a server without its host", lambda: not servers(mark)):
            faults += 1
        left = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))
        if left:
            print(f"LEFT: {' '.join(left)}")
            faults += 1
    return moments, faults


def main() -> int:
    """Returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", default="cpu,vega64")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--host", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host is not None:
        return min(host(options.threads, options.contexts, options.host), 1)
    draw, moments, faults, hosts = random.Random(options.seed), 0, 0, 0
    while moments < options.moments:
        done, found = trial(hosts % 2 == 0, draw, options.devices)
        moments, faults, hosts = moments + done, faults + found, hosts + 1
    print(f"{moments} moments, {hosts} hosts, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
