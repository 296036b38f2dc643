// What the server answers, as far as the page looks at it; headwater/ui/tasks.py says where each is from.

export interface Chip {
  id: string;
  name: string;
  silicon: string;
  family: "gcn" | "vliw";
  generation: string;
  target: string;
  units: number;
  clock: number;
  bandwidth: number;
}

export interface Metric {
  value: number | string | null;
  shown: string;
  verdict: "" | "good" | "watch" | "bad";
  unit?: string;
}

export interface Row {
  address: number;
  text: string;
  class: string;
  runs: number;
  line: [string, number] | null;
  via: [string, number] | null;
  live_registers: number;
  cache_lines: number | null;
  label: string;
  clause: number;
  waits: string;
}

export interface Term {
  name: string;
  seconds: number;
  how: string;
}

export interface Kernel {
  kernel: string;
  symbol: string;
  device: string;
  target: string;
  family: "gcn" | "vliw";
  metrics: Record<string, Metric>;
  occupancy: {
    occupancy: number;
    wavefronts: number;
    wavefront_slots: number;
    work_groups: number;
    limited_by: string[];
    limits: { resource: string; work_groups: number; asked: number; given: number; capacity: number }[];
  };
  estimate: {
    seconds: number;
    bound_by: string;
    terms: Term[];
    roofline: { intensity: number | null; ridge: number; peak_gflops: number; bandwidth: number; attainable_gflops: number | null };
  };
  paths: Record<string, { classes: Record<string, number> }>;
  loops: { name: string; trip: number; known: string; why: string; lines: [number, number] | null }[];
  lines: { file: string | null; line: number | null; share: number }[];
  code: Row[];
  advice: { name: string; do: string; because: string; metric: string }[];
  assumptions: string[];
}

export interface Diagnostic {
  file: string;
  line: number;
  column: number;
  severity: "error" | "warning" | "note";
  message: string;
  hint: string;
}

export interface Code {
  kernels: Kernel[];
  names: string[];
  diagnostics: Diagnostic[];
  refused: { kernel: string; message: string; hint?: string }[];
}

export interface TableRow {
  device: string;
  kernel?: string;
  refused?: string;
  metrics?: Record<string, Metric>;
}

export interface Explanation {
  kind: string;
  heading: string;
  lines: [string, string][];
}

export interface Output {
  name: string;
  dtype: string;
  shape: number[];
  sent: number[];
  steps: number[];
  min?: number;
  max?: number;
  mean?: number;
  not_finite: number;
  base64: string;
}

export interface Run {
  kernel: string;
  seconds: number;
  global: number[];
  local: number[];
  notes: string[];
  outputs: Output[];
  differences: { name: string; elements: number; largest: number | null; ulps: number; wrong: number; first: number[] | null; ok: boolean; tolerance: number }[];
  printed: string;
}

export interface Launch {
  kernel: string;
  chip: string;
  device: string;
  cycles: number;
  seconds: number;
  instructions: number;
  wavefronts: number;
  gflops: number;
  bottleneck: string;
  mean_waves_per_simd: number;
  causes: Record<string, number>;
  wave_causes: Record<string, number>;
  occupancy: { wavefronts: number; slots: number; limited_by: string[] };
  units: { name: string; busy: number }[];
  caches: Record<string, unknown>[];
  bandwidths: Record<string, unknown>[];
  instructions_by_cost: { address: number; text: string; where: [string, number] | null; count: number; share: number; waiting: number }[];
  lines_by_cost: { text: string; where: [string, number] | null; share: number; waiting: number }[];
  occupancy_series: [number, number][];
  traffic_series: [number, number][];
  host: { total_seconds: number };
}

export interface Timeline {
  records: string;
  count: number;
  waits: string[];
  clauses: string[];
  texts: string[];
  clock: number;
  cycles: number;
  unit: string;
  wavefronts_per_group: number;
  /** The first compute unit that is shown, and the one behind the last. */
  units: [number, number];
  of_units: number;
  /** Whether there was no room for all that happened. */
  cut: boolean;
  launch: number;
  kernels: string[];
  /** For each launch the number of its kernel. */
  launches: number[];
  /** What else the board did, in cycles from the launch's beginning. */
  board: { row: "queue" | "copies"; name: string; start: number; cycles: number }[];
}

export interface Simulation {
  launches: Launch[];
  timeline: Timeline | null;
}

export interface Example {
  name: string;
  title: string;
  text: string;
  words: string;
  global: string;
  local: string;
  shape: string;
  lds: string;
  kernel: string;
}
