// One kernel on one or two chips: metrics, what bounds it, occupancy, advice, assumptions.

import { bars, roofline, stack, terms } from "./charts";
import { fill, h, percent } from "./dom";
import type { State } from "./state";
import type { Kernel, Metric } from "./types";

const TITLES: Record<string, string> = {
  seconds: "Time", bound_by: "Bound by", headroom: "Headroom", gflops: "GFLOP/s", bandwidth: "GB/s", occupancy: "Occupancy",
  wavefronts: "Wavefronts a SIMD", vgprs: "VGPRs", live_vgprs: "Live VGPRs", sgprs: "SGPRs", gprs: "GPRs", stack_entries: "Stack entries",
  lds_bytes: "LDS", scratch_bytes: "Scratch", code_bytes: "Code", instructions: "Instructions", alu_per_fetch: "ALU a fetch",
  alu_fetch_ratio: "ALU:fetch", packing: "Packing", clauses: "Clauses", burst: "Burst", float64: "Double precision",
  transcendental: "Transcendental", scalar_loads: "Scalar loads", line_use: "Line use", intensity: "Intensity",
  lane_efficiency: "Lanes used", tail_efficiency: "Tail", fill: "Fill", pcie: "PCI Express",
};

function metricsTable(kernels: { name: string; kernel: Kernel }[]): HTMLElement {
  const names = [...new Set(kernels.flatMap(({ kernel }) => Object.keys(kernel.metrics)))];
  const cell = (metric: Metric | undefined): HTMLElement =>
    h("td", { class: `n ${metric?.verdict ?? ""}` }, metric?.shown ?? "", metric?.unit && !metric.unit.includes("share") ? h("small", {}, ` ${metric.unit}`) : null);
  return h(
    "table",
    { class: "metrics" },
    h("caption", { class: "away" }, "Metrics"),
    kernels.length > 1 ? h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Metric"), ...kernels.map(({ name }) => h("th", { scope: "col", class: "n" }, name)))) : null,
    h(
      "tbody",
      {},
      ...names.map((name) =>
        h(
          "tr",
          { class: kernels.length > 1 && kernels[0]!.kernel.metrics[name]?.shown !== kernels[1]!.kernel.metrics[name]?.shown ? "differs" : "" },
          h("th", { scope: "row" }, h("span", { class: "explained", tabindex: "0", "data-explain": name }, TITLES[name] ?? name)),
          ...kernels.map(({ kernel }) => cell(kernel.metrics[name])),
        ),
      ),
    ),
  );
}

function occupancy({ occupancy: found }: Kernel): HTMLElement {
  const most = Math.max(...found.limits.map((limit) => limit.work_groups));
  return h(
    "div",
    {},
    h("p", {}, h("b", {}, `${found.wavefronts} of ${found.wavefront_slots}`), ` wavefronts, ${found.work_groups} work-groups; limited by ${found.limited_by.join(", ")}`),
    bars(
      found.limits.map((limit) => ({
        name: limit.resource,
        value: limit.work_groups,
        shown: `${limit.work_groups} groups`,
        kind: found.limited_by.includes(limit.resource) ? "binds" : "",
        title: `${limit.given} of ${limit.capacity} each`,
      })),
      most,
    ),
  );
}

const card = (title: string, explain: string, ...body: (Node | null)[]): HTMLElement =>
  h("section", { class: "card" }, h("h3", {}, h("span", { class: "explained", tabindex: "0", "data-explain": explain }, title)), ...body);

/** What is assumed of a launch that cannot be proved: `headwater analyze` takes the same as options. */
const ASSUMED: { name: "trips" | "arguments" | "hit"; label: string; hint: string }[] = [
  { name: "trips", label: "Loop trips", hint: "L1=16 L2=4" },
  { name: "arguments", label: "Values", hint: "n=512" },
  { name: "hit", label: "Cache hits", hint: "0 to 1" },
];

export class AnalysisView {
  private cards = h("div", { class: "cards" });
  readonly element = h("div", {}, this.cards);

  /** ``changed``: the analysis is to be made anew. */
  constructor(state: State, changed: () => void) {
    this.element.prepend(
      h("div", { class: "bar-line", role: "group", "aria-label": "What is assumed" },
        ...ASSUMED.map(({ name, label, hint }) => {
          const input = h("input", {
            id: `assumed-${name}`, value: state[name], placeholder: hint, autocomplete: "off", spellcheck: "false",
            oninput: () => {
              state[name] = input.value.trim();
              changed();
            },
          });
          return h("label", { class: "field" }, h("span", {}, label), input);
        })),
    );
  }

  show(kernels: { name: string; kernel: Kernel }[]): void {
    if (!kernels.length) {
      fill(this.cards, h("p", { class: "empty" }, "Nothing to analyze yet: write a kernel, or choose an example."));
      return;
    }
    const first = kernels[0]!.kernel;
    const { advice, assumptions, loops } = first;
    fill(
      this.cards,
      card("Metrics", "metrics", metricsTable(kernels)),
      h(
        "div",
        { class: "column" },
        ...kernels.map(({ name, kernel }) =>
          card(
            kernels.length > 1 ? `Time on ${name}` : "Where the time goes",
            "bound_by",
            h("p", {}, "Bound by ", h("b", {}, kernel.estimate.bound_by), `; headroom ${percent(Number(kernel.metrics["headroom"]?.value ?? 0))}`),
            terms(kernel.estimate.terms, kernel.estimate.bound_by),
          ),
        ),
        card("Instructions on the average path", "instructions", stack(shares(first.paths["average"]?.classes ?? {}))),
      ),
      h(
        "div",
        { class: "column" },
        card("Advice", "headroom",
          advice.length
            ? h("ol", { class: "advice" }, ...advice.map((one) => h("li", {}, h("b", {}, one.do), h("p", {}, one.because))))
            : h("p", {}, "No rule applies."),
        ),
        loops.length
          ? card("Loops", "loops", h("ul", { class: "plain" }, ...loops.map((loop) =>
              h("li", {}, h("b", {}, loop.name), loop.lines ? ` lines ${loop.lines[0]}–${loop.lines[1]}: ` : ": ", `${loop.trip} × (${loop.known})`, h("p", {}, loop.why)))))
          : null,
      ),
      h(
        "div",
        { class: "column" },
        ...kernels.map(({ name, kernel }) => card(kernels.length > 1 ? `Occupancy on ${name}` : "Occupancy", "occupancy", occupancy(kernel))),
        card("Roofline", "intensity", roofline(kernels) as unknown as HTMLElement),
        card("Assumed", "launch", h("ul", { class: "plain soft" }, ...assumptions.map((one) => h("li", {}, one)))),
      ),
    );
  }
}

function shares(classes: Record<string, number>): [string, number][] {
  const whole = Object.values(classes).reduce((a, b) => a + b, 0) || 1;
  return Object.entries(classes).map(([name, value]) => [name, value / whole]);
}
