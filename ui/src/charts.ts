// Numbers in, small charts in SVG out; series over time are uPlot's.

import uPlot from "uplot";
import { count, h, percent, seconds, svg } from "./dom";
import type { Kernel, Term } from "./types";

/** Bars beside their names, the longest as long as the place. */
export function bars(rows: { name: string; value: number; shown: string; kind?: string; title?: string; explain?: string }[], most = 0): HTMLElement {
  const top = most || Math.max(...rows.map((row) => row.value), 1e-30);
  return h(
    "div",
    { class: "bars" },
    ...rows.flatMap((row) => {
      const bar = h("i", { class: `bar ${row.kind ?? ""}` });
      bar.style.width = `${Math.min(100, (100 * row.value) / top).toFixed(2)}%`;
      return [h("span", row.explain ? { class: "bars-name explained", tabindex: "0", "data-explain": row.explain } : { class: "bars-name", title: row.title ?? null }, row.name), h("span", { class: "track" }, bar), h("span", { class: "n" }, row.shown)];
    }),
  );
}

/** One bar of parts, and its legend; `data-cause` gives each the colour that it has everywhere. */
export function stack(parts: [string, number][]): HTMLElement {
  const shown = parts.filter(([, share]) => share > 0.0005).sort((a, b) => b[1] - a[1]);
  return h(
    "div",
    { class: "stacked" },
    h(
      "div",
      { class: "stack", role: "img", "aria-label": shown.map(([name, share]) => `${name} ${percent(share)}`).join(", ") },
      ...shown.map(([name, share]) => {
        const part = h("i", { "data-cause": name, title: `${name} ${percent(share)}` });
        part.style.width = `${100 * share}%`;
        return part;
      }),
    ),
    h("p", { class: "legend" }, ...shown.map(([name, share]) => h("span", {}, h("i", { "data-cause": name }), `${name} ${percent(share)}`))),
  );
}

export function terms(found: Term[], bound: string): HTMLElement {
  return bars(
    found.map((term) => ({
      name: term.name,
      value: term.seconds,
      shown: seconds(term.seconds),
      kind: term.name === bound ? "binds" : "",
      title: term.how,
    })),
  );
}

/** Attainable GFLOP/s over FLOP a byte, of one or two kernels; both axes logarithmic. */
export function roofline(kernels: { name: string; kernel: Kernel }[]): SVGElement {
  const [width, height, left, right, top, bottom] = [440, 250, 52, 16, 14, 34];
  const points = kernels.flatMap(({ name, kernel }) => {
    const { roofline: roof } = kernel.estimate;
    const gflops = kernel.metrics["gflops"]?.value;
    return roof.intensity && typeof gflops === "number" && gflops > 0 ? [{ name, x: roof.intensity, y: gflops }] : [];
  });
  const roofs = kernels.map(({ kernel }) => kernel.estimate.roofline);
  const low = Math.floor(Math.log10(Math.min(0.1, ...points.map((p) => p.x / 2))));
  const high = Math.ceil(Math.log10(Math.max(...roofs.map((r) => r.ridge * 8), ...points.map((p) => p.x * 2))));
  const up = Math.ceil(Math.log10(Math.max(...roofs.map((r) => r.peak_gflops * 1.2))));
  const down = Math.floor(Math.log10(Math.min(...roofs.map((r) => r.bandwidth * 10 ** low), ...points.map((p) => p.y / 2))));
  const x = (value: number): number => left + ((width - left - right) * (Math.log10(value) - low)) / (high - low);
  const y = (value: number): number => top + (height - top - bottom) * (1 - (Math.log10(value) - down) / (up - down));
  const parts: SVGElement[] = [];
  for (let power = low; power <= high; power++)
    parts.push(
      svg("line", { class: "grid", x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom }),
      svg("text", { class: "tick", x: x(10 ** power), y: height - 18, "text-anchor": "middle" }, String(10 ** power)),
    );
  for (let power = down; power <= up; power++)
    parts.push(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(10 ** power), y2: y(10 ** power) }),
      svg("text", { class: "tick", x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, count(10 ** power)),
    );
  roofs.forEach((roof, n) => {
    const start = 10 ** low;
    const line = [[start, start * roof.bandwidth], [roof.ridge, roof.peak_gflops], [10 ** high, roof.peak_gflops]];
    parts.push(svg("polyline", { class: `curve curve${n}`, points: line.map(([a, b]) => `${x(a!)},${y(b!)}`).join(" ") }));
  });
  points.forEach((point, n) => {
    const end = x(point.x) > width * 0.6;
    parts.push(
      svg("circle", { class: `point curve${n}`, cx: x(point.x), cy: y(point.y), r: 5 }),
      svg("text", { class: "name", x: x(point.x) + (end ? -9 : 9), y: y(point.y) + 14, "text-anchor": end ? "end" : "start" }, `${point.name}: ${count(point.y)}`),
    );
  });
  parts.push(svg("text", { class: "tick", x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "FLOP a byte → GFLOP/s"));
  const label = points.map((p) => `${p.name}: ${count(p.y)} GFLOP/s at ${count(p.x)} FLOP a byte`).join("; ");
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Roofline. ${label}` }, ...parts);
}

/** A line over time or index; several series share the axis. */
export function series(place: HTMLElement, title: string, x: number[], lines: { label: string; y: number[] }[], axis: string): () => void {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--soft").trim();
  const grid = style.getPropertyValue("--edge").trim();
  const colours = ["--accent", "--second"].map((name) => style.getPropertyValue(name).trim());
  const plot = new uPlot(
    {
      width: Math.max(260, place.clientWidth || 520),
      height: 150,
      title: "",
      legend: { show: lines.length > 1 },
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false } },
      axes: [
        { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, values: (_, ticks) => ticks.map((t) => `${count(t)}`), label: axis, labelSize: 16, size: 34 },
        { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, size: 58, values: (_, ticks) => ticks.map((t) => count(t)) },
      ],
      series: [{ label: axis }, ...lines.map((line, n) => ({ label: line.label, stroke: colours[n % 2]!, width: 1.5, fill: n ? undefined : `${colours[0]}22`, points: { show: false } }))],
    } as uPlot.Options,
    [x, ...lines.map((line) => line.y)] as uPlot.AlignedData,
    place,
  );
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", title);
  const watch = new ResizeObserver(() => place.clientWidth > 0 && plot.setSize({ width: Math.max(260, place.clientWidth), height: 150 }));
  watch.observe(place);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}
