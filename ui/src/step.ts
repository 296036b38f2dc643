// A launch stepped through on a simulated chip, forwards and backwards: instructions, wavefronts, registers of 64 lanes,
// local memory, arguments.

import { count, fill, h } from "./dom";
import type { Handle } from "./editor";
import { type Context, fields, problem, request } from "./runs";
import { Superseded } from "./server";

interface Place {
  address: number;
  label: string;
  text: string;
  clause: number;
  file: string;
  line: number;
}

interface State {
  family: string;
  kernel: string;
  position: number;
  ended: boolean;
  stop: { reason: string; text: string };
  fault: { message: string; hint: string } | null;
  groups: number[];
  group: number[];
  wavefront: number;
  wavefronts: { number: number; state: string; exec: string; label: string; line: number }[];
  place: Place | null;
  breakpoints: { number: number; text: string; hits: number }[];
  watchpoints: { number: number; text: string; hits: number }[];
  vectors: Record<string, number[]>;
  scalars: Record<string, number | string>;
  lds: { nbytes: number; dwords: number[] };
  memories: { name: string; nbytes: number; writable: boolean; type: string | null; elements: number[] }[];
}

const FORMATS: Record<string, (bits: number) => string> = {
  hex: (bits) => (bits >>> 0).toString(16).padStart(8, "0"),
  i32: (bits) => String(bits | 0),
  u32: (bits) => String(bits >>> 0),
  f32: (bits) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, bits >>> 0);
    const value = view.getFloat32(0);
    return Number.isInteger(value) && Math.abs(value) < 1e7 ? String(value) : (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6 ? String(+value.toPrecision(5)) : value.toExponential(1));
  },
};

const FORWARD: [string, string, string][] = [
  ["line", "Line", "to the next source line (F10)"],
  ["instruction", "Instruction", "one instruction (F11)"],
  ["clause", "Clause", "to the end of the clause or basic block"],
  ["barrier", "Barrier", "to where this wavefront waits at a barrier"],
  ["continue", "Continue", "to the next breakpoint, watchpoint or the end (F8)"],
];
const BACKWARD: [string, string, string][] = [
  ["back stop", "◀ Stop", "back to the last breakpoint or change"],
  ["back line", "◀ Line", "back by a source line (Shift+F10)"],
  ["back", "◀ Instruction", "back by an instruction (Shift+F11)"],
];

export class StepView {
  readonly element = h("div", { class: "pane-body step" });
  private body = h("div", { class: "step-body", hidden: true });
  private said = h("p", { class: "line", role: "status" });
  private code: Place[] = [];
  private state: State | null = null;
  private before: Record<string, number[]> = {};
  private register = "v0";
  private format = "hex";
  private busy = false;
  private rows: HTMLElement[] = [];
  private parts = {
    code: h("div", { class: "step-code", tabindex: "0", role: "region", "aria-label": "Instructions" }),
    waves: h("div", { class: "step-waves" }),
    registers: h("div", {}),
    scalars: h("div", { class: "scroll small", tabindex: "0", role: "region", "aria-label": "Scalar registers" }),
    memory: h("div", {}),
    stops: h("div", {}),
  };

  constructor(private context: Context, private shown: (line: number | null) => void, private source: Handle) {
    const button = ([action, title, hint]: [string, string, string]): HTMLElement =>
      h("button", { type: "button", title: hint, "data-step": action, onclick: () => void this.act(action) }, title);
    const where = h("input", { id: "step-where", placeholder: "line, @label, mnemonic", autocomplete: "off", spellcheck: "false" });
    const what = h("input", { id: "step-what", placeholder: "y[2], v3, lds[0:16]", autocomplete: "off", spellcheck: "false" });
    const lanes = h("input", { id: "step-lanes", placeholder: "0 1", size: 5, autocomplete: "off" });
    const asked = (title: string, field: HTMLInputElement, action: string): HTMLElement =>
      h("form", { class: "field inline", onsubmit: (event: Event) => { event.preventDefault(); void this.act(action, { at: field.value }); } },
        h("label", { for: field.id }, title), field, h("button", { type: "submit" }, "Set"));
    fill(
      this.element,
      h("form", { class: "bar-line", "aria-label": "Begin stepping", onsubmit: (event: Event) => { event.preventDefault(); void this.begin(); } },
        ...fields(context, "step"), h("button", { type: "submit", class: "primary" }, "Begin")),
      this.said,
      this.body,
    );
    fill(
      this.body,
      h("div", { class: "bar-line", role: "toolbar", "aria-label": "Steps" }, ...BACKWARD.map(button), h("span", { class: "gap" }), ...FORWARD.map(button)),
      h("div", { class: "bar-line" }, asked("Break at", where, "break"), asked("Watch", what, "watch"), asked("Until lanes differ", lanes, "differ"), this.parts.stops),
      h("div", { class: "step-grid" },
        this.parts.code,
        h("div", { class: "column" }, this.parts.waves, this.parts.registers),
        h("div", { class: "column" }, this.parts.memory, this.parts.scalars)),
    );
    document.addEventListener("keydown", (event) => {
      if (this.body.hidden || this.element.closest("[hidden]")) return;
      const action = { F8: "continue", F10: event.shiftKey ? "back line" : "line", F11: event.shiftKey ? "back" : "instruction" }[event.key];
      if (!action) return;
      event.preventDefault();
      void this.act(action);
    });
  }

  private async begin(): Promise<void> {
    const { context } = this;
    fill(this.said, h("span", { class: "soft working" }, `beginning on ${context.state.chip} …`));
    try {
      const found = await context.server.ask<{ state: State; code: Place[] }>("step", { ...request(context), device: context.state.chip, begin: true });
      this.code = found.code;
      this.begun = this.text();
      this.before = {};
      this.register = Object.keys(found.state.vectors)[0] ?? "";
      this.listCode();
      this.body.hidden = false;
      this.show(found.state);
      for (const line of this.source.breaks()) await this.act("break", { at: this.lineText(line) });
      this.showBreaks();
    } catch (error) {
      if (!(error instanceof Superseded)) fill(this.said, problem(error));
    }
  }

  private async act(action: string, more: object = {}): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const { state } = await this.context.server.ask<{ state: State }>("step", { do: action, ...more });
      this.show(state);
    } catch (error) {
      if (!(error instanceof Superseded)) fill(this.said, problem(error));
    } finally {
      this.busy = false;
    }
  }

  /** Set or delete the breakpoint of a source line, if a launch is being stepped through; else it waits for one. */
  async breakAt(line: number, on: boolean): Promise<void> {
    if (!this.state || this.begun !== this.text()) return;
    const text = this.lineText(line);
    const known = this.state.breakpoints.find((one) => one.text === text);
    if (on) await this.act("break", { at: text });
    else if (known) await this.act("delete", { n: known.number });
    this.showBreaks();
  }

  /** What is stepped through, as it was when that began: breakpoints of another text wait for its beginning. */
  private begun = "";

  private text(): string {
    const { main, files } = this.context.state;
    return `${main}\n${files[main] ?? ""}`;
  }

  private lineText(line: number): string {
    return `${this.context.state.main}:${line}`;
  }

  /** Only the lines where the launch does stop keep a mark. */
  private showBreaks(): void {
    const begin = `${this.context.state.main}:`;
    const lines = (this.state?.breakpoints ?? []).filter((one) => one.text.startsWith(begin)).map((one) => Number(one.text.slice(begin.length)));
    this.source.setBreaks(lines);
  }

  private listCode(): void {
    this.rows = this.code.map((place) =>
      h("div", { class: "step-row" },
        h("button", { type: "button", class: "break", "aria-label": `Break at ${place.label}`, "aria-pressed": "false", onclick: () => this.toggle(place) }, "●"),
        h("span", { class: "soft" }, place.label), h("code", {}, place.text), h("small", {}, place.line ? String(place.line) : "")));
    fill(this.parts.code, ...this.rows);
  }

  private toggle(place: Place): void {
    const known = this.state?.breakpoints.find((one) => one.text === `@${place.label}`);
    void (known ? this.act("delete", { n: known.number }) : this.act("break", { at: `@${place.label}` }));
  }

  private show(state: State): void {
    const last = this.state;
    this.before = last ? last.vectors : {};
    this.state = state;
    const { place, stop, fault } = state;
    const why = fault ? fault.message : stop.text || (state.ended ? "ended" : "");
    fill(
      this.said,
      h("b", {}, `${count(state.position)} instructions`), `, work-group ${state.group.join(", ")} of ${state.groups.join(" × ")}, wavefront ${state.wavefront}`,
      place ? `, at ${place.label}${place.line ? `, line ${place.line}` : ""}` : "", why ? h("span", { class: fault ? "bad" : "watch" }, ` — ${why}`) : null,
    );
    this.code.forEach((one, n) => {
      const row = this.rows[n]!;
      const now = place?.address === one.address;
      row.classList.toggle("now", now);
      if (now) {
        const pane = this.parts.code;
        if (row.offsetTop < pane.scrollTop || row.offsetTop > pane.scrollTop + pane.clientHeight - 40) pane.scrollTop = row.offsetTop - pane.clientHeight / 3;
      }
      row.firstElementChild!.setAttribute("aria-pressed", String(state.breakpoints.some((stop) => stop.text === `@${one.label}`)));
    });
    fill(
      this.parts.stops,
      ...[...state.breakpoints, ...state.watchpoints].map((one) =>
        h("span", { class: "file" }, h("small", {}, `${one.text} (${one.hits})`), h("button", { type: "button", class: "close", "aria-label": `Delete ${one.text}`, onclick: () => void this.act("delete", { n: one.number }) }, "×"))),
    );
    fill(
      this.parts.waves,
      h("div", { class: "seg waves", role: "group", "aria-label": "Wavefronts" }, ...state.wavefronts.map((wave) =>
        h("button", { type: "button", "aria-pressed": String(wave.number === state.wavefront), title: `${wave.state}, EXEC ${wave.exec}${wave.line ? `, line ${wave.line}` : ""}`, onclick: () => void this.act("wave", { n: wave.number }) }, `wavefront ${wave.number}`))),
    );
    this.showRegisters();
    this.showMemory();
    this.shown(place?.line ?? null);
  }

  private showRegisters(): void {
    const state = this.state!;
    const names = Object.keys(state.vectors);
    if (!names.includes(this.register)) this.register = names[0] ?? "";
    const select = h("select", { "aria-label": "Vector register", onchange: () => { this.register = select.value; this.showRegisters(); } },
      ...names.map((name) => h("option", { value: name, selected: name === this.register }, changedName(name, state.vectors[name]!, this.before[name]))));
    const formats = Object.keys(FORMATS).map((name) => h("button", { type: "button", "aria-pressed": String(name === this.format), onclick: () => { this.format = name; this.showRegisters(); this.showMemory(); } }, name));
    const values = state.vectors[this.register] ?? [];
    const exec = BigInt(state.wavefronts.find((wave) => wave.number === state.wavefront)?.exec ?? "0x0");
    const before = this.before[this.register];
    const shown = FORMATS[this.format]!;
    fill(
      this.parts.registers,
      h("div", { class: "bar-line" }, select, h("span", { class: "seg", role: "group", "aria-label": "Numbers as" }, ...formats)),
      h("table", { class: "lanes" }, h("caption", { class: "away" }, `${this.register} in 64 lanes`), h("tbody", {}, ...Array.from({ length: Math.ceil(values.length / 8) }, (_, r) =>
        h("tr", {}, h("th", { scope: "row" }, r * 8), ...values.slice(8 * r, 8 * r + 8).map((value, c) => {
          const lane = 8 * r + c;
          const on = (exec >> BigInt(lane)) & 1n;
          return h("td", { class: `${on ? "" : "off"} ${before && before[lane] !== value ? "changed" : ""}`, title: `lane ${lane}${on ? "" : ", does not execute"}` }, shown(value));
        }))))),
    );
    fill(
      this.parts.scalars,
      h("table", { class: "values" }, h("tbody", {}, ...Object.entries(state.scalars).map(([name, value]) =>
        h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, typeof value === "string" ? value : shown(value)))))),
    );
  }

  private showMemory(): void {
    const state = this.state!;
    const shown = FORMATS[this.format]!;
    const row = (values: string[]): HTMLElement => h("p", { class: "memory" }, ...values.slice(0, 32).map((value) => h("span", {}, value)));
    fill(
      this.parts.memory,
      ...state.memories.filter((memory) => memory.type).map((memory) =>
        h("section", { class: "card" }, h("h3", {}, memory.name, h("small", {}, ` ${memory.type}, ${count(memory.nbytes)} bytes`)), row(memory.elements.map((value) => String(+Number(value).toPrecision(6)))))),
      state.lds.nbytes ? h("section", { class: "card" }, h("h3", {}, "LDS", h("small", {}, ` ${count(state.lds.nbytes)} bytes`)), row(state.lds.dwords.map(shown))) : null,
    );
  }
}

function changedName(name: string, now: number[], before: number[] | undefined): string {
  return before && before.some((value, lane) => value !== now[lane]) ? `${name} •` : name;
}
