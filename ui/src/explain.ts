// What a name means: asked once of the server, shown beside whatever has `data-explain`, on hover and on focus.

import { fill, h } from "./dom";
import type { Server } from "./server";
import type { Explanation } from "./types";

export class Explainer {
  private known = new Map<string, Promise<Explanation[]>>();
  private box = h("div", { class: "told floating", role: "tooltip", id: "told", hidden: true });
  private over: Element | null = null;

  constructor(private server: Server) {
    document.body.append(this.box);
    const show = (event: Event): void => void this.show((event.target as Element).closest?.("[data-explain]") ?? null);
    document.addEventListener("mouseover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("focusout", () => this.hide());
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
    document.addEventListener("scroll", () => (this.over === document.activeElement ? this.put() : this.hide()), true);
  }

  /** All that a name can mean; nothing for names that mean nothing. */
  meaning(name: string): Promise<Explanation[]> {
    let found = this.known.get(name);
    if (!found) {
      found = this.server.ask<Record<string, Explanation[]>>("explain", { names: [name] }).then(
        (all) => all[name] ?? [],
        () => {
          this.known.delete(name);
          return [];
        },
      );
      this.known.set(name, found);
    }
    return found;
  }

  /** The same as an element; null if there is nothing to say. */
  async node(name: string): Promise<Node | null> {
    const found = await this.meaning(name);
    if (!found.length) return null;
    return h(
      "div",
      {},
      ...found.slice(0, 2).flatMap((one) => [
        h("strong", {}, one.heading),
        h("dl", {}, ...one.lines.slice(0, 7).flatMap(([what, text]) => [h("dt", {}, what), h("dd", {}, text)])),
      ]),
    );
  }

  private hide(): void {
    this.box.hidden = true;
    this.over?.removeAttribute("aria-describedby");
    this.over = null;
  }

  private async show(place: Element | null): Promise<void> {
    if (place === this.over) return;
    this.hide();
    if (!place) return;
    this.over = place;
    const node = await this.node(place.getAttribute("data-explain") ?? "");
    if (!node || this.over !== place) return;
    fill(this.box, node);
    this.box.hidden = false;
    place.setAttribute("aria-describedby", "told");
    this.put();
  }

  /** Beside what it explains. */
  private put(): void {
    if (!this.over || this.box.hidden) return;
    const at = this.over.getBoundingClientRect();
    const own = this.box.getBoundingClientRect();
    const below = at.bottom + 6 + own.height < innerHeight;
    this.box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 8))}px`;
    this.box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - own.height - 6)}px`;
  }
}
