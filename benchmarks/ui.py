"""What the page costs: keystroke to machine code, the table of all chips, first paint, the first code, the bundle, ten
tabs at once, a long timeline's frames.

    python benchmarks/ui.py                   medians, one line each
    python benchmarks/ui.py --tabs 4 --json   as JSON

Needs the extra ui; what is of a browser also needs Playwright and chromium, and is left out without them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import headwater
from headwater import chips

KERNEL = """\
kernel void blend(global float *out, global const float *a, global const float *b, int n) {{
    int i = get_global_id(0);
    float sum = {number}.0f;
    for (int k = 0; k < n; ++k)
        sum += a[i + k] * b[k];
    out[i] = sum;
}}
"""
STATIC = Path(headwater.__file__).parent / "ui" / "static"


@contextlib.contextmanager
def served():
    """The command's server; its address and token."""
    command = [sys.executable, "-m", "headwater", "ui", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = re.search(r"http://([^/]+)/#token=(\S+)", process.stdout.readline())
            yield found[1], found[2]
        finally:
            process.terminate()


class Tab:
    """A connection that asks as the page does."""

    def __init__(self, socket):
        self.socket = socket
        self.number = 0

    async def ask(self, task, **given):
        """The answer, and the seconds that it took."""
        self.number += 1
        begin = time.perf_counter()
        await self.socket.send(json.dumps({"id": self.number, "task": task, "given": given}))
        while True:
            answer = json.loads(await self.socket.recv())
            if answer["id"] == self.number:
                return answer, time.perf_counter() - begin


def connected(host, token):
    """A web socket of the server."""
    from websockets.asyncio.client import connect

    return connect(f"ws://{host}/ws", origin=f"http://{host}", subprotocols=["headwater", token], max_size=None)


async def typing(tab, keystrokes, start):
    """Seconds from each change of the source to its machine code."""
    found = []
    for number in range(keystrokes):
        files = {"k.cl": {"text": KERNEL.format(number=start + number)}}
        answer, seconds = await tab.ask("code", files=files, main="k.cl", device="vega64")
        assert answer["value"]["kernels"], answer
        found.append(seconds)
    return found


async def table(host, token, number):
    """Seconds until the rows of all chips are there, asked for as the page does: in parts, at once."""
    targets = {}
    for name in chips.names():
        targets.setdefault(chips.find(name).target, []).append(name)
    parts = []
    for same in targets.values():
        if parts and len(parts[-1]) < 4:
            parts[-1] += same
        else:
            parts.append(list(same))
    files = {"k.cl": {"text": KERNEL.format(number=number)}}

    async def part(devices):
        async with connected(host, token) as socket:
            answer, _ = await Tab(socket).ask("table", files=files, main="k.cl", devices=devices, kernel="blend")
        return len(answer["value"]["rows"])

    begin = time.perf_counter()
    rows = await asyncio.gather(*(part(devices) for devices in parts))
    assert sum(rows) == len(chips.names())
    return time.perf_counter() - begin


async def measured(host, token, tabs):
    """All that needs no browser."""
    found = {}
    base = int(time.time()) % 100_000 * 1000
    async with connected(host, token) as socket:
        tab = Tab(socket)
        await typing(tab, 3, base)
        found["keystroke to machine code, s"] = statistics.median(await typing(tab, 15, base + 10))
    await table(host, token, base + 100)
    found["all chips, s"] = statistics.median([await table(host, token, base + 101 + n) for n in range(3)])
    async with contextlib.AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(connected(host, token)) for _ in range(tabs)]
        typed = await asyncio.gather(*(typing(Tab(s), 6, base + 200 + 10 * n) for n, s in enumerate(sockets)))
    found[f"{tabs} tabs typing at once, median s"] = statistics.median(s for one in typed for s in one)
    found[f"{tabs} tabs typing at once, longest s"] = max(s for one in typed for s in one)
    found[f"{tabs} tabs: requests answered"] = sum(map(len, typed)) / (6 * tabs)
    return found


FRAMES = """
(count) => {
    const words = new Uint32Array(5 * count);
    for (let n = 0, time = 0; n < count; n++) {
        const slot = n % 20;
        if (!slot) time += 20;
        words.set([time, 15, slot, 1 + (n * 7) % 6, n % 50], 5 * n);
    }
    let text = "";
    const bytes = new Uint8Array(words.buffer);
    for (let n = 0; n < bytes.length; n += 0x8000) text += String.fromCharCode(...bytes.subarray(n, n + 0x8000));
    window.headwater.timeline.show({
        records: btoa(text), count, texts: [], clauses: [], clock: 1000, cycles: count, unit: "compute unit",
        waits: ["issue", "dependency", "fetch", "scalar memory", "LDS", "vector memory", "barrier", "start"],
        wavefronts_per_group: 4, units: [0, 1], of_units: 1, cut: false, launch: 0,
        kernels: ["k"], launches: [0], board: [],
    });
}
"""


MOVES = """
(zooms) => new Promise((done) => {
    const timeline = window.headwater.timeline;
    timeline.frames.length = 0;
    timeline.whole();
    if (!zooms) timeline.zoom(0.05, 1000);
    const times = [];
    let n = 0;
    const go = (time) => {
        times.push(time);
        if (zooms) timeline.zoom(n % 40 < 20 ? 0.8 : 1.25, 1000);
        timeline.pan(n % 100 < 50 ? 12 : -12);
        if (++n < 300) requestAnimationFrame(go);
        else done({work: timeline.frames.slice(), between: times.slice(1).map((time, at) => time - times[at])});
    };
    requestAnimationFrame(go);
})
"""
"""Pan by 12 pixels a frame, or pan and zoom."""


def in_browser(host, token):
    """What is of a browser; nothing without one."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    if program is None:
        return {}
    found = {}
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        paints, codes = [], []
        for _ in range(5):
            page = browser.new_context().new_page()
            page.goto(f"http://{host}/#token={token}")
            page.wait_for_selector("body[data-answered]")
            codes.append(page.evaluate("performance.now()"))
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        found["first paint, s"] = statistics.median(paints) / 1000
        found["the first machine code, s"] = statistics.median(codes) / 1000
        page.click("#tab-simulate")
        page.wait_for_timeout(500)
        page.evaluate(FRAMES, 875_000)  # 24 bytes each in the engine: 21 MB; the server sends 400,000 at most
        page.wait_for_timeout(500)
        for what, zooms in (("panned", False), ("zoomed", True)):
            moved = page.evaluate(MOVES, zooms)
            work, between = sorted(moved["work"]), moved["between"]
            found[f"875,000 events {what}: work of a frame, median ms"] = statistics.median(work)
            found[f"875,000 events {what}: 95 % within ms"] = work[int(0.95 * len(work))]
            found[f"875,000 events {what}: frames a second"] = 1000 * len(between) / sum(between)
        browser.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tabs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {"bundle, MB": sum(path.stat().st_size for path in STATIC.iterdir()) / 1e6}
    with served() as (host, token):
        found |= asyncio.run(measured(host, token, args.tabs))
        found |= in_browser(host, token)
    if args.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:45} {value:.3g}")


if __name__ == "__main__":
    main()
