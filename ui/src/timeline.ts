// A simulated run's wavefronts over time, on a canvas: rows are places of wavefronts, colours what they wait for.
//
// Records are sorted by row and time; what a frame shows is found by bisection, and where a pixel holds many records only
// its longest is drawn: a frame costs rows × pixels at most, however long the run is.

import { bytesOf, count, fill, h, percent } from "./dom";
import type { Timeline } from "./types";

interface Track {
  unit: number;
  simd: number;
  slot: number;
  first: number;
  last: number;
}

const ROW = 15;
const HEAD = 22;
const SIDE = 118;

/** Waits and clauses that share the colour of another. */
const SAME: Record<string, string> = { "ALU clause": "issue", "fetch clause": "vector-memory", "clause switch": "clause", "fetch queue": "start", code: "other" };

export class TimelineView {
  readonly element = h("div", { class: "timeline" });
  private canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": "Timeline: drag to pan, wheel or + and − to zoom, arrows to move" });
  private said = h("p", { class: "soft said", "aria-live": "polite" });
  private data: Timeline | null = null;
  private tracks: Track[] = [];
  private start!: Float64Array;
  private length!: Float64Array;
  private kind!: Uint16Array;
  private what!: Uint32Array;
  private from = 0;
  private until = 1;
  private top = 0;
  private colours: string[] = [];
  private frame = 0;
  private highlighted = -1;
  /** Milliseconds that the last frames took to draw, for measurements. */
  readonly frames: number[] = [];

  constructor() {
    fill(this.element, h("p", { class: "empty" }, "Simulate a kernel to see its wavefronts over time."));
    this.listen();
    new ResizeObserver(() => this.ask()).observe(this.element);
  }

  show(data: Timeline): void {
    this.data = data;
    const words = new Uint32Array(bytesOf(data.records).buffer);
    const order = new Uint32Array(data.count).map((_, n) => n);
    const place = (n: number): number => words[5 * n + 2]!;
    const wave = data.waits.length;
    // In a row: the wavefront itself first, then what it does, by time.
    order.sort((a, b) => place(a) - place(b) || words[5 * a]! - words[5 * b]! || (words[5 * b + 3] === wave ? 1 : 0) - (words[5 * a + 3] === wave ? 1 : 0));
    this.start = new Float64Array(data.count);
    this.length = new Float64Array(data.count);
    this.kind = new Uint16Array(data.count);
    this.what = new Uint32Array(data.count);
    this.tracks = [];
    let until = 1;
    order.forEach((n, at) => {
      this.start[at] = words[5 * n]!;
      this.length[at] = words[5 * n + 1]!;
      this.kind[at] = words[5 * n + 3]!;
      this.what[at] = words[5 * n + 4]!;
      until = Math.max(until, words[5 * n]! + words[5 * n + 1]!);
      const key = place(n);
      const last = this.tracks[this.tracks.length - 1];
      if (last && ((last.unit << 16) | (last.simd << 8) | last.slot) === key) last.last = at + 1;
      else this.tracks.push({ unit: key >>> 16, simd: (key >>> 8) & 255, slot: key & 255, first: at, last: at + 1 });
    });
    this.from = 0;
    this.until = until;
    this.top = 0;
    const style = getComputedStyle(document.documentElement);
    const named = (name: string): string => style.getPropertyValue(name).trim();
    const colour = (name: string): string => named(`--cause-${SAME[name] ?? name.replaceAll(" ", "-").toLowerCase()}`) || named("--cause-other");
    this.colours = [...data.waits.map(colour), named("--wave"), ...data.clauses.map(colour)];
    const legend = h(
      "p",
      { class: "legend" },
      ...this.kinds().map(([kind, name]) => {
        const key = h("i", {});
        key.style.background = this.colours[kind]!;
        return h("button", { type: "button", class: "key", "aria-pressed": "false", onclick: (event: Event) => this.highlight(kind, event.currentTarget as Element) }, key, name);
      }),
    );
    const zoom = (factor: number) => () => this.zoom(factor, (this.from + this.until) / 2);
    fill(
      this.element,
      h(
        "div",
        { class: "bar-line" },
        legend,
        h("span", { class: "grow" }),
        h("button", { type: "button", "aria-label": "Zoom in", onclick: zoom(0.5) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: zoom(2) }, "−"),
        h("button", { type: "button", onclick: () => this.whole() }, "All"),
      ),
      this.canvas,
      this.said,
    );
    this.canvas.style.height = `${HEAD + ROW * Math.min(this.tracks.length, 24) + 6}px`;
    this.say(`${count(data.count)} events of ${this.tracks.length} wavefront places in ${new Set(this.tracks.map((t) => t.unit)).size} of the chip's ${data.unit}s; ${count(data.cycles)} cycles at ${data.clock} MHz`);
    this.ask();
  }

  /** Show all of the time. */
  whole(): void {
    if (!this.data) return;
    this.from = 0;
    this.until = this.end();
    this.ask();
  }

  zoom(factor: number, around: number): void {
    const span = Math.min(this.end(), Math.max(8, (this.until - this.from) * factor));
    const share = (around - this.from) / (this.until - this.from);
    this.move(around - span * share, span);
  }

  /** Pan so many pixels. */
  pan(pixels: number): void {
    const span = this.until - this.from;
    this.move(this.from + (pixels * span) / Math.max(1, this.canvas.clientWidth - SIDE), span);
  }

  private end(): number {
    let most = 1;
    for (const track of this.tracks) most = Math.max(most, this.start[track.last - 1]! + this.length[track.last - 1]!);
    return Math.max(most, this.until > 1 && !this.tracks.length ? this.until : 1);
  }

  private move(from: number, span: number): void {
    const end = this.end();
    this.from = Math.max(0, Math.min(from, end - span));
    this.until = this.from + Math.min(span, end);
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
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const g = canvas.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const ink = style.color;
    const scale = (width - SIDE) / (this.until - this.from);
    g.font = "11px ui-monospace, monospace";
    g.textBaseline = "middle";
    this.axis(g, width, height, scale, ink);
    const shown = Math.floor((height - HEAD) / ROW);
    this.top = Math.max(0, Math.min(this.top, this.tracks.length - shown));
    const wave = data.waits.length;
    const line = Math.floor(this.top);
    for (let row = 0; row < shown && line + row < this.tracks.length; row++) {
      const track = this.tracks[line + row]!;
      const y = HEAD + row * ROW;
      g.fillStyle = ink;
      g.globalAlpha = 0.75;
      g.fillText(`${data.unit === "SIMD engine" ? "SIMD" : "CU"} ${track.unit} · ${data.clauses.length ? "" : `${track.simd}.`}${track.slot}`, 8, y + ROW / 2);
      g.globalAlpha = 1;
      this.row(g, track, y, scale, wave);
    }
    if (this.tracks.length > shown) {
      const room = height - HEAD;
      g.fillStyle = ink;
      g.globalAlpha = 0.25;
      g.fillRect(width - 4, HEAD + (room * line) / this.tracks.length, 4, (room * shown) / this.tracks.length);
      g.globalAlpha = 1;
    }
  }

  private row(g: CanvasRenderingContext2D, track: Track, y: number, scale: number, wave: number): void {
    const { start, length, kind } = this;
    // The first record that may reach into the view: records of a row do not overlap but for the wavefront's own.
    let low = track.first;
    let high = track.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[middle]! < this.from) low = middle + 1;
      else high = middle;
    }
    let n = Math.max(track.first, low - 1);
    for (let back = 0; n > track.first && back < 400 && kind[n] !== wave; back++) n -= 1;
    const step = 1 / scale;
    while (n < track.last && start[n]! < this.until) {
      let at = n;
      const begin = start[n]!;
      const tiny = length[n]! < step;
      n += 1;
      if (tiny) {
        // All that this pixel holds: the longest stands for it; the next is found by bisection if there are many.
        const next = begin + step;
        let looked = 0;
        while (n < track.last && start[n]! < next && length[n]! < step && kind[n] !== wave) {
          if (length[n]! > length[at]!) at = n;
          n += 1;
          if (++looked > 16) {
            let [a, b] = [n, track.last];
            while (a < b) {
              const middle = (a + b) >> 1;
              if (start[middle]! < next) a = middle + 1;
              else b = middle;
            }
            n = Math.max(n, a);
            break;
          }
        }
      }
      const x = SIDE + Math.max(0, (begin - this.from) * scale);
      const wide = Math.max(1, (Math.min(begin + length[at]!, this.until) - Math.max(begin, this.from)) * scale);
      if (begin + length[at]! < this.from) continue;
      const own = kind[at] === wave;
      g.globalAlpha = this.highlighted >= 0 && this.highlighted !== kind[at] ? 0.15 : 1;
      g.fillStyle = this.colours[kind[at]!]!;
      g.fillRect(x, y + (own ? 1 : 3), wide, own ? ROW - 2 : ROW - 6);
      if (own && wide > 4) {
        g.globalAlpha *= 0.5;
        g.fillStyle = "#0006";
        g.fillRect(x, y + 1, 1, ROW - 2);
      }
    }
    g.globalAlpha = 1;
  }

  private axis(g: CanvasRenderingContext2D, width: number, height: number, scale: number, ink: string): void {
    const wanted = 110 / scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted) ?? 10 * power);
    g.fillStyle = ink;
    g.fillText("cycles", 8, HEAD / 2);
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
    const row = Math.floor(this.top) + Math.floor((y - HEAD) / ROW);
    const track = this.tracks[row];
    const data = this.data;
    if (!track || !data || y < HEAD || x < SIDE) return "";
    const time = this.from + ((x - SIDE) / (this.canvas.clientWidth - SIDE)) * (this.until - this.from);
    const wave = data.waits.length;
    let inside = "";
    let doing = "";
    let [low, high] = [track.first, track.last];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    for (let n = low - 1; n >= track.first && n > low - 2000; n--) {
      const kind = this.kind[n]!;
      if (this.start[n]! + this.length[n]! < time) {
        if (kind === wave) break;
        continue;
      }
      if (kind === wave) {
        const of = data.wavefronts_per_group;
        inside = `group ${Math.floor(this.what[n]! / of)}, wavefront ${this.what[n]! % of}: ${count(this.length[n]!)} cycles`;
        break;
      }
      doing ||= `${kind < wave ? `waits (${data.waits[kind]})` : data.clauses[kind - wave - 1]} for ${count(this.length[n]!)} cycles at ${data.texts[this.what[n]!] ?? ""}`;
    }
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
      this.say(`cycles ${count(Math.round(this.from))} to ${count(Math.round(this.until))}, ${percent((this.until - this.from) / this.end())} of the time`);
    });
  }
}
