// All chips side by side: a table that is sorted by its headings, whose rows choose the chip.

import { fill, h } from "./dom";
import type { Chip, Metric, TableRow } from "./types";

const COLUMNS: [string, string][] = [
  ["seconds", "Time"], ["bound_by", "Bound by"], ["headroom", "Headroom"], ["occupancy", "Occupancy"], ["wavefronts", "Waves/SIMD"],
  ["vgprs", "VGPRs"], ["sgprs", "SGPRs"], ["lds_bytes", "LDS"], ["scratch_bytes", "Scratch"], ["alu_fetch_ratio", "ALU:fetch"],
  ["packing", "Packing"], ["gflops", "GFLOP/s"], ["bandwidth", "GB/s"], ["code_bytes", "Code"],
];
const FIRST_ASCENDING = new Set(["name", "generation", "seconds", "bound_by", "vgprs", "sgprs", "code_bytes"]);

export class ChipTable {
  readonly element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All chips side by side" });
  private rows = new Map<string, TableRow>();
  private stale = new Set<string>();
  private sortedBy = "";
  private ascending = true;
  private current = "";

  constructor(private chips: Chip[], private chosen: (chip: string) => void) {
    this.draw();
  }

  /** Rows of before are dimmed until new ones come. */
  begin(): void {
    this.stale = new Set(this.rows.keys());
    this.element.classList.add("waiting");
  }

  take(rows: TableRow[]): void {
    for (const row of rows) {
      this.rows.set(row.device, row);
      this.stale.delete(row.device);
    }
    if (!this.stale.size) this.element.classList.remove("waiting");
    this.draw();
  }

  clear(): void {
    this.rows.clear();
    this.stale.clear();
    this.element.classList.remove("waiting");
    this.draw();
  }

  select(chip: string): void {
    this.current = chip;
    for (const row of this.element.querySelectorAll("tbody tr")) {
      row.classList.toggle("now", row.id === `row-${chip}`);
      row.querySelector("button")?.setAttribute("aria-pressed", String(row.id === `row-${chip}`));
    }
  }

  private metric(chip: string, name: string): Metric | undefined {
    const metrics = this.rows.get(chip)?.metrics;
    return metrics?.[name] ?? (name === "vgprs" ? metrics?.["gprs"] : undefined);
  }

  private value(chip: Chip, column: string): number | string {
    if (column === "name") return chip.name;
    if (column === "generation") return chip.generation;
    const value = this.metric(chip.id, column)?.value;
    return value ?? (this.ascending ? Infinity : -Infinity);
  }

  private draw(): void {
    const shown = COLUMNS.filter(([name]) => !this.rows.size || [...this.rows.keys()].some((chip) => this.metric(chip, name)));
    const order = [...this.chips];
    if (this.sortedBy) {
      const sign = this.ascending ? 1 : -1;
      order.sort((a, b) => {
        const [x, y] = [this.value(a, this.sortedBy), this.value(b, this.sortedBy)];
        return (typeof x === "number" && typeof y === "number" ? x - y || 0 : String(x).localeCompare(String(y))) * sign;
      });
    }
    const times = this.chips.map((chip) => this.metric(chip.id, "seconds")?.value).filter((v): v is number => typeof v === "number");
    const longest = Math.max(...times, 1e-12);
    const head = (name: string, title: string, number: boolean): HTMLElement =>
      h(
        "th",
        { scope: "col", class: number ? "n" : "", "aria-sort": this.sortedBy === name ? (this.ascending ? "ascending" : "descending") : null },
        h(
          "button",
          {
            type: "button",
            "data-explain": name,
            onclick: () => {
              this.ascending = this.sortedBy === name ? !this.ascending : FIRST_ASCENDING.has(name);
              this.sortedBy = name;
              this.draw();
            },
          },
          title,
          h("span", { class: "arrow", "aria-hidden": "true" }, this.sortedBy === name ? (this.ascending ? "▲" : "▼") : ""),
        ),
      );
    const body = order.map((chip) => {
      const row = this.rows.get(chip.id);
      const pressed = String(chip.id === this.current);
      const name = h(
        "th",
        { scope: "row" },
        h("button", { type: "button", class: "link", "aria-pressed": pressed, onclick: () => this.chosen(chip.id) }, chip.name),
        h("small", {}, ` ${chip.silicon}`),
      );
      const cells = row?.refused
        ? [h("td", { colspan: shown.length, class: "refused" }, row.refused)]
        : shown.map(([column]) => {
            const metric = this.metric(chip.id, column);
            const number = column !== "bound_by";
            const waits = !row && column === "seconds";
            const cell = h("td", { class: `${number ? "n" : ""} ${metric?.verdict ?? ""}` }, metric?.shown.replace(/ \(.*/, "") ?? (waits ? "…" : ""));
            if (column === "bound_by" && metric) fill(cell, h("span", { class: "dot", "data-bound": metric.shown }), metric.shown);
            if (column === "seconds" && typeof metric?.value === "number") {
              const bar = h("i", { class: "bar" });
              bar.style.width = `${Math.max(2, (100 * Math.log10(1 + (999 * metric.value) / longest)) / 3)}%`;
              cell.classList.add("timed");
              cell.prepend(bar);
            }
            return cell;
          });
      return h(
        "tr",
        { id: `row-${chip.id}`, class: `${chip.id === this.current ? "now" : ""} ${this.stale.has(chip.id) ? "stale" : ""}` },
        name,
        h("td", { title: chip.generation }, chip.generation.replace(/ \(.*/, "")),
        ...cells,
      );
    });
    const focus = this.element.contains(document.activeElement) ? document.activeElement?.textContent : null;
    fill(
      this.element,
      h(
        "table",
        { class: "chips" },
        h("caption", { class: "away" }, "The kernel on every chip"),
        h("thead", {}, h("tr", {}, head("name", "Chip", false), head("generation", "Generation", false), ...shown.map(([n, t]) => head(n, t, n !== "bound_by")))),
        h("tbody", {}, ...body),
      ),
    );
    if (focus) [...this.element.querySelectorAll("button")].find((one) => one.textContent === focus)?.focus();
  }
}
