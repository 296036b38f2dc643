"""The pool of worker processes: none that is given up stays behind, whatever it was doing."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import sys
import zlib

import pytest

from headwater.ui import workers
from headwater.ui.workers import Lane, Pool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are told by their signals")


async def until(condition):
    for _ in range(600):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came to be")


def test_an_idle_worker_that_was_killed_leaves_no_folder():
    async def scene():
        pool = Pool({"quick": Lane(1, 60.0, True)})
        await pool.start()
        (worker,) = pool._all
        os.kill(worker.process.pid, signal.SIGKILL)
        await until(lambda: worker.process.returncode is not None)
        assert b"vega64" in await pool.ask("quick", "chips", {})
        await until(lambda: worker not in pool._all)
        assert not os.path.exists(worker.folder)
        await pool.close()

    asyncio.run(scene())


def test_a_request_given_up_while_its_worker_begins_leaves_no_process():
    async def scene():
        pool = Pool({"long": Lane(1, 60.0, False)})
        asked = asyncio.ensure_future(pool.ask("long", "chips", {}))
        await until(lambda: pool._all)
        (worker,) = pool._all
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked
        await until(lambda: not pool._all)
        assert worker.process.returncode is not None
        assert not os.path.exists(worker.folder)
        assert not pool._states["long"].places.locked()
        await pool.close()

    asyncio.run(scene())


def test_a_worker_that_closes_its_pipe_and_stays_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(workers, "_END_SECONDS", 0.2)

    async def scene():
        pool = Pool({"quick": Lane(1, 60.0, True)})
        await pool.start()
        (worker,) = pool._all
        await worker.end()
        code = "import os, time; os.close(1); time.sleep(600)"
        pipe = asyncio.subprocess.PIPE
        worker.process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=pipe, stdout=pipe)
        with pytest.raises(workers.Failure, match="closed its pipe"):
            await asyncio.wait_for(pool.ask("quick", "chips", {}), 30)
        await until(lambda: worker.process.returncode is not None)
        await pool.close()

    asyncio.run(scene())


def test_requests_are_answered_while_the_cache_is_prepared(monkeypatch):
    pytest.importorskip("starlette")
    from headwater.ui.app import application

    began, real = [], Pool._process

    async def process(module, folder, pipe):
        if module != "headwater.ui.prepare":
            return await real(module, folder, pipe)
        began.append(await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)"))
        return began[0]

    monkeypatch.setattr(Pool, "_process", staticmethod(process))

    async def scene():
        pool = Pool({"quick": Lane(1, 60.0, True)}, prepares=True)
        app = application(pool, "t" * 32, ["localhost"])
        async with app.router.lifespan_context(app):
            await until(lambda: began)
            assert b"vega64" in await asyncio.wait_for(pool.ask("quick", "chips", {}), 30)
            assert began[0].returncode is None
        assert began[0].returncode is not None

    asyncio.run(scene())


@pytest.mark.parametrize(
    "words", [["--port", "²"], ["--port", "65536"], ["--host", "0.0.0.0"], ["--host", "::"]], ids=str
)
def test_addresses_that_no_browser_could_open_are_refused(words):
    for needed in ("starlette", "uvicorn", "websockets"):
        pytest.importorskip(needed)
    from headwater.cli.ui import main
    from headwater.errors import UsageError

    with pytest.raises(UsageError, match=words[0]):
        main([*words, "--no-browser"])


def test_a_python_file_is_opened_without_being_executed(tmp_path):
    for needed in ("starlette", "uvicorn", "websockets"):
        pytest.importorskip(needed)
    from headwater.cli import ui
    from headwater.errors import UsageError

    path = tmp_path / "kernels.py"
    path.write_text("raise SystemExit(1)\n", encoding="utf-8")
    packed = ui._state(str(path)).removeprefix("&s=")
    data = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), wbits=-15)
    assert json.loads(data) == {"files": {"kernels.py": path.read_text()}, "main": "kernels.py"}
    with pytest.raises(UsageError, match=r"cannot read .*missing\.py"):
        ui._state(str(tmp_path / "missing.py"))
