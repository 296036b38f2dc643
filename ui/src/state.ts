// What the page shows is one plain value; packed, it is the URL's fragment, so that a reload or a link brings it back.

import { base64Of, bytesOf } from "./dom";

export interface State {
  files: Record<string, string>;
  main: string;
  chip: string;
  other: string;
  kernel: string;
  options: string;
  global: string;
  local: string;
  shape: string;
  lds: string;
  words: string;
  trips: string;
  arguments: string;
  hit: string;
  device: string;
  verify: boolean;
  tab: string;
  assembly: string;
}

export const FIRST: State = {
  files: {},
  main: "",
  chip: "vega64",
  other: "",
  kernel: "",
  options: "",
  global: "",
  local: "",
  shape: "",
  lds: "",
  words: "",
  trips: "",
  arguments: "",
  hit: "",
  device: "vega64",
  verify: true,
  tab: "chips",
  assembly: "",
};

async function through(stream: GenericTransformStream, bytes: Uint8Array): Promise<Uint8Array> {
  const made = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, BufferSource>);
  return new Uint8Array(await new Response(made).arrayBuffer());
}

export async function packed(state: State): Promise<string> {
  const plain: Partial<State> = {};
  for (const name of Object.keys(FIRST) as (keyof State)[])
    if (JSON.stringify(state[name]) !== JSON.stringify(FIRST[name])) Object.assign(plain, { [name]: state[name] });
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(plain)));
  return base64Of(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The state that a fragment holds; what it lacks, or has of another type, is as at first. */
export async function unpacked(text: string): Promise<State> {
  const state: State = structuredClone(FIRST);
  const bytes = bytesOf(text.replaceAll("-", "+").replaceAll("_", "/"));
  const found: unknown = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
  if (typeof found !== "object" || found === null) return state;
  for (const [name, value] of Object.entries(found))
    if (name in state && typeof value === typeof state[name as keyof State]) Object.assign(state, { [name]: value });
  for (const [name, value] of Object.entries(state.files)) if (typeof value !== "string") delete state.files[name];
  if (!(state.main in state.files)) state.main = Object.keys(state.files)[0] ?? "";
  return state;
}

/** The token, and the packed state, of the address; the token leaves it, so that a copied link does not hold it. */
export function fromAddress(): { token: string; text: string } {
  const parts = new URLSearchParams(location.hash.slice(1));
  const token = parts.get("token") ?? sessionStorage.getItem("headwater token") ?? "";
  if (parts.has("token")) {
    sessionStorage.setItem("headwater token", token);
    parts.delete("token");
    history.replaceState(null, "", `#${parts}`);
  }
  return { token, text: parts.get("s") ?? "" };
}
