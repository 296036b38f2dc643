"""The page in a browser: each view, from the keyboard, on a telephone, dark and light; a kernel from edit to result."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import headwater

STATIC = Path(headwater.__file__).parent / "ui" / "static"
FRONT = Path(__file__).resolve().parents[2] / "ui"
MOST_BYTES = 1_500_000

SAXPY = """\
kernel void saxpy(global float *y, global const float *x, float a) {
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
"""


def test_the_bundle_is_made_of_the_sources():
    """Its first line has a digest of them: `npm run build` in ui/ makes it anew."""
    if not FRONT.is_dir():
        pytest.skip("the front end's sources are not here")
    names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", "index.html"]
    names += [f"src/{path.name}" for path in (FRONT / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode() + (FRONT / name).read_bytes() + b"\0")
    for made in ("page.js", "page.css"):
        assert (STATIC / made).read_text(encoding="utf-8").startswith(f"/* sources {digest.hexdigest()} */")
    assert (STATIC / "index.html").read_bytes() == (FRONT / "index.html").read_bytes()


def test_the_bundle_is_small_and_whole():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < MOST_BYTES
    page = (STATIC / "index.html").read_text()
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page)) == {
        f"/static/{n}" for n in ("icon.svg", "page.css", "page.js")
    }
    assert "://" not in page
    assert not re.search(r"\beval\(|new Function\(", (STATIC / "page.js").read_text(encoding="utf-8"))


def test_packages_are_pinned_and_name_no_registry():
    lock = json.loads((FRONT / "package-lock.json").read_text()) if FRONT.is_dir() else {"packages": {}}
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    import shutil

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as running:
        made = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


class Tab:
    """The page in a tab of its own; what it complained of."""

    def __init__(self, browser, served, width=1360, height=860, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.complaints = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"{served.url}/#token={served.token}")
        self.page.wait_for_selector("body[data-answered]")

    def write(self, text):
        """Put a text in place of the source, from the keyboard, and wait for what the server says."""
        before = self.page.get_attribute("body", "data-answered")
        self.page.click(".source .cm-content")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        self.page.wait_for_selector(f"body:not([data-answered='{before}'])")

    def compiled(self, kernel):
        """Wait for the machine code of a kernel of that name."""
        self.page.wait_for_selector(f"#kernel option:has-text('{kernel}')", state="attached")

    def code(self):
        return self.page.inner_text(".code .cm-content")


@pytest.fixture
def tab(browser, served):
    made = []

    def open_tab(**options):
        made.append(Tab(browser, served, **options))
        return made[-1]

    yield open_tab
    for one in made:
        print(one.page.inner_text("body"))  # shown if the test fails
        one.context.close()
        # Playwright's own scripts are what trusted types refuse, and styles come with the text that it inserts.
        own = ("TrustedScript", "Applying inline style")
        assert [said for said in one.complaints if not any(word in said for word in own)] == []


def test_a_kernel_from_edit_to_result(tab):
    """Machine code as one types, an error at its place, the run's values, and a reload that keeps the work."""
    opened = tab()
    page = opened.page
    opened.write(SAXPY.replace("a * x", "b * x"))
    page.wait_for_selector(".complaint.error")
    assert "undeclared identifier 'b'" in page.inner_text(".complaints")
    assert page.locator(".source .cm-lintRange-error").inner_text() == "b"
    opened.write(SAXPY)
    opened.compiled("saxpy")
    assert page.locator(".complaint").count() == 0
    assert "v_fma_f32" in opened.code()

    page.hover(".source .cm-line:has-text('a * x[i]')")
    lit = page.locator(".code .cm-line.lit").all_inner_texts()
    assert any("v_fma_f32" in line for line in lit)
    page.hover(".code .cm-line:has-text('v_fma_f32') >> text=v_fma_f32")
    page.wait_for_selector(".told:has-text('instruction of GCN')")

    page.click("#tab-run")
    page.fill("#run-words", "y=ones:64 x=arange:64 a=2")
    page.select_option("#run-device", "hd5870")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".verdict.good")
    assert "127" in page.inner_text(".result header")
    page.click(".result button:has-text('table')")
    assert page.locator(".values td.n").all_inner_texts() == [str(2 * n + 1) for n in range(64)]

    page.wait_for_timeout(500)
    page.reload()
    page.wait_for_selector(".code .cm-line:has-text('v_fma_f32')")
    assert page.input_value("#run-words") == "y=ones:64 x=arange:64 a=2"
    assert "token" not in page.url


def test_what_is_saved_is_the_source_the_listing_and_the_analysis(tab):
    opened = tab()
    page = opened.page
    opened.write(SAXPY)
    opened.compiled("saxpy")
    page.wait_for_selector(".code .cm-line:has-text('v_fma_f32')")

    def saved(what):
        with page.expect_download() as told:
            page.select_option("select[aria-label=Save]", label=what)
        return told.value.suggested_filename, Path(told.value.path()).read_text(encoding="utf-8")

    assert saved("Source")[1] == SAXPY
    name, listing = saved("Machine code")
    assert name.endswith(".txt")
    assert "v_fma_f32" in listing
    name, text = saved("Analysis as JSON")
    assert name.endswith(".json")
    assert '"saxpy"' in text
    assert isinstance(json.loads(text), (dict, list))
    name, text = saved("Report as one HTML file")
    assert name.endswith(".html")
    assert "saxpy" in text
    assert "<html" in text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


def test_every_chip_is_in_the_table_and_chooses_the_code(tab):
    from headwater import chips

    opened = tab()
    page = opened.page
    opened.write(SAXPY)
    opened.compiled("saxpy")
    page.wait_for_selector("#row-mi300x .dot")
    assert page.locator(".chips tbody tr").count() == len(chips.names())
    page.click("#row-hd4870 button")
    page.wait_for_selector(".code .cm-line:has-text('MULADD')")
    page.click("thead button:has-text('Time')")
    assert page.get_attribute("th:has(button:has-text('Time'))", "aria-sort") == "ascending"
    page.click("#tab-analysis")
    assert "Where the time goes" in page.inner_text("#panel-analysis")
    page.select_option("#other", "vega64")
    page.wait_for_selector("#panel-analysis th:has-text('Vega 64')")
    page.focus("#panel-analysis .explained[data-explain=packing]")
    page.wait_for_selector("#told:has-text('Packing')")


def test_a_simulation_has_a_timeline_that_pans_and_zooms(tab):
    opened = tab()
    page = opened.page
    opened.write(SAXPY)
    opened.compiled("saxpy")
    page.click("#tab-simulate")
    page.fill("#sim-words", "y=zeros:65536 x=random:65536 a=2")
    page.select_option("#sim-other", "hd5870")
    page.click("#panel-simulate .primary")
    page.wait_for_selector(".timeline canvas")
    assert page.locator("#panel-simulate .stack").count() == 4
    said = page.inner_text(".timeline .said")
    assert "compute unit" in said
    assert "%" in page.inner_text(".code .g-stall")
    page.focus(".timeline canvas")
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    assert "50 % of the time" in page.inner_text(".timeline .said")
    page.hover(".timeline canvas", position={"x": 400, "y": 60})
    page.wait_for_selector(".timeline .said:has-text('cycle ')")
    assert "all 64 compute units" in said
    tall = page.locator(".timeline canvas").bounding_box()["height"]
    page.select_option(".timeline select[aria-label='Compute units']", "63")
    assert page.locator(".timeline canvas").bounding_box()["height"] < tall
    for _ in range(2):  # the launch, then all that the board did
        page.click(".timeline button:has-text('All')")
    board = set()
    for x in range(122, 1300, 62):
        for y in (30, 45):
            page.hover(".timeline canvas", position={"x": x, "y": y})
            board.add(page.inner_text(".timeline .said").split(": ")[1].split(",")[0])
    assert {"launch", "copy to the board", "copy to the host", "nothing"} <= board
    page.evaluate(MANY_LAUNCHES)
    number = page.locator(".timeline input[aria-label='Launch']")
    assert (number.input_value(), number.get_attribute("max")) == ("1200", "2999")
    assert "of 3,000: second" in page.inner_text(".timeline")
    number.fill("3000")
    assert not number.evaluate("one => one.checkValidity()")
    number.fill("2998")
    number.press("Enter")  # of the run that there is, which has one launch
    page.wait_for_selector("#panel-simulate .problem:has-text('there is no launch 2998')")


MANY_LAUNCHES = """
() => window.headwater.timeline.show({
    records: "", count: 0, texts: [], clauses: [], clock: 1000, cycles: 10, unit: "compute unit", waits: ["issue"],
    wavefronts_per_group: 1, units: [0, 1], of_units: 1, cut: false, launch: 1200, kernels: ["first", "second"],
    launches: Array.from({length: 3000}, (_, n) => Number(n >= 1000)), board: [],
})
"""


def test_advice_names_the_pages_own_fields(tab):
    opened = tab()
    page = opened.page
    opened.write("kernel void sum(global float *y, int n) { for (int i = 0; i < n; i++) y[0] += y[i]; }")
    opened.compiled("sum")
    page.click("#tab-analysis")
    page.wait_for_selector(".advice :text('“Loop trips” L1=N')")
    assert "--" not in page.inner_text("#panel-analysis").replace("──", "")
    page.fill("#assumed-trips", "L1=16")
    page.wait_for_selector("#panel-analysis :text('16 × (given)')")
    page.fill("#assumed-trips", "")
    page.fill("#assumed-arguments", "n=-5x")
    page.wait_for_selector(".problem:has-text('is no number of a name')")


def test_breakpoints_are_set_in_the_sources_margin(tab):
    opened = tab()
    page = opened.page
    page.set_default_timeout(60_000)
    opened.write(SAXPY + "// no code is made of this line")
    opened.compiled("saxpy")
    marks = page.locator(".source .g-stop .stop:visible")
    numbers = page.locator(".source .cm-lineNumbers .cm-gutterElement")
    numbers.filter(has_text="3").first.click()
    numbers.filter(has_text="5").first.click()
    numbers.filter(has_text="4").first.click(button="right")
    assert marks.count() == 2
    page.click("#tab-step")
    page.fill("#step-words", "y=ones:64 x=arange:64 a=2")
    page.click("#panel-step .primary")
    page.wait_for_selector("#panel-step .problem:has-text('no code was made of line 5')")
    assert marks.count() == 1
    assert page.locator("#panel-step .file").count() == 1
    page.click("[data-step=continue]")
    page.wait_for_selector("#panel-step .line:has-text('line 3')")
    page.click("[data-step='back stop']")
    numbers.filter(has_text="3").first.click()
    page.wait_for_selector("#panel-step .file", state="detached")
    page.click(".source .cm-line:has-text('y[i] = a')")
    page.keyboard.press("F9")
    page.wait_for_selector("#panel-step .file:has-text(':3')")


def test_machine_code_is_changed_assembled_and_run(tab):
    """A wrong instruction is an error at its line; a changed one changes the result, which differs from the source's."""
    opened = tab()
    page = opened.page
    opened.write(SAXPY)
    opened.compiled("saxpy")
    page.click(".code button:has-text('Edit')")
    editor = page.locator(".code .cm-content[aria-label='Machine code to be changed']")
    line = editor.locator(".cm-line:has-text('v_fma_f32')")
    line.wait_for()
    line.click()
    page.keyboard.press("End")
    page.keyboard.press("Shift+Home")
    page.keyboard.insert_text("v_wrong_f32 v2, s9, v2, v3")
    page.wait_for_selector(".complaint.error:has-text('invalid instruction')")
    page.keyboard.press("Control+z")
    page.wait_for_selector(".complaint", state="detached")
    page.keyboard.press("End")
    page.keyboard.insert_text("\n\tv_add_f32 v2, 1.0, v2")
    page.wait_for_timeout(500)
    page.click("#tab-run")
    page.fill("#run-words", "y=ones:64 x=arange:64 a=2")
    page.click("#panel-run .primary")
    page.wait_for_selector(".verdict.bad:has-text('64 of 64 elements differ')")


def test_stepping_to_a_known_value_and_back(tab):
    opened = tab()
    page = opened.page
    opened.write(SAXPY)
    opened.compiled("saxpy")
    page.click("#tab-step")
    page.fill("#step-words", "y=ones:64 x=arange:64 a=2")
    page.click("#panel-step .primary")
    page.wait_for_selector(".step-row.now")
    page.fill("#step-what", "y[3]")
    page.press("#step-what", "Enter")
    page.wait_for_selector(".step .file:has-text('y[3]')")
    page.click("[data-step=continue]")
    memory = page.locator("#panel-step .card:has(h3:has-text('y ')) .memory span")
    page.wait_for_selector("#panel-step .line .watch")
    assert memory.nth(3).inner_text() == "7"
    assert page.locator("tr:has(th:text-is('exec')) td").inner_text() == "0xffffffffffffffff"
    page.click("[data-step=back]")
    page.wait_for_selector("#panel-step .card .memory span:nth-child(4):text-is('1')")
    page.click("#panel-step button:text-is('f32')")
    page.select_option("#panel-step select", "v3")
    assert page.locator(".lanes td").nth(3).inner_text() in ("1", "6", "7")
    assert page.locator(".source .cm-line.lit").count() == 1


def test_the_keyboard_alone_reaches_everything(tab):
    """Tab goes from the top to the tabs; arrows move among these and the splitters."""
    page = tab().page
    page.focus("h1 ~ select")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate_handle("document.activeElement")
            .as_element()
            .evaluate("e => e.id || e.getAttribute('aria-label') || ''")
        )
        if page.locator(".source .cm-content:focus").count():
            page.keyboard.press("Escape")  # out of the editor, where Tab indents
    assert {"options", "chip", "kernel", "Machine code", "Between source and machine code", "tab-chips"} <= reached
    page.focus("#tab-chips")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-analysis", "aria-selected") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 390], ids=["desk", "telephone"])
def test_names_and_contrast(tab, scheme, width):
    """axe-core finds nothing in any view; on a telephone nothing is wider than the screen."""
    axe = FRONT / "node_modules" / "axe-core" / "axe.min.js"
    opened = tab(width=width, scheme=scheme)
    page = opened.page
    opened.write(SAXPY + "int f(int x) { return y; }")
    page.wait_for_selector(".complaint.error")
    for view in ("chips", "analysis", "run", "simulate", "step"):
        page.click(f"#tab-{view}")
        assert page.locator("html").evaluate("e => e.scrollWidth") <= width
        if axe.is_file():
            session = opened.context.new_cdp_session(page)
            session.send("Runtime.evaluate", {"expression": axe.read_text(encoding="utf-8")})
            found = session.send(
                "Runtime.evaluate",
                {
                    "expression": "axe.run().then(r => JSON.stringify(r.violations))",
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
            faults = [
                f"{one['id']}: {node['target']} {node['failureSummary'][:200]}"
                for one in json.loads(found["result"]["value"])
                for node in one["nodes"]
            ]
            assert faults == [], "\n".join(faults)


def test_what_kernels_are_called_and_print_is_text(tab):
    opened = tab()
    page = opened.page
    opened.write('#error <img src=x onerror="document.title=1">\n' + SAXPY)
    page.wait_for_selector(".complaint.error")
    assert "<img src=x" in page.inner_text(".complaints")
    assert page.locator(".complaints img").count() == 0
    assert page.title() == "Headwater"


def test_the_widget_of_the_executed_notebook(browser):
    """Its buttons work; its scripts are those of a page of another origin."""
    notebook = Path(headwater.__file__).parents[1] / "examples" / "notebook" / "kernels.ipynb"
    outputs = [
        "".join(output["data"]["text/html"])
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    (widget,) = [text for text in outputs if text.startswith("<iframe")]
    context = browser.new_context()
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content(f"<title>notebook</title><main>{widget}</main>")
    frame = page.frame_locator("iframe")
    buttons = frame.locator("button[data-n]")
    assert buttons.count() == 2
    shown = frame.locator("section.one:visible")
    before = shown.first.inner_text()
    buttons.nth(1).click()
    assert shown.first.inner_text() != before
    assert page.frames[1].evaluate("() => { try { return parent.document.title } catch (e) { return e.name } }") == (
        "SecurityError"
    )
    assert complaints == []
    context.close()


HELD = """
window.held = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
    if (window.held && text.includes('"task":"table"')) window.held.push([this, text]);
    else send.call(this, text);
};
window.release = () => {
    for (const [socket, text] of window.held) send.call(socket, text);
    window.held = null;
};
"""
"""Keeps back what the table of chips asks, until ``release()``."""


def test_the_status_says_working_while_the_table_is_computed(browser, served):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(HELD)
    page.goto(f"{served.url}/#token={served.token}")
    page.wait_for_selector("body[data-answered]")
    page.wait_for_function("() => window.held.length > 0")
    before = page.get_attribute("body", "data-answered")
    page.select_option("#chip", "hd5870")  # which asks for code alone
    page.wait_for_selector(f"body:not([data-answered='{before}'])")
    assert page.inner_text(".status") == "working"
    page.evaluate("() => window.release()")
    page.wait_for_selector("body[data-tables]")
    page.wait_for_selector(".status[data-how=open]")
    assert re.fullmatch(r"\d+ ms", page.inner_text(".status"))
    context.close()


def test_without_the_token_there_is_nothing(browser, served):
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.url)
    page.wait_for_selector(".status[data-how=refused]")
    context.close()
