// The page: what is where, and which change asks the server for what.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { AnalysisView } from "./analysis";
import { base64Of, download, fill, h, options, settled } from "./dom";
import { Dropped, isSource } from "./dropped";
import { editor, type Handle, type Margin } from "./editor";
import { Explainer } from "./explain";
import { type Context, problem, RunView, SimulateView } from "./runs";
import { Refusal, Server, Superseded } from "./server";
import { FIRST, fromAddress, packed, type State, unpacked } from "./state";
import { StepView } from "./step";
import { ChipTable } from "./table";
import type { Chip, Code, Diagnostic, Example, Kernel, Launch, TableRow } from "./types";

const TYPING_MS = 40;
const TABLE_MS = 350;
const PART = 4;
/** What the server calls the machine code that was changed. */
const EDITED = "edited.s";
const TABS: [string, string][] = [["chips", "All chips"], ["analysis", "Analysis"], ["run", "Run"], ["simulate", "Simulate"], ["step", "Step"]];

class Page {
  private server: Server;
  private explainer: Explainer;
  private dropped = new Dropped();
  private chips: Chip[] = [];
  private code: Code | null = null;
  private compared: { chip: string; kernel: Kernel } | null = null;
  private source!: Handle;
  private listing!: Handle;
  private assembly!: Handle;
  private table!: ChipTable;
  private analysis!: AnalysisView;
  private runView!: RunView;
  private simulateView!: SimulateView;
  private stepView!: StepView;
  private showing = true;
  private asking = false;
  private again = false;
  private askedAt = 0;
  private outcome = "connected";
  private lineOfRow: (number | null)[] = [];
  private margins = new Map<number, Margin>();
  private places: { row: number; address: number; texts: string[] }[] = [];
  private parts = {
    status: h("span", { class: "status", role: "status" }, "connecting"),
    examples: h("select", { "aria-label": "Examples" }),
    tabs: h("div", { class: "files", role: "group", "aria-label": "Files of the project" }),
    chip: h("select", { id: "chip", "aria-label": "Chip" }),
    other: h("select", { id: "other", "aria-label": "Compare with" }),
    kernel: h("select", { id: "kernel", "aria-label": "Kernel" }),
    edit: h("button", { type: "button", "aria-pressed": "false", title: "Change the machine code; it is assembled, analyzed and run in place of the source's" }, "Edit"),
    build: h("input", { id: "options", placeholder: "-D N=16", "aria-label": "Build options", autocomplete: "off", spellcheck: "false" }),
    strip: h("div", { class: "strip" }),
    complaints: h("div", { class: "complaints", role: "log", "aria-label": "Errors and warnings" }),
    sourcePlace: h("div", { class: "editor" }),
    listingPlace: h("div", { class: "editor" }),
    assemblyPlace: h("div", { class: "editor", hidden: true }),
    panels: h("div", { class: "panels" }),
    data: h("div", { class: "files data", role: "group", "aria-label": "Dropped files" }),
  };

  constructor(private state: State, token: string) {
    this.server = new Server(token, (how, busy) => this.told(how, busy));
    this.analysis = new AnalysisView(state, () => {
      this.keep();
      this.refresh();
    });
    this.explainer = new Explainer(this.server);
  }

  async begin(): Promise<void> {
    this.frame();
    await this.dropped.restore();
    this.showDropped();
    const [{ chips }, { examples }] = await Promise.all([
      this.server.ask<{ chips: Chip[] }>("chips", {}),
      this.server.ask<{ examples: Example[] }>("examples", {}),
    ]);
    this.chips = chips;
    if (!Object.keys(this.state.files).length && examples[0]) this.load(examples[0]);
    const rows = chips.map((chip): [string, string, string] => [chip.id, chip.name, chip.generation]);
    options(this.parts.chip, rows, this.state.chip);
    options(this.parts.other, [["", "compare with …"], ...rows], this.state.other);
    options(this.parts.examples, [["", "Examples"], ...examples.map((one): [string, string] => [one.name, one.title])], "");
    this.parts.examples.onchange = () => {
      const example = examples.find((one) => one.name === this.parts.examples.value);
      this.parts.examples.value = "";
      if (example) {
        this.load(example);
        location.hash = "";
        this.restart();
      }
    };
    const context: Context = {
      server: this.server, chips, state: this.state, changed: () => this.keep(), files: () => this.project(true), hot: (launch) => this.showHot(launch), resized: () => this.refresh(),
    };
    this.table = new ChipTable(chips, (chip) => this.choose(chip));
    this.runView = new RunView(context);
    this.simulateView = new SimulateView(context);
    this.stepView = new StepView(context, (line) => this.source.light(new Set(line ? [line] : []), true), this.source);
    this.panels();
    this.restart();
    Object.assign(window, { headwater: { timeline: this.simulateView.timeline } });
  }

  // -- what is where -----------------------------------------------------------------------------------------------------

  private frame(): void {
    const { parts, state } = this;
    const nonce = document.querySelector<HTMLMetaElement>("meta[name=nonce]")?.content ?? "";
    parts.chip.onchange = () => this.choose(parts.chip.value);
    parts.other.onchange = () => {
      state.other = parts.other.value;
      for (const one of document.querySelectorAll<HTMLSelectElement>("#sim-other")) one.value = state.other;
      this.keep();
      void this.compare();
    };
    parts.kernel.onchange = () => {
      state.kernel = parts.kernel.value;
      this.showing = true;
      this.keep();
      this.refresh();
    };
    parts.build.value = state.options;
    parts.build.oninput = () => {
      state.options = parts.build.value;
      this.keep();
      this.refresh();
    };
    const theme = h("button", { type: "button", class: "quiet", "aria-label": "Dark or light", title: "Dark or light", onclick: () => toggleTheme() }, "◐");
    const share = h("button", { type: "button", class: "quiet", onclick: () => void this.share(share) }, "Copy link");
    const save = h(
      "select",
      { "aria-label": "Save", onchange: () => { void this.save(save.value); save.value = ""; } },
      h("option", { value: "" }, "Save"),
      h("option", { value: "source" }, "Source"),
      h("option", { value: "isa" }, "Machine code"),
      h("option", { value: "json" }, "Analysis as JSON"),
      h("option", { value: "html" }, "Report as one HTML file"),
    );
    const split = (name: string, vertical: boolean): HTMLElement => splitter(name, vertical);
    document.querySelector("header")?.remove(); // what is seen until the script is here
    document.body.append(
      h("a", { class: "away skip", href: "#source" }, "To the source"),
      h(
        "header",
        { class: "top" },
        h("h1", {}, h("span", { class: "mark", "aria-hidden": "true" }), "Headwater"),
        parts.examples,
        h("label", { class: "field inline" }, h("span", {}, "Options"), parts.build),
        h("span", { class: "grow" }),
        parts.status,
        save,
        share,
        theme,
      ),
      h(
        "main",
        { class: "work" },
        h("section", { class: "source", id: "source", "aria-label": "Source", tabindex: "-1" }, h("div", { class: "bar-line" }, parts.tabs, parts.data), parts.sourcePlace, parts.complaints),
        split("Between source and machine code", true),
        h("section", { class: "code", "aria-label": "Machine code" }, h("div", { class: "bar-line" }, parts.chip, parts.kernel, parts.edit, h("span", { class: "grow" }), parts.other), parts.strip, parts.listingPlace, parts.assemblyPlace),
        split("Between code and results", false),
        h("section", { class: "below", "aria-label": "Results" }, parts.panels),
      ),
    );
    this.source = editor(parts.sourcePlace, {
      label: "Source", nonce, language: "source", cells: [],
      changed: (text) => {
        state.files[state.main] = text;
        this.keep();
        this.refresh();
      },
      pointed: (line) => this.pointSource(line),
      broke: (line, on) => void this.stepView?.breakAt(line, on),
    });
    this.listing = editor(parts.listingPlace, {
      label: "Machine code", nonce, language: "machine", readOnly: true,
      cells: [["runs", "times a wavefront runs it"], ["live", "vector registers that are live"], ["stall", "of the wavefronts' time, simulated"]],
      pointed: (row) => this.pointRow(row),
      explain: (word) => this.explainer.node(word),
    });
    this.assembly = editor(parts.assemblyPlace, {
      label: "Machine code to be changed", nonce, language: "machine", cells: [],
      changed: (text) => {
        state.assembly = text;
        this.keep();
        this.refresh(false);
      },
      explain: (word) => this.explainer.node(word),
    });
    parts.edit.onclick = () => void this.edit();
    for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => void this.drop(event as DragEvent), true);
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
        event.preventDefault();
        const simulate = this.state.tab === "simulate";
        this.open(simulate ? "simulate" : "run");
        void (simulate ? this.simulateView.run() : this.runView.run());
      }
    }, true);
    window.addEventListener("hashchange", () => {
      const { text } = fromAddress();
      if (text && text !== this.written) location.reload();
    });
  }

  private panels(): void {
    const contents: Record<string, HTMLElement> = {
      chips: this.table.element, analysis: this.analysis.element, run: this.runView.element, simulate: this.simulateView.element, step: this.stepView.element,
    };
    const buttons = TABS.map(([name, title]) =>
      h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, "aria-selected": "false", tabindex: "-1", onclick: () => this.open(name) }, title),
    );
    const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Results" }, ...buttons);
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (TABS.findIndex(([name]) => name === this.state.tab) + step + TABS.length) % TABS.length;
      this.open(TABS[next]![0]);
      buttons[next]!.focus();
    });
    fill(
      this.parts.panels,
      list,
      ...TABS.map(([name]) => h("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true }, contents[name]!)),
    );
    this.open(this.state.tab in contents ? this.state.tab : "chips");
  }

  private open(tab: string): void {
    this.state.tab = tab;
    for (const [name] of TABS) {
      const button = document.getElementById(`tab-${name}`)!;
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
      document.getElementById(`panel-${name}`)!.hidden = name !== tab;
    }
    this.keep();
  }

  private told(how: "open" | "closed" | "refused", busy: number): void {
    const { status } = this.parts;
    const words = { open: busy ? "working" : this.outcome, closed: "connecting", refused: "no access: open the address that headwater ui printed" };
    status.dataset["how"] = how === "open" && busy ? "busy" : how;
    status.textContent = words[how];
    status.title = how === "open" && this.askedAt ? `${Math.round(this.askedAt)} ms from the last change to its machine code` : "";
  }

  /** What the status says once nothing is asked any more. */
  private finished(outcome: string): void {
    this.outcome = outcome;
    this.server.tell();
  }

  // -- the state ---------------------------------------------------------------------------------------------------------

  private written = "";
  private keep = settled(300, () => void this.write());

  private async write(): Promise<void> {
    this.written = await packed(this.state);
    history.replaceState(null, "", `#s=${this.written}`);
  }

  private load(example: Example): void {
    Object.assign(this.state, { files: { [example.name]: example.text }, main: example.name, words: example.words, trips: "", arguments: "", hit: "", global: example.global, local: example.local, shape: example.shape, lds: example.lds, kernel: example.kernel, options: "", assembly: "" });
    this.parts.build.value = "";
    this.showing = true;
    for (const input of document.querySelectorAll<HTMLInputElement>("[id^=assumed-]")) input.value = "";
    for (const name of ["words", "global", "local", "shape", "lds"] as const)
      for (const input of document.querySelectorAll<HTMLInputElement>(`[data-field=${name}]`)) input.value = this.state[name];
  }

  private restart(): void {
    this.source.speak(this.state.main);
    this.source.setText(this.state.files[this.state.main] ?? "");
    this.showEditing();
    this.showFiles();
    this.table.clear();
    this.keep();
    this.refresh();
  }

  private project(data = false): Record<string, object> {
    const files: Record<string, object> = {};
    for (const [name, text] of Object.entries(this.state.files)) files[name] = { text };
    if (data) for (const [name, base64] of this.dropped.files) if (this.state.words.includes(name)) files[name] = { base64 };
    return files;
  }

  private showFiles(): void {
    const { state } = this;
    fill(
      this.parts.tabs,
      ...Object.keys(state.files).map((name) =>
        h("span", { class: "file" },
          h("button", { type: "button", "aria-pressed": String(name === state.main), onclick: () => { state.main = name; this.restart(); }, ondblclick: () => this.rename(name) }, name),
          Object.keys(state.files).length > 1
            ? h("button", { type: "button", class: "close", "aria-label": `Remove ${name}`, onclick: () => { delete state.files[name]; state.main = Object.keys(state.files)[0]!; this.restart(); } }, "×")
            : null),
      ),
      h("button", { type: "button", class: "quiet", "aria-label": "Add a file", title: "Add a file", onclick: () => this.add() }, "+"),
    );
  }

  private add(): void {
    const name = prompt("Name of the file (.cl, .br, .il, .hip, .py, .h)", "kernel2.cl");
    if (!name || !isSource(name)) return;
    this.state.files[name] ??= "";
    this.state.main = name;
    this.restart();
  }

  private rename(name: string): void {
    const next = prompt("New name", name);
    if (!next || next === name || !isSource(next)) return;
    this.state.files = Object.fromEntries(Object.entries(this.state.files).map(([n, text]) => [n === name ? next : n, text]));
    if (this.state.main === name) this.state.main = next;
    this.restart();
  }

  private async drop(event: DragEvent): Promise<void> {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", event.type === "dragover");
    if (event.type !== "drop") return;
    for (const file of event.dataTransfer.files) {
      const name = file.name.replace(/[^\w. ()+@-]/g, "_").replace(/^[^A-Za-z0-9]+/, "");
      if (isSource(name)) {
        this.state.files[name] = await file.text();
        this.state.main = name;
        this.restart();
      } else {
        await this.dropped.put(name, base64Of(new Uint8Array(await file.arrayBuffer())));
        if (!this.state.words.includes(name)) this.state.words = `${this.state.words} ${name}`.trim();
        for (const input of document.querySelectorAll<HTMLInputElement>("[data-field=words]")) input.value = this.state.words;
        this.keep();
      }
    }
    this.showDropped();
  }

  private showDropped(): void {
    fill(
      this.parts.data,
      ...[...this.dropped.files.keys()].map((name) =>
        h("span", { class: "file" }, h("span", { class: "soft" }, name),
          h("button", { type: "button", class: "close", "aria-label": `Remove ${name}`, onclick: () => void this.dropped.remove(name).then(() => this.showDropped()) }, "×"))),
    );
  }

  // -- code, as one types ------------------------------------------------------------------------------------------------

  /** Take the machine code as a text that can be changed, or give the changes up. */
  private async edit(): Promise<void> {
    const { state } = this;
    if (state.assembly) {
      state.assembly = "";
    } else {
      try {
        const symbol = this.code?.kernels[0]?.symbol ?? "";
        const found = await this.server.ask<{ text: string }>("assembly", { ...this.question(), device: state.chip, symbol });
        state.assembly = found.text;
      } catch (error) {
        fill(this.parts.complaints, problem(error));
        return;
      }
    }
    this.keep();
    this.showEditing();
    const line = state.assembly.split("\n").findIndex((text) => text === `${this.code?.kernels[0]?.symbol}:`);
    if (line > 0) this.assembly.show(line);
    this.refresh(false);
  }

  private showEditing(): void {
    const { assembly } = this.state;
    this.parts.edit.setAttribute("aria-pressed", String(!!assembly));
    this.parts.edit.textContent = assembly ? "Back to the source's" : "Edit";
    this.parts.assemblyPlace.hidden = !assembly;
    this.parts.listingPlace.hidden = !!assembly;
    this.assembly.setText(assembly);
  }

  private choose(chip: string): void {
    if (chip !== this.state.chip) this.state.assembly = "";
    this.showEditing();
    this.state.chip = chip;
    if (this.state.device !== "cpu") this.state.device = chip;
    this.parts.chip.value = chip;
    for (const one of document.querySelectorAll<HTMLSelectElement>("#run-device")) one.value = this.state.device;
    this.table.select(chip);
    this.keep();
    this.refresh(false);
  }

  private question(): object {
    const { state } = this;
    return {
      files: this.project(), main: state.main, options: state.options, global: state.global, local: state.local,
      lds: state.lds, trips: state.trips, arguments: state.arguments, hit: state.hit,
    };
  }

  private get kernelAsked(): string | null {
    return this.state.kernel || null;
  }

  private soon = settled(TYPING_MS, () => void this.ask());
  private tableSoon = settled(TABLE_MS, () => void this.askTable());

  private refresh(table = true): void {
    this.soon();
    if (table) this.tableSoon();
  }

  /** Ask for the code; what changes meanwhile is asked for when the answer has come. */
  private async ask(): Promise<void> {
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    const begin = performance.now();
    try {
      const found = await this.server.ask<Code>("code", { ...this.question(), device: this.state.chip, kernel: this.kernelAsked, assembly: this.state.assembly }, "code");
      this.askedAt = performance.now() - begin;
      this.show(found);
    } catch (error) {
      if (!(error instanceof Superseded)) this.refuse(error);
    } finally {
      this.asking = false;
      if (this.again) {
        this.again = false;
        void this.ask();
      } else void this.compare();
    }
    document.body.dataset["answered"] = String(Number(document.body.dataset["answered"] ?? 0) + 1);
  }

  private async compare(): Promise<void> {
    const chip = this.state.other;
    if (!chip || chip === this.state.chip) {
      this.compared = null;
      this.showAnalysis();
      return;
    }
    try {
      const found = await this.server.ask<Code>("code", { ...this.question(), device: chip, kernel: this.kernelAsked }, "compare");
      this.compared = found.kernels[0] ? { chip, kernel: found.kernels[0] } : null;
    } catch {
      this.compared = null;
    }
    this.showAnalysis();
  }

  /** Ask for the rows of all chips in parts, so that the first are there at once. */
  private async askTable(): Promise<void> {
    if (!this.table || this.code?.diagnostics.some((one) => one.severity === "error")) return;
    this.table.begin();
    const order = [...this.chips].sort((a, b) => Number(b.id === this.state.chip) - Number(a.id === this.state.chip));
    const targets = [...new Map(order.map((chip) => [chip.target, order.filter((one) => one.target === chip.target)])).values()];
    const given = { ...this.question(), kernel: this.kernelAsked };
    const parts: Chip[][] = [];
    for (const same of targets) {
      const last = parts[parts.length - 1];
      if (last && last.length < PART) last.push(...same);
      else parts.push([...same]);
    }
    await Promise.all(
      parts.map((part, n) =>
        this.server.ask<{ rows: TableRow[] }>("table", { ...given, devices: part.map((chip) => chip.id) }, `table ${n}`).then(
          ({ rows }) => this.table.take(rows),
          (error) => {
            if (error instanceof Refusal) this.table.take(part.map((chip) => ({ device: chip.id, refused: error.problem.message })));
          },
        ),
      ),
    );
    document.body.dataset["tables"] = String(Number(document.body.dataset["tables"] ?? 0) + 1);
  }

  private refuse(error: unknown): void {
    this.source.complain([]);
    fill(this.parts.complaints, problem(error));
    this.listing.view.dom.classList.add("stale");
    this.finished("ready");
  }

  private show(found: Code): void {
    this.code = found;
    this.source.complain(found.diagnostics.filter((one) => one.file.endsWith(this.state.main)));
    this.assembly.complain(found.diagnostics.filter((one) => one.file === EDITED));
    fill(
      this.parts.complaints,
      ...found.diagnostics.filter((one) => one.severity !== "note").slice(0, 12).map((one) =>
        h("button", { type: "button", class: `complaint ${one.severity}`, onclick: () => this.jump(one) }, h("b", {}, `${one.line}:${one.column} ${one.severity}`), ` ${one.message}`, one.hint ? h("small", {}, ` ${one.hint}`) : null),
      ),
      ...found.refused.filter((one) => !one.kernel || one.kernel === this.state.kernel || !found.kernels.length).map((one) => h("div", { class: "complaint warning" }, h("b", {}, one.kernel), ` ${one.message}`)),
    );
    this.listing.view.dom.classList.toggle("stale", !found.kernels.length);
    if (found.names.length || found.kernels.length) {
      const names = found.names.length ? found.names : found.kernels.map((one) => one.kernel);
      const kernel = found.kernels[0]?.kernel ?? this.state.kernel;
      options(this.parts.kernel, names.map((name): [string, string] => [name, name]), kernel);
    }
    const kernel = found.kernels[0];
    if (!kernel) {
      this.finished("ready");
      return;
    }
    if (this.state.kernel !== kernel.kernel) {
      this.state.kernel = kernel.kernel; // the one chosen before is gone
      this.tableSoon();
    }
    this.showCode(kernel);
    this.showAnalysis();
    this.table.select(this.state.chip);
    this.finished(`${Math.round(this.askedAt)} ms`);
  }

  private showAnalysis(): void {
    const first = this.code?.kernels[0];
    const name = (id: string): string => this.chips.find((chip) => chip.id === id)?.name ?? id;
    const shown = first ? [{ name: name(this.state.chip), kernel: first }] : [];
    if (first && this.compared) shown.push({ name: name(this.compared.chip), kernel: this.compared.kernel });
    this.analysis.show(shown);
  }

  private showCode(kernel: Kernel): void {
    if (this.state.assembly) {
      this.showStrip(kernel);
      return;
    }
    const text: string[] = [];
    const margins = new Map<number, Margin>();
    this.lineOfRow = [];
    this.places = [];
    const own = (row: Kernel["code"][number]): number | null => (row.line && row.line[0].endsWith(this.state.main) ? row.line[1] : null);
    const shares = new Map(kernel.lines.filter((one) => one.line).map((one) => [one.line!, one.share]));
    const runsOfLine = new Map<number, number>();
    for (const row of kernel.code) {
      const line = own(row);
      if (line !== null) runsOfLine.set(line, (runsOfLine.get(line) ?? 0) + row.runs);
    }
    for (const row of kernel.code) {
      const line = own(row);
      if (row.label) {
        text.push(kernel.family === "vliw" ? row.label : `${row.label}:`);
        this.lineOfRow.push(null);
      }
      const pieces = kernel.family === "vliw" && row.class === "ALU" ? row.text.split(" | ") : [row.text];
      const hue = line ?? -1;
      this.places.push({ row: text.length + 1, address: row.address, texts: [row.text, row.label] });
      const share = line === null ? 0 : ((shares.get(line) ?? 0) * row.runs) / (runsOfLine.get(line) || 1);
      pieces.forEach((piece, n) => {
        const indent = kernel.family === "vliw" ? (/^\d\d /.test(piece) ? "" : "    ") : "  ";
        text.push(`${indent}${piece}`);
        this.lineOfRow.push(line);
        margins.set(text.length, {
          share, hue,
          cells: n ? ["", "", ""] : [row.runs === 1 ? "" : String(+row.runs.toPrecision(3)), row.live_registers ? String(row.live_registers) : "", ""],
          title: line === null ? "" : `line ${line}; its part of what binds: ${(100 * (shares.get(line) ?? 0)).toFixed(0)} %`,
        });
      });
    }
    this.listing.setText(text.join("\n"));
    this.listing.setMargins(margins);
    this.margins = margins;
    const sourceMargins = new Map<number, Margin>();
    for (const [line] of runsOfLine)
      sourceMargins.set(line, { share: shares.get(line) ?? 0, hue: line, cells: [], title: `${(100 * (shares.get(line) ?? 0)).toFixed(0)} % of what binds` });
    this.source.setMargins(sourceMargins);
    if (this.showing) {
      this.showing = false;
      const lines = [...runsOfLine.keys()];
      if (lines.length) this.source.show(Math.max(1, Math.min(...lines) - 3));
    }
    this.showStrip(kernel);
  }

  private showStrip(kernel: Kernel): void {
    const metric = (name: string, title: string): HTMLElement | null => {
      const found = kernel.metrics[name];
      return found ? h("span", { class: `fact ${found.verdict}`, tabindex: "0", "data-explain": name }, h("small", {}, title), found.shown.replace(/ \(.*/, "")) : null;
    };
    fill(
      this.parts.strip,
      metric("seconds", "time"), metric("bound_by", "bound by"), metric("occupancy", "occupancy"), metric("vgprs", "VGPRs"), metric("gprs", "GPRs"),
      metric("sgprs", "SGPRs"), metric("lds_bytes", "LDS"), metric("scratch_bytes", "scratch"), metric("alu_fetch_ratio", "ALU:fetch"), metric("packing", "packing"), metric("code_bytes", "code"),
    );
  }

  private showHot(launch: Launch): void {
    const margins = new Map<number, Margin>();
    for (const line of launch.lines_by_cost)
      if (line.where && line.where[0].endsWith(this.state.main))
        margins.set(line.where[1], { share: line.share, hue: line.where[1], cells: [], title: `${(100 * line.share).toFixed(1)} % of wavefronts' time, ${(100 * line.waiting).toFixed(0)} % of it waiting (simulated)` });
    this.source.setMargins(margins);
    const rows = new Map(this.margins);
    for (const hot of launch.instructions_by_cost) {
      // Addresses are those of the listing on GCN; on VLIW chips clauses and groups are found by what they are.
      const place = this.places.find((one) => one.texts.includes(hot.text) && (one.address === hot.address || one.texts[1] !== ""))
        ?? this.places.find((one) => one.texts.includes(hot.text));
      const known = place && rows.get(place.row);
      if (!place || !known || hot.share < 0.0005) continue;
      const part = `${(100 * hot.share).toFixed(hot.share < 0.1 ? 1 : 0)}%`;
      rows.set(place.row, { ...known, share: hot.share, cells: [known.cells[0]!, known.cells[1]!, part], title: `${part} of the wavefronts' time, ${(100 * hot.waiting).toFixed(0)} % of it waiting (simulated); runs ${hot.count} times` });
    }
    this.listing.setMargins(rows);
  }

  private jump({ file, line, column }: Diagnostic): void {
    const { view } = file === EDITED ? this.assembly : this.source;
    if (line < 1 || line > view.state.doc.lines) return;
    const found = view.state.doc.line(line);
    const at = Math.min(found.to, found.from + Math.max(0, column - 1));
    view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    view.focus();
  }

  private pointSource(line: number | null): void {
    const rows = new Set<number>();
    this.lineOfRow.forEach((one, n) => {
      if (line !== null && one === line) rows.add(n + 1);
    });
    this.listing.light(rows, true);
    this.source.light(new Set(line !== null && rows.size ? [line] : []));
  }

  private pointRow(row: number | null): void {
    const line = row === null ? null : (this.lineOfRow[row - 1] ?? null);
    this.source.light(new Set(line === null ? [] : [line]), true);
    const rows = new Set<number>();
    this.lineOfRow.forEach((one, n) => {
      if (line !== null && one === line) rows.add(n + 1);
    });
    this.listing.light(rows);
  }

  // -- sharing -----------------------------------------------------------------------------------------------------------

  private async share(button: HTMLElement): Promise<void> {
    await this.write();
    await navigator.clipboard?.writeText(location.href).catch(() => undefined);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy link"), 1500);
  }

  private async save(what: string): Promise<void> {
    const { state } = this;
    const base = state.main.replace(/\.\w+$/, "");
    if (what === "source") download(state.main, state.files[state.main] ?? "", "text/plain");
    if (what === "isa") download(`${base}.${state.chip}.txt`, this.listing.view.state.doc.toString(), "text/plain");
    if (what !== "json" && what !== "html") return;
    try {
      const devices = [...new Set([state.chip, state.other].filter(Boolean))];
      const found = await this.server.ask<{ html?: string; json?: object }>("page", { ...this.question(), devices, form: what });
      if (what === "json") download(`${base}.json`, JSON.stringify(found.json, null, 1), "application/json");
      else download(`${base}.html`, found.html ?? "", "text/html");
    } catch (error) {
      fill(this.parts.complaints, problem(error));
    }
  }
}

// -- sizes and colours ---------------------------------------------------------------------------------------------------

/** A bar that is dragged, or moved by arrows, and keeps its place in this browser. */
function splitter(label: string, vertical: boolean): HTMLElement {
  const name = vertical ? "--split-x" : "--split-y";
  const root = document.documentElement;
  let share = Number(localStorage.getItem(name)) || (vertical ? 46 : 58);
  const bar = h("div", {
    class: `splitter ${vertical ? "vertical" : "horizontal"}`, role: "separator", tabindex: "0", "aria-label": label,
    "aria-orientation": vertical ? "vertical" : "horizontal", "aria-valuemin": "15", "aria-valuemax": "85",
  });
  const put = (value: number): void => {
    share = Math.max(15, Math.min(85, value));
    root.style.setProperty(name, `${share}%`);
    bar.setAttribute("aria-valuenow", String(Math.round(share)));
    localStorage.setItem(name, String(share));
  };
  put(share);
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const box = bar.parentElement!.getBoundingClientRect();
    put(vertical ? (100 * (event.clientX - box.left)) / box.width : (100 * (event.clientY - box.top)) / box.height);
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
    if (step) put(share + step);
  });
  return bar;
}

function setTheme(theme: string): void {
  document.documentElement.dataset["theme"] = theme;
  localStorage.setItem("theme", theme);
}

function toggleTheme(): void {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
  setTheme(dark ? "light" : "dark");
}

async function start(): Promise<void> {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") setTheme(theme);
  const { token, text } = fromAddress();
  let state = structuredClone(FIRST);
  try {
    if (text) state = await unpacked(text);
  } catch {
    // A fragment that was cut off: begin anew.
  }
  const page = new Page(state, token);
  await page.begin();
}

void start();
