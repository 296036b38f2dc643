// The editors: the source with its errors at their places, and machine code with costs in its margins. Lines that belong
// together are lit in both.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cppLanguage } from "@codemirror/lang-cpp";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic as Mark, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, type EditorState, type Extension, RangeSet, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, type DecorationSet, drawSelection, EditorView, GutterMarker, gutter, highlightActiveLine, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { h } from "./dom";
import type { Diagnostic } from "./types";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.modifier, tags.operatorKeyword], class: "c-keyword" },
  { tag: [tags.typeName, tags.standard(tags.typeName)], class: "c-type" },
  { tag: [tags.number, tags.bool], class: "c-number" },
  { tag: [tags.string, tags.character], class: "c-string" },
  { tag: tags.comment, class: "c-comment" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: "c-function" },
  { tag: [tags.processingInstruction, tags.meta, tags.macroName], class: "c-meta" },
  { tag: tags.labelName, class: "c-label" },
  { tag: tags.variableName, class: "c-name" },
  { tag: tags.atom, class: "c-register" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "transparent", border: "none", color: "var(--soft)" },
  ".cm-content": { caretColor: "var(--ink)", paddingBottom: "30vh" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line-now)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  ".cm-tooltip": { background: "var(--raised)", border: "1px solid var(--edge)", color: "var(--ink)", borderRadius: "6px", boxShadow: "var(--shadow)" },
  // The package's own marks are pictures in data: addresses, which the page's policy does not load.
  ".cm-lintRange": { backgroundImage: "none !important", paddingBottom: "0" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning, .cm-lintRange-info": { textDecoration: "underline wavy var(--watch)", textUnderlineOffset: "3px" },
  ".cm-lint-marker": { content: "'' !important", width: "8px", height: "8px", margin: "5px 2px", borderRadius: "50%", background: "var(--watch)" },
  ".cm-lint-marker-error": { background: "var(--bad)" },
  ".cm-panels": { background: "var(--raised)", color: "var(--ink)" },
});

// -- what is beside lines ----------------------------------------------------------------------------------------------

/** What a line's margin shows: a share of the cost, and words before the text. */
export interface Margin {
  share: number;
  cells: string[];
  hue: number;
  title: string;
}

const setMargins = StateEffect.define<Map<number, Margin>>();
const margins = StateField.define<Map<number, Margin>>({
  create: () => new Map(),
  update: (value, change) => change.effects.reduce((found, effect) => (effect.is(setMargins) ? effect.value : found), value),
});

const setLit = StateEffect.define<ReadonlySet<number>>();
const litLine = Decoration.line({ class: "lit" });
const lit = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, change) {
    let found = value.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(setLit)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      for (const line of [...effect.value].sort((a, b) => a - b))
        if (line >= 1 && line <= change.state.doc.lines) {
          const { from } = change.state.doc.line(line);
          builder.add(from, from, litLine);
        }
      found = builder.finish();
    }
    return found;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class Break extends GutterMarker {
  override toDOM(): Node {
    return h("span", { class: "stop", title: "breakpoint: the stepper stops here" }, "●");
  }
}
const aBreak = new Break();
const setBreaks = StateEffect.define<readonly number[]>();
/** Lines with a breakpoint, which move with their text. */
const breaks = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(value, change) {
    let found = value.map(change.changes);
    for (const effect of change.effects)
      if (effect.is(setBreaks)) {
        const { doc } = change.state;
        const places = [...new Set(effect.value)].filter((line) => line >= 1 && line <= doc.lines).sort((a, b) => a - b);
        found = RangeSet.of(places.map((line) => aBreak.range(doc.line(line).from)));
      }
    return found;
  },
});

function brokenLines(state: EditorState): number[] {
  const found = new Set<number>();
  for (const at = state.field(breaks).iter(); at.value; at.next()) found.add(state.doc.lineAt(at.from).number);
  return [...found];
}

class Heat extends GutterMarker {
  constructor(readonly margin: Margin) {
    super();
  }
  override eq(other: Heat): boolean {
    return other.margin === this.margin;
  }
  override toDOM(): Node {
    const { share, hue, title } = this.margin;
    const level = share <= 0 ? 0 : Math.max(1, Math.min(9, Math.ceil(Math.sqrt(share) * 9)));
    return h("span", { class: `heat heat${level} ${hue >= 0 ? `hue hue${hue % 12}` : ""}`, title });
  }
}

class Cell extends GutterMarker {
  constructor(readonly text: string, readonly title: string) {
    super();
  }
  override eq(other: Cell): boolean {
    return other.text === this.text && other.title === this.title;
  }
  override toDOM(): Node {
    return h("span", { title: this.title }, this.text);
  }
}

function marginOf(view: EditorView, from: number): Margin | undefined {
  return view.state.field(margins).get(view.state.doc.lineAt(from).number);
}

const changed = (update: { transactions: readonly { effects: readonly StateEffect<unknown>[] }[] }): boolean =>
  update.transactions.some((one) => one.effects.some((effect) => effect.is(setMargins)));

const heatGutter = gutter({
  class: "g-heat",
  lineMarker: (view, line) => {
    const margin = marginOf(view, line.from);
    return margin ? new Heat(margin) : null;
  },
  lineMarkerChange: changed,
});

function cellGutter(index: number, name: string, title: string): Extension {
  return gutter({
    class: `g-cell g-${name}`,
    lineMarker: (view, line) => {
      const text = marginOf(view, line.from)?.cells[index];
      return text ? new Cell(text, title) : null;
    },
    initialSpacer: () => new Cell(name === "stall" ? "" : "0000", title),
    lineMarkerChange: changed,
  });
}

// -- machine code as a language ----------------------------------------------------------------------------------------

const machine = StreamLanguage.define<{ first: boolean }>({
  startState: () => ({ first: true }),
  token(stream, state) {
    if (stream.sol()) state.first = true;
    if (stream.eatSpace()) return null;
    if (stream.match(/^(;|\/\/).*/)) return "comment";
    if (stream.match(/^"[^"]*"/)) return "string";
    if (state.first && stream.match(/^\.?[\w$]+:(?=\s|$)/)) return "labelName";
    if (state.first && stream.match(/^\d\d+ (?=[A-Z])/)) return "labelName";
    if (state.first && stream.match(/^[xyzwt]:/)) return "meta";
    if (stream.match(/^(0x[\da-f]+|-?\d[\d.]*(e[+-]?\d+)?f?)\b/i)) return "number";
    if (stream.match(/^([vsa](\[[\d:]+\]|\d+)|vcc(_lo|_hi)?|exec(_lo|_hi)?|scc|m0|ttmp\d+|-?\|?(R|T|KC\d?\[?|PV|PS)\d*\]?(\.\w+)?)\b/)) return "atom";
    if (stream.match(/^[A-Za-z_.][\w.]*/)) {
      const keyword = state.first;
      state.first = false;
      return keyword ? "keyword" : "variableName";
    }
    state.first = false;
    stream.next();
    return null;
  },
});

// -- the two editors ---------------------------------------------------------------------------------------------------

export interface Handle {
  view: EditorView;
  setText(text: string): void;
  setMargins(found: Map<number, Margin>): void;
  light(lines: ReadonlySet<number>, into?: boolean): void;
  complain(found: Diagnostic[]): void;
  /** The language in which a file of that name is shown. */
  speak(name: string): void;
  /** Lines with a breakpoint in their margin. */
  breaks(): number[];
  setBreaks(lines: readonly number[]): void;
  /** Scroll so that a line is the first. */
  show(line: number): void;
}

export interface Wanted {
  label: string;
  nonce: string;
  language: "source" | "machine";
  cells: [string, string][];
  changed?: (text: string) => void;
  pointed?: (line: number | null) => void;
  /** A line's breakpoint was set or taken away in the margin. */
  broke?: (line: number, on: boolean) => void;
  explain?: (word: string) => Promise<Node | null>;
  readOnly?: boolean;
}

const SOURCES = { c: new LanguageSupport(cppLanguage), python: new LanguageSupport(pythonLanguage) };

export function editor(parent: Element, wanted: Wanted): Handle {
  const language = new Compartment();
  let quiet = false;
  let pointedAt: number | null = null;
  const point = (line: number | null): void => {
    if (line === pointedAt) return;
    pointedAt = line;
    wanted.pointed?.(line);
  };
  const toggle = (of: EditorView, from: number): boolean => {
    const { number } = of.state.doc.lineAt(from);
    const known = brokenLines(of.state);
    const on = !known.includes(number);
    of.dispatch({ effects: setBreaks.of(on ? [...known, number] : known.filter((one) => one !== number)) });
    wanted.broke?.(number, on);
    return true;
  };
  const domEventHandlers = {
    mousedown: (of: EditorView, line: { from: number }, event: Event) => (event as MouseEvent).button === 0 && toggle(of, line.from),
  };
  const extensions: Extension[] = [
    EditorView.cspNonce.of(wanted.nonce),
    breaks,
    ...(wanted.broke
      ? [
          gutter({ class: "g-stop", markers: (of) => of.state.field(breaks), initialSpacer: () => aBreak, domEventHandlers }),
          lineNumbers({ domEventHandlers }),
          keymap.of([{ key: "F9", run: (of) => toggle(of, of.state.selection.main.head) }]),
        ]
      : [lineNumbers()]),
    margins, lit, heatGutter,
    ...wanted.cells.map(([name, title], index) => cellGutter(index, name, title)),
    history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), highlightSelectionMatches(),
    indentUnit.of("    "), search({ top: true }), language.of(wanted.language === "source" ? SOURCES.c : machine), syntaxHighlighting(colours), theme,
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, ...(wanted.readOnly ? [] : [indentWithTab])]),
    EditorView.contentAttributes.of({ "aria-label": wanted.label, spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !quiet) wanted.changed?.(update.state.doc.toString());
      if (update.selectionSet && update.view.hasFocus) point(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
    EditorView.domEventHandlers({
      mousemove: (event, view) => {
        const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
        point(at === null ? null : view.state.doc.lineAt(at).number);
      },
      mouseleave: () => point(null),
    }),
  ];
  if (wanted.language === "source") extensions.push(lintGutter());
  if (wanted.readOnly) extensions.push(EditorView.editable.of(false));
  if (wanted.explain) {
    const explain = wanted.explain;
    extensions.push(
      hoverTooltip(async (view, position) => {
        const line = view.state.doc.lineAt(position);
        const before = /[\w.]*$/.exec(line.text.slice(0, position - line.from))?.[0] ?? "";
        const after = /^[\w.]*/.exec(line.text.slice(position - line.from))?.[0] ?? "";
        const node = before + after ? await explain(before + after) : null;
        if (!node) return null;
        const start = position - before.length;
        return { pos: start, end: start + before.length + after.length, above: true, create: () => ({ dom: h("div", { class: "told" }, node) }) };
      }, { hoverTime: 250 }),
    );
  }
  const view = new EditorView({ parent, extensions });
  return {
    view,
    speak(name) {
      const wanted = name.endsWith(".py") ? SOURCES.python : SOURCES.c;
      if (language.get(view.state) !== wanted) view.dispatch({ effects: language.reconfigure(wanted) });
    },
    setText(text) {
      if (text === view.state.doc.toString()) return;
      quiet = true;
      const top = view.scrollDOM.scrollTop;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      view.scrollDOM.scrollTop = top;
      quiet = false;
    },
    setMargins(found) {
      view.dispatch({ effects: setMargins.of(found) });
    },
    light(lines, into = false) {
      view.dispatch({ effects: setLit.of(lines) });
      const first = Math.min(...lines);
      if (into && lines.size && first <= view.state.doc.lines) {
        const { from } = view.state.doc.line(first);
        const visible = view.visibleRanges.some((range) => range.from <= from && from <= range.to);
        const box = visible ? view.coordsAtPos(from) : null;
        const frame = view.scrollDOM.getBoundingClientRect();
        if (!box || box.top < frame.top || box.bottom > frame.bottom)
          view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
      }
    },
    breaks: () => brokenLines(view.state),
    setBreaks(lines) {
      view.dispatch({ effects: setBreaks.of(lines) });
    },
    show(line) {
      const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
      view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 2 }) });
    },
    complain(found) {
      const doc = view.state.doc;
      const marks: Mark[] = found
        .filter((one) => one.line >= 1 && one.line <= doc.lines)
        .map((one) => {
          const line = doc.line(one.line);
          const from = Math.min(line.to, line.from + Math.max(0, one.column - 1));
          const word = /^\w+/.exec(doc.sliceString(from, line.to))?.[0].length ?? 1;
          return {
            from,
            to: Math.min(line.to, from + word),
            severity: one.severity === "note" ? "info" : one.severity,
            message: one.hint ? `${one.message}\n${one.hint}` : one.message,
          };
        });
      view.dispatch(setDiagnostics(view.state, marks));
    },
  };
}
