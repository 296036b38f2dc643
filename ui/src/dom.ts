// Elements are made by functions, never from text: what kernels, files and messages say stays text.

type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

/** An element with attributes (`on…` are listeners, `class`, `text`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  assign(made, attributes);
  made.append(...children.filter(isChild).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** The same in SVG. */
export function svg(tag: string, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(made, attributes);
  made.append(...children.filter(isChild).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

function isChild(child: Child): child is Node | string | number {
  return child !== null && child !== undefined && child !== false;
}

function assign(made: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value as EventListener);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Put children in place of those that an element has. */
export function fill(place: Element, ...children: Child[]): void {
  place.replaceChildren(...children.filter(isChild).map((child) => (child instanceof Node ? child : String(child))));
}

/** A select's options, the one of `value` chosen. */
export function options(place: HTMLSelectElement, rows: [string, string, string?][], value: string): void {
  const groups = new Map<string, HTMLElement>();
  const made: Node[] = [];
  for (const [name, title, group] of rows) {
    const option = h("option", { value: name, selected: name === value }, title);
    if (!group) made.push(option);
    else {
      let parent = groups.get(group);
      if (!parent) {
        parent = h("optgroup", { label: group });
        groups.set(group, parent);
        made.push(parent);
      }
      parent.append(option);
    }
  }
  place.replaceChildren(...made);
  place.value = value;
}

/** A function that runs when nobody has called it for so many milliseconds. */
export function settled(wait: number, run: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(run, wait);
  };
}

export function seconds(value: number): string {
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]] as const)
    if (value >= scale || unit === "ns") return `${+(value / scale).toPrecision(3)} ${unit}`;
  return "0";
}

export function count(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString("en")
    : String(+value.toPrecision(3));
}

export function percent(value: number): string {
  return `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
}

/** Hand a file to the user. */
export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let n = 0; n < bytes.length; n += 0x8000) text += String.fromCharCode(...bytes.subarray(n, n + 0x8000));
  return btoa(text);
}
