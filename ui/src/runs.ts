// Run and simulate: arguments as of `headwater run`, files that were dropped, and what came of it.

import { bars, series, stack } from "./charts";
import { count, fill, h, percent, seconds } from "./dom";
import { outputView } from "./results";
import { Refusal, Superseded, type Server } from "./server";
import type { State } from "./state";
import { TimelineView } from "./timeline";
import type { Chip, Launch, Run, Simulation } from "./types";

/** What AMD's profilers call the counter of a unit. */
const COUNTERS: Record<string, string> = {
  "vector ALU": "VALUBusy", "scalar unit": "SALUBusy", "address unit": "MemUnitBusy", "stream cores": "ALUBusy", "fetch units": "FetchUnitBusy",
  LDS: "LDSBankConflict", "write path": "WriteUnitStalled",
};

export interface Context {
  server: Server;
  chips: Chip[];
  state: State;
  changed: () => void;
  /** The project's files as requests take them, the dropped ones among them. */
  files: () => Record<string, object>;
  /** The sizes or LDS of the launch are others: the analysis is to be made anew. */
  resized: () => void;
  /** Lines of the source and their shares of the time. */
  hot: (launch: Launch) => void;
}

export function problem(error: unknown): HTMLElement {
  if (error instanceof Refusal) {
    const { message, hint, line, file } = error.problem;
    const place = line ? `${file}:${line}: ` : "";
    return h("div", { class: "problem", role: "alert" }, h("b", {}, `${place}${message}`), hint ? h("p", {}, hint) : null);
  }
  return h("div", { class: "problem", role: "alert" }, String(error));
}

interface Field {
  name: "words" | "global" | "local" | "shape" | "lds";
  label: string;
  hint: string;
}

const FIELDS: Field[] = [
  { name: "words", label: "Arguments", hint: "random:512x512 n=512 photo.png" },
  { name: "global", label: "Global size", hint: "of outputs" },
  { name: "local", label: "Group", hint: "chosen" },
  { name: "shape", label: "Outputs' shape", hint: "of inputs" },
  { name: "lds", label: "LDS bytes", hint: "declared" },
];

/** The arguments' fields, which the two forms share by the state. */
export function fields(context: Context, prefix: string): HTMLElement[] {
  return FIELDS.map(({ name, label, hint }) => {
    const input = h("input", {
      id: `${prefix}-${name}`, "data-field": name, value: context.state[name], placeholder: hint, autocomplete: "off", spellcheck: "false",
      oninput: () => {
        context.state[name] = input.value;
        for (const other of document.querySelectorAll<HTMLInputElement>(`[data-field=${name}]`)) if (other !== input) other.value = input.value;
        context.changed();
        if (name === "global" || name === "local" || name === "lds") context.resized();
      },
    });
    return h("label", { class: `field f-${name}` }, h("span", {}, label), input);
  });
}

export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

export function request(context: Context): object {
  const { state } = context;
  return {
    files: context.files(), main: state.main, kernel: state.kernel || null, options: state.options,
    words: wordsOf(state.words), global: state.global, local: state.local, shape: state.shape, lds: state.lds, assembly: state.assembly,
  };
}

function deviceSelect(context: Context, id: string, name: "device" | "other", cpu: boolean, none: string): HTMLSelectElement {
  const select = h(
    "select",
    { id, onchange: () => { context.state[name] = select.value; context.changed(); } },
    none ? h("option", { value: "" }, none) : null,
    cpu ? h("option", { value: "cpu" }, "cpu (this machine)") : null,
    ...context.chips.map((chip) => h("option", { value: chip.id }, chip.name)),
  );
  select.value = context.state[name];
  return select;
}

export class RunView {
  readonly element = h("div", { class: "pane-body" });
  private result = h("div", { class: "results", "aria-live": "polite" });
  private button = h("button", { type: "submit", class: "primary" }, "Run");
  private busy = false;

  constructor(private context: Context) {
    const verify = h("input", { type: "checkbox", id: "verify", checked: context.state.verify, onchange: () => { context.state.verify = verify.checked; context.changed(); } });
    fill(
      this.element,
      h(
        "form",
        { class: "bar-line", "aria-label": "Run the kernel", onsubmit: (event: Event) => { event.preventDefault(); void this.run(); } },
        ...fields(context, "run"),
        h("label", { class: "field" }, h("span", {}, "Device"), deviceSelect(context, "run-device", "device", true, "")),
        h("label", { class: "check" }, verify, "compare with cpu"),
        this.button,
      ),
      h("p", { class: "soft" }, "Drop pictures (.png, .jpg), arrays (.npy, .csv) or bytes (.bin) anywhere on the page, and name them among the arguments. Made-up data: random:SHAPE, arange:SHAPE, zeros:SHAPE."),
      this.result,
    );
  }

  async run(): Promise<void> {
    const { context } = this;
    if (this.busy) {
      context.server.cancel("run");
      return;
    }
    this.busy = true;
    this.button.textContent = "Stop";
    fill(this.result, h("p", { class: "soft working" }, `running on ${context.state.device} …`));
    try {
      const found = await context.server.ask<Run>("run", { ...request(context), device: context.state.device, verify: context.state.verify }, "run");
      this.show(found);
    } catch (error) {
      fill(this.result, error instanceof Superseded ? h("p", { class: "soft" }, "stopped") : problem(error));
    } finally {
      this.busy = false;
      this.button.textContent = "Run";
    }
  }

  private show(found: Run): void {
    const sizes = found.global.length ? `${found.global.join(" × ")} work-items${found.local.length ? ` in groups of ${found.local.join(" × ")}` : ""}` : "";
    fill(
      this.result,
      h("p", { class: "line" }, h("b", {}, found.kernel), ` ${sizes} on ${this.context.state.device}, ${seconds(found.seconds)} from call to answer, checked for accesses out of bounds`),
      ...found.differences.map((d) =>
        h("p", { class: `verdict ${d.ok ? "good" : "bad"}` },
          d.ok
            ? `${d.name}: as on the cpu device${d.largest ? `, within ${d.tolerance}: largest difference ${d.largest.toPrecision(3)} (${d.ulps} ULP)` : ", equal"}`
            : `${d.name}: ${count(d.wrong)} of ${count(d.elements)} elements differ from the cpu device's, first [${(d.first ?? []).join(", ")}]`),
      ),
      ...found.notes.map((note) => h("p", { class: "soft note" }, note)),
      found.printed ? h("pre", { class: "printed", tabindex: "0", "aria-label": "What the kernel printed" }, found.printed) : null,
      h("div", { class: "cards wide" }, ...found.outputs.map(outputView)),
    );
  }
}

export class SimulateView {
  readonly element = h("div", { class: "pane-body" });
  readonly timeline = new TimelineView((unit, launch) => void this.run(unit, launch));
  private sample = h("input", { id: "sample", placeholder: "all", size: 4, autocomplete: "off" });
  private result = h("div", { class: "results", "aria-live": "polite" });
  private button = h("button", { type: "submit", class: "primary" }, "Simulate");
  private busy = false;
  private ends: (() => void)[] = [];

  constructor(private context: Context) {
    fill(
      this.element,
      h(
        "form",
        { class: "bar-line", "aria-label": "Simulate the kernel", onsubmit: (event: Event) => { event.preventDefault(); void this.run(); } },
        ...fields(context, "sim"),
        h("label", { class: "field" }, h("span", {}, "Part of the groups"), this.sample),
        h("label", { class: "field" }, h("span", {}, "Compare with"), deviceSelect(context, "sim-other", "other", false, "no other chip")),
        this.button,
      ),
      this.result,
      this.timeline.element,
    );
  }

  /** ``unit``: the first compute unit of the timeline; ``shown``: the launch that it is of. */
  async run(unit = 0, shown = 0): Promise<void> {
    const { context } = this;
    if (this.busy) {
      context.server.cancel("simulate");
      return;
    }
    this.busy = true;
    this.button.textContent = "Stop";
    const devices = [...new Set([context.state.chip, context.state.other].filter(Boolean))];
    fill(this.result, h("p", { class: "soft working" }, `simulating on ${devices.join(" and ")} …`));
    try {
      const part = this.sample.value.trim() ? Number(this.sample.value) : null;
      const found = await context.server.ask<Simulation>("simulate", { ...request(context), devices, sample: part, unit, launch: shown }, "simulate");
      this.show(found);
    } catch (error) {
      fill(this.result, error instanceof Superseded ? h("p", { class: "soft" }, "stopped") : problem(error));
    } finally {
      this.busy = false;
      this.button.textContent = "Simulate";
    }
  }

  private show(found: Simulation): void {
    for (const end of this.ends) end();
    this.ends = [];
    const { launches } = found;
    const fact = (title: string, value: (launch: Launch) => string): HTMLElement =>
      h("tr", {}, h("th", { scope: "row" }, title), ...launches.map((launch) => h("td", { class: "n" }, value(launch))));
    const over = h("div", { class: "plot" });
    const traffic = h("div", { class: "plot" });
    const first = launches[0]!;
    fill(
      this.result,
      ...launches.map((launch) => h("p", { class: "line" }, h("b", {}, `${launch.device}: `), launch.bottleneck)),
      h(
        "div",
        { class: "cards" },
        h("section", { class: "card" }, h("h3", {}, "The launch"),
          h("table", { class: "metrics" },
            h("thead", {}, h("tr", {}, h("td", {}), ...launches.map((launch) => h("th", { scope: "col", class: "n" }, launch.device)))),
            h("tbody", {},
              fact("Time", (l) => seconds(l.seconds)), fact("Cycles", (l) => count(l.cycles)), fact("With copies", (l) => seconds(l.host.total_seconds)),
              fact("Instructions", (l) => count(l.instructions)), fact("Wavefronts", (l) => count(l.wavefronts)), fact("GFLOP/s", (l) => count(l.gflops)),
              fact("Waves a SIMD", (l) => count(l.mean_waves_per_simd)), fact("Held", (l) => `${l.occupancy.wavefronts} of ${l.occupancy.slots}`)))),
        h("div", { class: "column" },
          ...launches.map((launch) => h("section", { class: "card" }, h("h3", {}, `SIMDs' time on ${launch.device}`), stack(Object.entries(launch.causes)),
            h("h3", {}, "Wavefronts' time"), stack(Object.entries(launch.wave_causes))))),
        h("div", { class: "column" },
          ...launches.map((launch) => h("section", { class: "card" }, h("h3", {}, `Units on ${launch.device}`),
            bars(launch.units.map((unit) => ({ name: unit.name, value: unit.busy, shown: percent(unit.busy), kind: unit.busy >= 0.7 ? "binds" : "", explain: COUNTERS[unit.name] })), 1)))),
        h("div", { class: "column wide2" },
          h("section", { class: "card" }, h("h3", {}, "Resident wavefronts over time"), over),
          h("section", { class: "card" }, h("h3", {}, "Memory, bytes a second over time"), traffic)),
      ),
    );
    const plot = (place: HTMLElement, title: string, of: (launch: Launch) => [number, number][]): void => {
      const x = of(first).map(([cycle]) => cycle);
      if (x.length < 2) return;
      const other = launches[1];
      const lines = [{ label: first.device, y: of(first).map(([, value]) => value) }];
      if (other) {
        const points = of(other);
        lines.push({ label: other.device, y: x.map((cycle) => points.reduce((found, [at, value]) => (at <= cycle ? value : found), 0)) });
      }
      this.ends.push(series(place, title, x, lines, "cycles"));
    };
    plot(over, "Resident wavefronts over cycles", (launch) => launch.occupancy_series);
    plot(traffic, "Bytes of memory a second over cycles", (launch) => launch.traffic_series);
    if (found.timeline) this.timeline.show(found.timeline);
    this.context.hot(first);
  }
}
