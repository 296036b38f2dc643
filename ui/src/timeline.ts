// A simulated run's wavefronts over time, on a canvas: rows are places of wavefronts, colours what they wait for.
//
// Records are sorted by row and time; what a frame shows is found by bisection, and where a pixel holds many records only
// its longest is drawn: a frame costs rows × pixels at most, however long the run is, and a frame of a pan what comes
// into view. Above the rows are what the queue and the copies did.

import { bytesOf, count, fill, h, percent, seconds } from "./dom";
import type { Timeline } from "./types";

interface Track {
  unit: number;
  simd: number;
  slot: number;
  /** Records of what its wavefronts do or wait for, and behind them those of the wavefronts themselves. */
  first: number;
  middle: number;
  last: number;
  /** What its pixels show, from pixel `begin` of the time on, each of `step` cycles. */
  step: number;
  begin: number;
  doing: Uint8Array;
  waves: Uint8Array;
}

const ROW = 15;
const HEAD = 22;
const SIDE = 118;
const NOTHING = 0;
/** Launches in a list; of more, one is chosen by its number. */
const MOST_LISTED = 200;

/** Waits and clauses that share the colour of another. */
const SAME: Record<string, string> = { "ALU clause": "issue", "fetch clause": "vector-memory", "clause switch": "clause", "fetch queue": "start", code: "other" };

export class TimelineView {
  readonly element = h("div", { class: "timeline" });
  private canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": "Timeline: drag to pan, wheel or + and − to zoom, arrows to move" });
  private said = h("p", { class: "soft said", "aria-live": "polite" });
  private data: Timeline | null = null;
  private tracks: Track[] = [];
  /** Those of the chosen compute unit. */
  private shown: Track[] = [];
  private board: { title: string; steps: Timeline["board"] }[] = [];
  private start!: Float64Array;
  private length!: Float64Array;
  private kind!: Uint8Array;
  private what!: Uint32Array;
  private low = 0;
  private high = 1;
  private from = 0;
  private until = 1;
  private top = 0;
  private ink = "";
  private colours: string[] = [];
  /** The same as pixels, from 1 on; the last is a wavefront's first pixel. */
  private pixels = new Uint32Array(0);
  private image: ImageData | null = null;
  private labelled = "";
  private frame = 0;
  private highlighted = -1;
  /** Milliseconds that the last frames took to draw, for measurements. */
  readonly frames: number[] = [];

  /** ``wanted``: another first compute unit, or another launch, is to be shown than there is. */
  constructor(private wanted: (unit: number, launch: number) => void) {
    fill(this.element, h("p", { class: "empty" }, "Simulate a kernel to see its wavefronts over time."));
    this.listen();
    new ResizeObserver(() => this.ask()).observe(this.element);
    new MutationObserver(() => this.colour()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colour());
  }

  show(data: Timeline): void {
    this.data = data;
    const words = new Uint32Array(bytesOf(data.records).buffer);
    const wave = data.waits.length;
    // In a row: what its wavefronts do, by time, then the wavefronts themselves.
    const row = (n: number): number => 2 * words[5 * n + 2]! + Number(words[5 * n + 3] === wave);
    const order = new Uint32Array(data.count).map((_, n) => n);
    order.sort((a, b) => row(a) - row(b) || words[5 * a]! - words[5 * b]!);
    this.start = new Float64Array(data.count);
    this.length = new Float64Array(data.count);
    this.kind = new Uint8Array(data.count);
    this.what = new Uint32Array(data.count);
    this.tracks = [];
    let high = Math.max(1, data.cycles);
    order.forEach((n, at) => {
      const start = (this.start[at] = words[5 * n]!);
      const length = (this.length[at] = words[5 * n + 1]!);
      const kind = (this.kind[at] = words[5 * n + 3]!);
      this.what[at] = words[5 * n + 4]!;
      high = Math.max(high, start + length);
      const key = words[5 * n + 2]!;
      let last = this.tracks[this.tracks.length - 1];
      if (!last || ((last.unit << 16) | (last.simd << 8) | last.slot) !== key) {
        const none = new Uint8Array(0);
        last = { unit: key >>> 16, simd: (key >>> 8) & 255, slot: key & 255, first: at, middle: at, last: at, step: 0, begin: 0, doing: none, waves: none };
        this.tracks.push(last);
      }
      last.last = at + 1;
      if (kind !== wave) last.middle = at + 1;
    });
    this.board = ([["queue", "queue"], ["copies", "copies"]] as const)
      .map(([row, title]) => ({ title, steps: data.board.filter((step) => step.row === row) }))
      .filter(({ steps }) => steps.length);
    this.low = Math.min(0, ...data.board.map((step) => step.start));
    this.high = Math.max(high, ...data.board.map((step) => step.start + step.cycles));
    this.from = 0;
    this.until = high;
    const legend = h("p", { class: "legend" });
    const zoom = (factor: number) => () => this.zoom(factor, (this.from + this.until) / 2);
    fill(
      this.element,
      h(
        "div",
        { class: "bar-line" },
        legend,
        h("span", { class: "grow" }),
        ...this.selects(data),
        h("button", { type: "button", "aria-label": "Zoom in", onclick: zoom(0.5) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: zoom(2) }, "−"),
        h("button", { type: "button", title: "the launch, then with what comes before and behind it", onclick: () => this.whole() }, "All"),
      ),
      this.canvas,
      this.said,
    );
    this.colour();
    fill(
      legend,
      ...this.kinds().map(([kind, name]) => {
        const key = h("i", {});
        key.style.background = this.colours[kind]!;
        return h("button", { type: "button", class: "key", "aria-pressed": "false", onclick: (event: Event) => this.highlight(kind, event.currentTarget as Element) }, key, name);
      }),
    );
    this.choose(-1);
    const [first, behind] = data.units;
    const part = behind - first < data.of_units ? `${data.unit}s ${first} to ${behind - 1} of ${data.of_units}` : `all ${data.of_units} ${data.unit}s`;
    this.say(`${count(data.count)} events of ${this.tracks.length} wavefront places in ${part}${data.cut ? ", the beginning" : ""}; ${count(data.cycles)} cycles at ${data.clock} MHz`);
  }

  /** Which compute unit, and which launch of several. Units that are not here are asked for. */
  private selects(data: Timeline): HTMLElement[] {
    const [first, behind] = data.units;
    const units = h("select", { "aria-label": "Compute units", onchange: () => {
      const unit = Number(units.value);
      if (unit < 0 || (unit >= first && unit < behind)) this.choose(unit);
      else this.wanted(unit, data.launch);
    } },
      h("option", { value: -1 }, behind - first < data.of_units ? `${data.unit}s ${first}–${behind - 1}` : `all ${data.unit}s`),
      ...Array.from({ length: data.of_units }, (_, n) => h("option", { value: n }, `${data.unit} ${n}${n < first || n >= behind ? " …" : ""}`)));
    if (data.launches.length < 2) return [units];
    const named = (n: number): string => `launch ${n}: ${data.kernels[data.launches[n]!]}`;
    if (data.launches.length > MOST_LISTED) {
      const last = data.launches.length - 1;
      const number = h("input", { type: "number", min: 0, max: last, value: data.launch, "aria-label": "Launch", title: named(data.launch), onchange: () => {
        if (number.reportValidity()) this.wanted(0, Number(number.value));
      } });
      return [h("label", {}, "launch ", number, ` of ${count(last + 1)}: ${data.kernels[data.launches[data.launch]!]}`), units];
    }
    const launches = h("select", { "aria-label": "Launch", onchange: () => this.wanted(0, Number(launches.value)) },
      ...data.launches.map((_, n) => h("option", { value: n, selected: n === data.launch }, named(n))));
    return [launches, units];
  }

  private choose(unit: number): void {
    this.shown = unit < 0 ? this.tracks : this.tracks.filter((track) => track.unit === unit);
    this.top = 0;
    this.labelled = "";
    this.canvas.style.height = `${HEAD + ROW * (this.board.length + Math.max(1, Math.min(this.shown.length, 24))) + 6}px`;
    this.ask();
  }

  /** Read the colours of the theme. */
  private colour(): void {
    const { data } = this;
    if (!data) return;
    const style = getComputedStyle(document.documentElement);
    const named = (name: string): string => style.getPropertyValue(name).trim();
    const colour = (name: string): string => named(`--cause-${SAME[name] ?? name.replaceAll(" ", "-").toLowerCase()}`) || named("--cause-other");
    this.colours = [...data.waits.map(colour), named("--wave"), ...data.clauses.map(colour)];
    this.ink = getComputedStyle(this.canvas).color;
    this.labelled = "";
    const g = h("canvas", { width: this.colours.length + 1, height: 1 }).getContext("2d", { willReadFrequently: true })!;
    [...this.colours, this.colours[data.waits.length]!].forEach((one, n) => {
      g.fillStyle = one;
      g.fillRect(n, 0, 1, 1);
    });
    g.fillStyle = "#0005";
    g.fillRect(this.colours.length, 0, 1, 1);
    this.pixels = new Uint32Array(g.getImageData(0, 0, this.colours.length + 1, 1).data.buffer);
    this.ask();
  }

  /** Show the launch; if that is shown, all of the time. */
  whole(): void {
    if (!this.data) return;
    const launch = this.from === 0 && this.until === this.data.cycles;
    this.from = launch ? this.low : 0;
    this.until = launch ? this.high : this.data.cycles;
    this.ask();
  }

  zoom(factor: number, around: number): void {
    const span = Math.min(this.high - this.low, Math.max(8, (this.until - this.from) * factor));
    const share = (around - this.from) / (this.until - this.from);
    this.move(around - span * share, span);
  }

  /** Pan so many pixels. */
  pan(pixels: number): void {
    const span = this.until - this.from;
    this.move(this.from + (pixels * span) / Math.max(1, this.canvas.clientWidth - SIDE), span);
  }

  private move(from: number, span: number): void {
    this.from = Math.max(this.low, Math.min(from, this.high - span));
    this.until = this.from + Math.min(span, this.high - this.low);
    this.ask();
  }

  private kinds(): [number, string][] {
    const data = this.data!;
    const used = new Set(this.kind);
    const names = [...data.waits.map((name) => (name === "issue" ? "waits for its turn" : name)), "runs", ...data.clauses];
    return names.map((name, n): [number, string] => [n, name]).filter(([n]) => used.has(n));
  }

  private highlight(kind: number, button: Element): void {
    this.highlighted = this.highlighted === kind ? -1 : kind;
    for (const one of this.element.querySelectorAll(".key")) one.setAttribute("aria-pressed", String(one === button && this.highlighted >= 0));
    this.ask();
  }

  private say(text: string): void {
    this.said.textContent = text;
  }

  private ask(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begin = performance.now();
      this.draw();
      this.frames.push(performance.now() - begin);
      if (this.frames.length > 600) this.frames.shift();
    });
  }

  private draw(): void {
    const { canvas, data } = this;
    if (!data || !canvas.isConnected) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width <= SIDE) return;
    const g = canvas.getContext("2d", { alpha: true })!;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.image = null;
    }
    const line0 = HEAD + ROW * this.board.length;
    const wide = canvas.width - Math.round(SIDE * ratio);
    const high = canvas.height - Math.round(line0 * ratio);
    if (wide < 1 || high < 1) return;
    if (!this.image) {
      this.image = g.createImageData(wide, high);
      this.labelled = "";
    }
    const shown = Math.floor((height - line0) / ROW);
    this.top = Math.max(0, Math.min(this.top, this.shown.length - shown));
    const line = Math.floor(this.top);
    const rows = this.shown.slice(line, line + shown);
    const step = (this.until - this.from) / wide;
    this.paint(rows, step, Math.round(this.from / step), ratio);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.putImageData(this.image, canvas.width - wide, canvas.height - high);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(SIDE, 0, width - SIDE, line0);
    g.font = "11px ui-monospace, monospace";
    g.textBaseline = "middle";
    const scale = (width - SIDE) / (this.until - this.from);
    this.drawBoard(g, width, scale);
    this.axis(g, width, height, scale, this.ink);
    if (this.shown.length > shown) {
      const room = height - line0;
      g.fillStyle = this.ink;
      g.globalAlpha = 0.25;
      g.fillRect(width - 4, line0 + (room * line) / this.shown.length, 4, (room * shown) / this.shown.length);
      g.globalAlpha = 1;
    }
    this.labels(g, rows, line, line0, height);
  }

  /** What is left of the rows: drawn anew only when it changes. */
  private labels(g: CanvasRenderingContext2D, rows: Track[], line: number, line0: number, height: number): void {
    const key = `${line} ${height}`;
    if (key === this.labelled) return;
    this.labelled = key;
    const data = this.data!;
    g.clearRect(0, 0, SIDE, height);
    g.fillStyle = this.ink;
    g.globalAlpha = 0.75;
    g.fillText("cycles", 8, HEAD / 2);
    this.board.forEach(({ title }, n) => g.fillText(title, 8, HEAD + ROW * n + ROW / 2));
    rows.forEach((track, row) =>
      g.fillText(`${data.unit === "SIMD engine" ? "SIMD" : "CU"} ${track.unit} · ${data.clauses.length ? "" : `${track.simd}.`}${track.slot}`, 8, line0 + row * ROW + ROW / 2));
    g.globalAlpha = 1;
  }

  private drawBoard(g: CanvasRenderingContext2D, width: number, scale: number): void {
    this.board.forEach(({ steps }, n) => {
      let drawn = -1;
      steps.forEach((step, at) => {
        const x = Math.max(SIDE, SIDE + (step.start - this.from) * scale);
        const end = Math.min(width, SIDE + (step.start + step.cycles - this.from) * scale);
        if (end <= SIDE || x >= width || Math.max(end, x + 1) <= drawn) return;
        drawn = Math.max(end, x + 1);
        g.globalAlpha = at % 2 ? 0.35 : 0.5;
        g.fillStyle = this.ink;
        g.fillRect(x, HEAD + n * ROW + 2, drawn - x, ROW - 4);
      });
    });
    g.globalAlpha = 1;
  }

  /** The rows' pixels, from pixel `begin` of the time on. */
  private paint(rows: Track[], step: number, begin: number, ratio: number): void {
    const image = this.image!;
    const wide = image.width;
    const all = new Uint32Array(image.data.buffer);
    all.fill(0);
    const highlighted = this.highlighted + 1;
    const colours = new Uint32Array(256);
    this.pixels.forEach((pixel, n) => {
      const dim = highlighted && n + 1 !== highlighted && !(n === this.colours.length && highlighted === this.data!.waits.length + 1);
      colours[n + 1] = dim ? (pixel & 0xffffff) | (0x26 << 24) : pixel;
    });
    const outer = new Uint32Array(wide);
    const inner = new Uint32Array(wide);
    rows.forEach((track, row) => {
      this.update(track, step, begin, wide);
      const { doing, waves } = track;
      for (let x = 0; x < wide; x++) {
        const wave = (outer[x] = colours[waves[x]!]!);
        inner[x] = doing[x] ? colours[doing[x]!]! : wave;
      }
      const at = (pixels: number): number => Math.min(image.height, Math.round((row * ROW + pixels) * ratio));
      for (let y = at(1); y < at(ROW - 1); y++) all.set(y >= at(3) && y < at(ROW - 3) ? inner : outer, y * wide);
    });
  }

  /** Have a row's pixels: those that it showed before are kept, so that panning costs what comes into view. */
  private update(track: Track, step: number, begin: number, wide: number): void {
    const moved = begin - track.begin;
    if (track.doing.length !== wide) {
      track.doing = new Uint8Array(wide);
      track.waves = new Uint8Array(wide);
    }
    let [left, right] = [0, wide];
    if (track.step === step && Math.abs(moved) < wide) {
      if (moved >= 0) left = wide - moved;
      else right = -moved;
      for (const line of [track.doing, track.waves]) line.copyWithin(Math.max(0, -moved), Math.max(0, moved), wide - Math.max(0, -moved));
    }
    track.step = step;
    track.begin = begin;
    this.columns(track.first, track.middle, step, begin, left, right, track.doing, 0);
    this.columns(track.middle, track.last, step, begin, left, right, track.waves, this.colours.length + 1);
  }

  /** The kinds of records, which do not overlap, that pixels from `left` to `right` show: of many in one pixel the
   *  longest. `edge`: what the first pixel of a record shows that has several. */
  private columns(first: number, last: number, step: number, begin: number, left: number, right: number, out: Uint8Array, edge: number): void {
    const { start, length, kind } = this;
    out.fill(NOTHING, left, right);
    let n = Math.max(first, this.behind(first, last, (begin + left) * step) - 1);
    for (let x = left; x < right; ) {
      const time = (begin + x) * step;
      const next = time + step;
      for (let looked = 0; n < last && start[n]! + length[n]! <= time; n++)
        if (++looked > 16) n = Math.max(n, this.behind(n, last, time) - 2);
      if (n >= last) return;
      if (start[n]! >= next) {
        x = Math.max(x + 1, Math.floor(start[n]! / step) - begin);
        continue;
      }
      const end = start[n]! + length[n]!;
      if (end >= next) {
        const until = Math.min(right, Math.max(x + 1, Math.floor(end / step) - begin));
        out.fill(kind[n]! + 1, x, until);
        if (edge && start[n]! >= time && length[n]! > 4 * step) out[x] = edge;
        x = until;
        continue;
      }
      let longest = n;
      let most = end - Math.max(start[n]!, time);
      for (let other = n + 1; other < last && other < n + 16 && start[other]! < next; other++) {
        const part = Math.min(start[other]! + length[other]!, next) - start[other]!;
        if (part > most) [longest, most] = [other, part];
      }
      out[x++] = kind[longest]! + 1;
    }
  }

  /** The first record that begins behind a time. */
  private behind(low: number, high: number, time: number): number {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private axis(g: CanvasRenderingContext2D, width: number, height: number, scale: number, ink: string): void {
    const wanted = 110 / scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted) ?? 10 * power);
    g.fillStyle = ink;
    for (let tick = Math.ceil(this.from / step) * step; tick <= this.until; tick += step) {
      const x = SIDE + (tick - this.from) * scale;
      g.globalAlpha = 0.14;
      g.fillRect(x, HEAD, 1, height - HEAD);
      g.globalAlpha = 0.8;
      if (x < width - 40) g.fillText(count(tick), x + 3, HEAD / 2);
    }
    g.globalAlpha = 1;
  }

  private at(x: number, y: number): string {
    const data = this.data;
    if (!data || y < HEAD || x < SIDE) return "";
    const row = Math.floor((y - HEAD) / ROW);
    const time = this.from + ((x - SIDE) / (this.canvas.clientWidth - SIDE)) * (this.until - this.from);
    const board = this.board[row];
    if (board) {
      const step = board.steps.find((one) => one.start <= time && time < one.start + one.cycles);
      return `cycle ${count(Math.round(time))}: ${step ? `${step.name}, ${seconds(step.cycles / (data.clock * 1e6))}` : "nothing"}`;
    }
    const track = this.shown[Math.floor(this.top) + row - this.board.length];
    if (!track) return "";
    const holds = (first: number, last: number): number => {
      const n = this.behind(first, last, time) - 1;
      return n >= first && this.start[n]! + this.length[n]! >= time ? n : -1;
    };
    const wave = data.waits.length;
    const [own, does] = [holds(track.middle, track.last), holds(track.first, track.middle)];
    const of = data.wavefronts_per_group;
    const inside = own < 0 ? "" : `group ${Math.floor(this.what[own]! / of)}, wavefront ${this.what[own]! % of}: ${count(this.length[own]!)} cycles`;
    const kind = does < 0 ? 0 : this.kind[does]!;
    const doing = does < 0 ? "" : `${kind < wave ? `waits (${data.waits[kind]})` : data.clauses[kind - wave - 1]} for ${count(this.length[does]!)} cycles at ${data.texts[this.what[does]!] ?? ""}`;
    return `cycle ${count(Math.round(time))}: ${[inside, doing].filter(Boolean).join("; ") || "no wavefront"}`;
  }

  private listen(): void {
    const { canvas } = this;
    let held: { x: number; y: number } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => (held = null));
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        this.pan(held.x - event.clientX);
        this.top += (held.y - event.clientY) / ROW;
        held = { x: event.clientX, y: event.clientY };
        return;
      }
      const text = this.at(event.offsetX, event.offsetY);
      if (text) this.say(text);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!this.data) return;
        event.preventDefault();
        const time = this.from + ((event.offsetX - SIDE) / Math.max(1, canvas.clientWidth - SIDE)) * (this.until - this.from);
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX || event.deltaY);
        else this.zoom(Math.exp(event.deltaY * 0.0015), time);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      const quarter = (canvas.clientWidth - SIDE) / 4;
      const keys: Record<string, () => void> = {
        ArrowLeft: () => this.pan(-quarter), ArrowRight: () => this.pan(quarter),
        ArrowUp: () => { this.top -= 1; this.ask(); }, ArrowDown: () => { this.top += 1; this.ask(); },
        "+": () => this.zoom(0.5, (this.from + this.until) / 2), "=": () => this.zoom(0.5, (this.from + this.until) / 2),
        "-": () => this.zoom(2, (this.from + this.until) / 2), Home: () => this.whole(),
      };
      const act = keys[event.key];
      if (!act || !this.data) return;
      event.preventDefault();
      act();
      this.say(`cycles ${count(Math.round(this.from))} to ${count(Math.round(this.until))}, ${percent((this.until - this.from) / this.data.cycles)} of the time`);
    });
  }
}
