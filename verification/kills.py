"""Starts a program's hosts, and kills them or their servers at random moments. Input: the program's options. Output:
how many faults were found.

A host prints ``ready`` once it works, and says on standard error what keeps it from working. It works with many threads
until its standard input is closed; when it has read a line, it prints ``works`` after the next right answer. In the end
it prints how many answers were right, wrong and failed, and the most frequent errors.
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
from collections.abc import Callable, Mapping
from pathlib import Path

SERVERS = 6
"""Servers that a host loses: it starts at most eight."""
PATIENCE_S = 120.0
"""A host that has not ended so long after it was asked to, or a server after its host, hangs."""
MARK = "HEADWATER_CHAOS"


class Tally:
    """A host's counts. ``errors``: how often there was which."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.right = self.wrong = 0
        self.errors: Counter[str] = Counter()

    def answer(self, good: bool) -> None:
        """Note an answer."""
        with self.lock:
            self.right += good
            self.wrong += not good

    def error(self, text: str) -> None:
        """Note what failed."""
        with self.lock:
            self.errors[text.partition("\n")[0]] += 1

    def wait(self) -> None:
        """Until the host is asked to end."""
        if sys.stdin.readline():
            before = self.right
            while self.right == before:
                time.sleep(0.02)
            print("works", flush=True)
        sys.stdin.read()
        self.stop.set()

    def report(self) -> int:
        """Print the counts; 1 if an answer was wrong."""
        print(f"{self.right} {self.wrong} {self.errors.total()}")
        print(*(f"{count} times {text}" for text, count in self.errors.most_common(3)), sep="; ", flush=True)
        return int(self.wrong > 0)


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
    return [
        number
        for number, line in processes(mark).items()
        if any(name in line for name in ("headwater.icd.server", "headwater.cal.abi.server"))
    ]


def wait_for(what: str, done: Callable[[], object]) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if done():
            return True
        time.sleep(0.02)
    print(f"HANGS: {what}")
    return False


def trial(kill_server: bool, draw: random.Random, command: list[str], changes: Mapping[str, str]) -> tuple[int, int]:
    """One host; how many moments it had, and how many faults were found."""
    mark = f"{MARK}={os.getpid()}.{draw.random()}"
    moments = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, **changes, "TMPDIR": folder, MARK: mark.partition("=")[2]}
        words = [*command, "--host", str(draw.randrange(1 << 30))]
        with tempfile.TemporaryFile("w+") as messages:
            run = subprocess.Popen(
                words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True
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


def main(
    name: str,
    about: str,
    devices: str,
    environment: Callable[[str], Mapping[str, str]],
    host: Callable[[int, int, int], int],
) -> int:
    """A program of this kind; 1 if anything was wrong. ``environment``: what a host needs for devices; ``host``: works
    with so many threads and contexts, from a seed."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", default=devices)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--host", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host is not None:
        return host(options.threads, options.contexts, options.host)
    command = [sys.executable, "-m", name, "--threads", str(options.threads), "--contexts", str(options.contexts)]
    changes = environment(options.devices)
    draw, moments, faults, hosts = random.Random(options.seed), 0, 0, 0
    while moments < options.moments:
        done, found = trial(hosts % 2 == 0, draw, command, changes)
        moments, faults, hosts = moments + done, faults + found, hosts + 1
    print(f"{moments} moments, {hosts} hosts, {faults} faults")
    return int(faults > 0)
