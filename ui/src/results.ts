// Outputs of a run: as a picture, a plot or a table.

import { series } from "./charts";
import { bytesOf, count, download, fill, h } from "./dom";
import type { Output } from "./types";

type Numbers = ArrayLike<number>;
const KINDS: Record<string, (bytes: ArrayBuffer) => Numbers> = {
  f4: (b) => new Float32Array(b), f8: (b) => new Float64Array(b), i1: (b) => new Int8Array(b), u1: (b) => new Uint8Array(b),
  b1: (b) => new Uint8Array(b), i2: (b) => new Int16Array(b), u2: (b) => new Uint16Array(b), i4: (b) => new Int32Array(b), u4: (b) => new Uint32Array(b),
  i8: (b) => Float64Array.from(new BigInt64Array(b), Number), u8: (b) => Float64Array.from(new BigUint64Array(b), Number),
  f2: (b) => Float32Array.from(new Uint16Array(b), half),
};

function half(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

export function numbersOf(output: Output): Numbers {
  const make = KINDS[output.dtype.slice(1)];
  return make ? make(bytesOf(output.base64).buffer as ArrayBuffer) : [];
}

type View = "picture" | "plot" | "table";

/** Whether rows and columns are pixels: two dimensions, or three of which the last is colours. */
function pictured(shape: number[]): boolean {
  return (shape.length === 2 && shape[0]! > 1 && shape[1]! > 4) || (shape.length === 3 && shape[2]! <= 4);
}

function picture(output: Output, values: Numbers): HTMLElement {
  const [height, width] = [output.sent[0]!, output.sent[1]!];
  const channels = output.sent[2] ?? 1;
  const canvas = h("canvas", { width, height, role: "img", "aria-label": `${output.name} as a picture of ${width} × ${height}` });
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(width, height);
  const packed = channels === 1 && output.dtype.slice(1) === "u4" && (output.max ?? 0) > 0xffffff;
  const [low, high] = [output.min ?? 0, output.max ?? 1];
  const raw = output.dtype.slice(1) === "u1";
  const scale = high > low ? 255 / (high - low) : 0;
  for (let n = 0; n < width * height; n++) {
    const to = 4 * n;
    image.data[to + 3] = 255;
    if (packed) {
      const value = values[n]!;
      for (let c = 0; c < 3; c++) image.data[to + c] = (value >>> (8 * c)) & 255;
    } else if (channels === 1) {
      const t = (values[n]! - low) * scale;
      const colour = raw ? [t, t, t] : ramp(t / 255);
      for (let c = 0; c < 3; c++) image.data[to + c] = colour[c]!;
    } else
      for (let c = 0; c < 3; c++) {
        const value = values[channels * n + Math.min(c, channels - 1)]!;
        image.data[to + c] = raw ? value : (value - low) * scale;
      }
  }
  context.putImageData(image, 0, 0);
  return h("div", { class: "picture" }, canvas);
}

/** Dark blue over teal to pale yellow: brightness rises all the way. */
function ramp(t: number): [number, number, number] {
  const s = Math.max(0, Math.min(1, t));
  return [255 * Math.min(1, Math.max(0, 2.1 * s - 0.95) + 0.1 * s), 255 * (0.08 + 0.9 * s ** 0.8), 255 * (0.3 + 0.35 * Math.sin(Math.PI * s))];
}

function table(output: Output, values: Numbers): HTMLElement {
  const columns = output.sent.length > 1 ? output.sent[output.sent.length - 1]! : Math.min(8, values.length);
  const wide = Math.min(columns, 16);
  const rows = Math.min(Math.ceil(values.length / columns), 64);
  const shown = (value: number | undefined): string => (value === undefined ? "" : Number.isInteger(value) ? String(value) : String(+value.toPrecision(6)));
  return h(
    "div",
    { class: "scroll small", tabindex: "0", role: "region", "aria-label": `${output.name} as a table` },
    h(
      "table",
      { class: "values" },
      h("thead", {}, h("tr", {}, h("td", {}), ...Array.from({ length: wide }, (_, c) => h("th", { scope: "col", class: "n" }, c)))),
      h("tbody", {}, ...Array.from({ length: rows }, (_, r) =>
        h("tr", {}, h("th", { scope: "row", class: "n" }, r * columns), ...Array.from({ length: wide }, (_, c) => h("td", { class: "n" }, shown(values[r * columns + c])))))),
    ),
    rows * wide < values.length ? h("p", { class: "soft" }, `the first ${rows} rows and ${wide} columns of ${count(values.length)} values`) : null,
  );
}

export function outputView(output: Output): HTMLElement {
  const values = numbersOf(output);
  const place = h("div", { class: "result-body" });
  const first: View = pictured(output.sent) ? "picture" : values.length > 16 ? "plot" : "table";
  let ends = (): void => undefined;
  const buttons = (["picture", "plot", "table"] as View[]).map((view) =>
    h("button", { type: "button", "aria-pressed": "false", disabled: view === "picture" && output.sent.length < 2, onclick: () => show(view) }, view),
  );
  const show = (view: View): void => {
    ends();
    ends = (): void => undefined;
    buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.textContent === view)));
    if (view === "plot") {
      fill(place);
      const step = Math.max(1, Math.floor(values.length / 4000));
      const x: number[] = [];
      const y: number[] = [];
      for (let n = 0; n < values.length; n += step) {
        x.push(n * (output.sent.length === 1 ? output.steps[0]! : 1));
        y.push(values[n]!);
      }
      ends = series(place, `${output.name} over its index`, x, [{ label: output.name, y }], "index");
    } else fill(place, view === "picture" ? picture(output, values) : table(output, values));
  };
  const facts = [
    `${output.dtype.slice(1)} ${output.shape.join(" × ")}`,
    output.min !== undefined ? `${count(output.min)} to ${count(output.max!)}, mean ${count(output.mean!)}` : "",
    output.not_finite ? `${count(output.not_finite)} not finite` : "",
    output.steps.some((step) => step > 1) ? `every ${output.steps.join(" × ")}th shown` : "",
  ].filter(Boolean);
  const made = h(
    "section",
    { class: "card result", "aria-label": `Output ${output.name}` },
    h(
      "header",
      {},
      h("h3", {}, output.name),
      h("span", { class: "soft" }, facts.join(" · ")),
      h("span", { class: "seg", role: "group", "aria-label": `How ${output.name} is shown` }, ...buttons),
      h("button", { type: "button", onclick: () => download(`${output.name}.bin`, bytesOf(output.base64) as BlobPart, "application/octet-stream") }, "Save"),
    ),
    place,
  );
  requestAnimationFrame(() => show(first));
  return made;
}
