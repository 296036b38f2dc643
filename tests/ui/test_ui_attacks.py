"""What a hostile page, kernel or file may try with the server: all refused, and the server goes on.

A file of a known text lies outside the project's folder; no answer may have that text.
"""

import base64
import io
import json
import os

import numpy as np
import pytest

httpx = pytest.importorskip("httpx")
exceptions = pytest.importorskip("websockets.exceptions")

SECRET = "headwater_secret_8141"
KERNEL = "kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n"


@pytest.fixture(scope="session")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("outside") / "secret.h"
    path.write_text(f"{SECRET}\n")
    return path


# -- who may ask -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},  # DNS rebinding
        {"host": "evil.example:{port}"},
        {"host": "127.0.0.1.evil.example:{port}"},
        {"host": "127.0.0.1"},  # another port's
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/static/page.js"])
def test_pages_are_for_those_who_call_the_server_by_its_name(served, headers, path):
    headers = {name: value.format(port=served.port) for name, value in headers.items()}
    assert httpx.get(served.url + path, headers=headers).status_code in (400, 403)
    assert httpx.get(served.url + "/").status_code == 200


@pytest.mark.parametrize(
    "options",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},  # none: no browser's page
        {"token": "wrong"},
        {"token": "t" * 31},
        {"protocols": ["headwater"]},
        {"protocols": None, "additional_headers": {"sec-fetch-site": "cross-site"}},
        {"protocols": None, "additional_headers": {"origin": "http://evil.example"}},  # a second one
    ],
    ids=str,
)
def test_sockets_are_for_the_page_with_the_token(served, options):
    with pytest.raises(exceptions.InvalidStatus) as refused, served.socket(**options):
        pass
    assert refused.value.response.status_code in (400, 403)


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/../app.py",
        "/static//etc/passwd",
        "/static/app.py",
        "/x",
    ],
)
def test_no_file_but_the_page_s_own_is_served(served, path):
    assert httpx.get(served.url + path).status_code == 404


def test_the_page_forbids_all_that_is_not_its_own(served):
    answer = httpx.get(served.url + "/")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"


# -- what a message may be ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[" * 100_000,
        "[]",
        '{"id": 1, "task": "chips"}',
        '{"id": "1", "task": "chips", "given": {}}',
        '{"id": 1, "task": "warm", "given": {}}',
        '{"id": 1, "task": "chips", "given": []}',
        '{"id": 1, "task": "chips", "given": {}, "slot": []}',
        b"bytes",
    ],
    ids=lambda message: str(message)[:50],
)
def test_what_is_no_request_ends_the_connection(served, message):
    with served.socket() as socket:
        socket.send(message)
        with pytest.raises(exceptions.ConnectionClosed):
            socket.recv(timeout=20)


def test_messages_have_an_end(served):
    from headwater.ui.app import MOST_MESSAGE_BYTES

    def send(socket):
        socket.send("x" * (MOST_MESSAGE_BYTES + 1))
        socket.recv(timeout=30)

    with served.socket() as socket, pytest.raises(exceptions.ConnectionClosed) as closed:
        send(socket)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009


def test_floods_of_requests_end_the_connection(served):
    request = {"task": "table", "given": {"files": {"k.cl": {"text": KERNEL}}, "main": "k.cl", "devices": ["vega64"]}}

    def send(socket):
        for number in range(10_000):
            socket.send(json.dumps({"id": number, **request}))

    with served.socket() as socket, pytest.raises(exceptions.ConnectionClosed):
        send(socket)


# -- files -------------------------------------------------------------------------------------------------------------


def error(served, task="code", files=None, main="k.cl", device="vega64", **given):
    """What a request is refused with; its whole answer does not have the secret."""
    answer = served.ask(
        task, files={"k.cl": {"text": KERNEL}} if files is None else files, main=main, device=device, **given
    )
    assert SECRET not in json.dumps(answer)
    if "error" in answer:
        return answer["error"]["message"]
    diagnostics = answer["value"]["diagnostics"]
    assert any(one["severity"] == "error" for one in diagnostics), answer
    return "\n".join(one["message"] for one in diagnostics)


@pytest.mark.parametrize(
    "name",
    [
        "../k.cl",
        "/tmp/k.cl",
        "a/b.cl",
        "..\\k.cl",
        "C:\\k.cl",
        ".bashrc",
        "k.cl\0.txt",
        "k.pyc",
        "k.so",
        "",
        "a" * 300 + ".cl",
    ],
)
def test_names_of_uploads_lead_nowhere_else(served, name):
    assert (
        "no name of a file" in (said := error(served, files={name: {"text": KERNEL}}, main=name)) or "no kind" in said
    )


@pytest.mark.parametrize("word", ["/etc/passwd", "a=/etc/hostname.csv", "../../x.npy", "a=..\\x.npy", "~/x.npy"])
def test_arguments_name_no_other_files(served, word):
    assert "not of the page" in error(served, "run", device="cpu", words=[word])


def test_arrays_are_no_pickles(served):
    made = io.BytesIO()
    np.save(made, np.array([{"a": 1}], object), allow_pickle=True)
    files = {"k.cl": {"text": KERNEL}, "x.npy": {"base64": base64.b64encode(made.getvalue()).decode()}}
    assert "x.npy" in error(served, "run", files=files, device="cpu", words=["x.npy"])


def test_chips_are_no_files(served, secret):
    assert "no chip" in error(served, device=str(secret.with_suffix(".toml")))


# -- sources -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '#include "{secret}"\n',
        "#include <{secret}>\n",
        '#define W "{secret}"\n#include W\n',
        '#inc\\\nlude "{secret}"\n',
        '#/**/include "{secret}"\n',
        '%:include "{secret}"\n',
        '#include "../../../../../../../../../{secret}"\n',
        'constant char s[] = {{\n#embed "{secret}"\n}};\n',
        '#import "{secret}"\n',
        '#include_next "{secret}"\n',
        '#line 1 "{secret}"\nfoo\n',
        'void f() {{ __asm__(".incbin \\"{secret}\\""); }}\n',
        '__asm__(".include \\"{secret}\\"");\n',
        '#if __has_include("{secret}")\n#error found\n#else\n#error missing\n#endif\n',
        '#define C(a, b) a##b\n#if C(__has_, include)("{secret}")\n#error found\n#else\n#error missing\n#endif\n',
        '#if __has_embed("{secret}")\n#error found\n#else\n#error missing\n#endif\n',
        '#pragma clang diagnostic error "-W#pragma-messages"\n#pragma GCC dependency "{secret}"\nfoo\n',
    ],
)
def test_sources_see_no_files_outside_their_folder(served, secret, text):
    said = error(served, files={"k.cl": {"text": text.format(secret=secret) + KERNEL}})
    assert "found" not in said.replace("not found", "")


@pytest.mark.parametrize("file", ["k.hip", "k.br", "k.il"])
def test_nor_do_those_in_other_languages(served, secret, file):
    text = f'#include "{secret}"\nfoo'
    said = error(served, files={file: {"text": text}}, main=file)
    assert file != "k.hip" or "file not found" in said


PYTHON = """\
import headwater as hw

@hw.kernel
def fill(a: hw.array(hw.float32), number: hw.float32):
    a[hw.global_id(0)] = number
"""


def test_python_is_read_and_not_executed(served, secret):
    for extra in (f"import os\nos.remove({str(secret)!r})", f"N = open({str(secret)!r}).read()"):
        said = error(served, files={"k.py": {"text": f"{PYTHON}\n{extra}\n"}}, main="k.py")
        assert "not imported here" in said or "there is no open" in said
    assert secret.exists()
    given = {"files": {"k.py": {"text": PYTHON}}, "main": "k.py"}
    assert served.ask("code", **given, device="vega64")["value"]["names"] == ["fill"]
    ran = served.ask("run", **given, words=["a=zeros:3", "2.5"], device="vega64", verify=True)
    assert [one["ok"] for one in ran["value"]["differences"]] == [True], ran


@pytest.mark.parametrize("name", ["numpy", "headwater", "json", "sitecustomize", "subprocess"])
def test_files_of_the_project_are_no_modules_of_the_server(served, name):
    files = {"k.cl": {"text": KERNEL}, f"{name}.py": {"text": "raise SystemExit(1)"}}
    ran = served.ask("run", files=files, main="k.cl", words=["a=zeros:64"], device="cpu")
    assert ran["value"]["outputs"], ran


def test_examples_compile_and_run(served):
    """Each has arguments that it can be run with, and sees the headers that its language has."""
    examples = served.ask("examples")["value"]["examples"]
    assert len(examples) == 9
    for one in examples:
        given = {"files": {one["name"]: {"text": one["text"]}}, "main": one["name"], "kernel": one["kernel"] or None}
        code = served.ask("code", **given, device="vega64")
        assert code["value"]["kernels"], (one["name"], code)
        sizes = {name: one[name] for name in ("global", "local", "shape", "lds")}
        run = served.ask("run", **given, **sizes, words=one["words"].split(), device="cpu")
        assert run["value"]["outputs"], (one["name"], run)


def test_options_open_no_other_folders(served, secret):
    files = {"k.cl": {"text": f'#include "{secret.name}"\n{KERNEL}'}}
    assert "not found" in error(served, files=files, options=f"-I {secret.parent}")
    assert "unknown build option" in error(served, options=f"-include {secret}")
    assert "unknown build option" in error(served, options="-Xclang -load -Xclang x.so")


def test_headers_of_the_project_are_seen(served):
    files = {
        "k.cl": {"text": '#include "own.h"\nkernel void k(global T *a) { a[0] = 1; }'},
        "own.h": {"text": "typedef float T;"},
    }
    answer = served.ask("code", files=files, main="k.cl", device="vega64")
    assert [one["kernel"] for one in answer["value"]["kernels"]] == ["k"]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{n + 1} A{n} A{n} A{n} A{n} A{n} A{n} A{n} A{n}\n" for n in range(12))
        + "#define A0 1+\nconstant int x = A12 1;\n",
        '#include "k.cl"\n',
        "kernel void f(global int *a) { fork(); system(a); }\n",
        "int f(" * 20_000 + "\n",
    ],
    ids=["macro bomb", "a file that includes itself", "fork", "deep nesting"],
)
def test_sources_that_have_no_end_are_given_up(hurried, text):
    assert error(hurried, files={"k.cl": {"text": text + KERNEL}})
    assert "value" in hurried.ask("chips")


def test_sources_have_a_size(served):
    assert "bytes" in error(served, files={"k.cl": {"text": KERNEL + " " * (2 << 20)}})


# -- runs --------------------------------------------------------------------------------------------------------------


def run(served, text, **given):
    answer = served.ask("run", files={"k.cl": {"text": text}}, main="k.cl", device="cpu", **given)
    assert "value" in served.ask("chips")
    return answer


def test_arrays_have_a_size(served):
    assert run(served, KERNEL, words=["zeros:10Gi"])["error"]["kind"] == "ResourceError"


def test_launches_have_an_end(hurried):
    text = "kernel void k(global volatile int *a) { while (a[0] == 0) a[1]++; }"
    assert "was stopped" in run(hurried, text, words=["zeros:64"])["error"]["message"]


def test_kernels_stay_in_their_arrays(served):
    text = "kernel void k(global int *a) { for (long i = 0; i < 1l << 40; i += 1000) a[i] = 1; }"
    assert run(served, text, words=["zeros:64"])["error"]["kind"] == "KernelFault"


def test_what_kernels_print_has_an_end_and_is_text(served):
    text = 'kernel void k(global int *a) { for (int i = 0; i < 20000; i++) printf("<script>alert(1)</script>%d\\n", i); a[0] = 1; }'
    printed = run(served, text, words=["zeros:1"], **{"global": "1"})["value"]["printed"]
    assert printed.startswith("<script>")
    assert len(printed) < 300_000
    assert printed.endswith("and more")


# -- the processes that compute ----------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_costs_its_request_alone(served):
    """Every process that serves is killed, and the next requests have answers."""
    import contextlib
    import os
    import signal

    for worker in list(served.pool._all):
        with contextlib.suppress(ProcessLookupError):  # one that is being replaced
            os.kill(worker.process.pid, signal.SIGKILL)
    answers = [served.ask("chips") for _ in range(4)]
    assert "value" in answers[-1]
    assert all("value" in answer or answer["error"]["kind"] == "ResourceError" for answer in answers)


def test_ten_tabs_at_once_lose_no_request(served):
    import contextlib

    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(served.socket()) for _ in range(10)]
        for turn in range(3):
            for number, socket in enumerate(sockets):
                files = {"k.cl": {"text": f"// {number} {turn}\n{KERNEL}"}}
                socket.send(json.dumps({"id": turn, "task": "check", "given": {"files": files, "main": "k.cl"}}))
        answers = [[json.loads(socket.recv(timeout=100)) for _ in range(3)] for socket in sockets]
    assert [sorted(one["id"] for one in tab) for tab in answers] == [[0, 1, 2]] * 10
    assert all(one["value"] == [] for tab in answers for one in tab)


def test_what_a_worker_compiles_reaches_nobody_else(served):
    from headwater.base import cache

    def entries():
        return {path for path, _, _ in store._entries(store._make())}

    name = f"reaches_nobody_{os.getpid()}"
    given = {"files": {"k.cl": {"text": KERNEL.replace(" k(", f" {name}(")}}, "main": "k.cl", "words": ["zeros:64"]}
    store = cache.current()
    before = entries()
    assert served.ask("run", device="vega64", **given)["value"]["kernel"] == name
    made = [file for entry in entries() - before for file in entry.iterdir()]  # by other tests, at the same time
    assert not any(name.encode() in file.read_bytes() for file in made)


def test_workers_may_write_and_read_nothing_else(tmp_path):
    """Of a process confined as workers are."""
    import subprocess
    import sys

    from headwater.ui import confine

    if not confine.version():
        pytest.skip("this system has no Landlock")
    outside, inside, shared = tmp_path / "outside", tmp_path / "inside", tmp_path / "shared"
    outside.write_text("text")
    inside.mkdir()
    shared.mkdir()
    (shared / "entry").write_text("text")
    code = f"""
import os, socket, signal
from headwater.ui import confine
assert confine.confine([{str(inside)!r}], [{str(shared)!r}])
confine.limit()
def refused(action):
    try:
        action()
    except (PermissionError, MemoryError):
        return
    raise SystemExit(f"not refused: {{action}}")
open({str(inside / "x")!r}, "w").write("text")
assert open({str(shared / "entry")!r}).read() == "text"
refused(lambda: open({str(shared / "entry")!r}, "w"))
refused(lambda: open({str(shared / "new")!r}, "w"))
refused(lambda: os.unlink({str(shared / "entry")!r}))
refused(lambda: open({str(outside)!r}))
refused(lambda: open({str(outside)!r}, "w"))
refused(lambda: os.listdir({str(tmp_path)!r}))
refused(lambda: os.unlink({str(outside)!r}))
refused(lambda: open("/etc/passwd"))
refused(lambda: bytearray(10 << 30))
if confine.version() >= 4:
    refused(lambda: socket.create_connection(("127.0.0.1", 1)))
if confine.version() >= 6:
    refused(lambda: os.kill(os.getppid(), signal.SIGTERM))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
