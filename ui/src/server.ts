// Requests go out and answers come back over one web socket, which is opened again when it breaks.

export interface Problem {
  kind: string;
  message: string;
  hint?: string;
  file?: string;
  line?: number;
  column?: number;
}

export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** A request that a newer one of its slot has replaced. */
export class Superseded extends Error {}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: Error) => void;
  text: string;
  sent: boolean;
}

const AGAIN_MS = [200, 500, 1000, 2000, 4000];

export class Server {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private slots = new Map<string, number>();
  private next = 1;
  private failures = 0;

  constructor(private token: string, private told: (state: "open" | "closed" | "refused", busy: number) => void) {
    this.open();
  }

  /** What the server answers; Refusal if it cannot, Superseded if a newer request of the slot was made. */
  ask<T>(task: string, given: object, slot = ""): Promise<T> {
    const id = this.next++;
    const older = this.slots.get(slot);
    if (slot && older !== undefined) this.drop(older, new Superseded(task));
    if (slot) this.slots.set(slot, id);
    return new Promise<T>((resolve, reject) => {
      const text = JSON.stringify({ id, task, given, slot });
      this.waiting.set(id, { resolve: resolve as (value: never) => void, reject, text, sent: false });
      this.flush();
    });
  }

  /** Want no answer of a slot any more; its worker is stopped. */
  cancel(slot: string): void {
    const id = this.slots.get(slot);
    if (id !== undefined) this.drop(id, new Superseded(slot));
    this.send(JSON.stringify({ id: 0, task: "cancel", given: {}, slot }));
  }

  private drop(id: number, error: Error): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.reject(error);
    this.tell();
  }

  private open(): void {
    if (!this.token) {
      this.told("refused", 0);
      return;
    }
    const socket = new WebSocket(`ws://${location.host}/ws`, ["headwater", this.token]);
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.failures = 0;
      for (const waiting of this.waiting.values()) waiting.sent = false;
      this.flush();
      this.tell();
    };
    socket.onmessage = (event) => this.take(String(event.data));
    socket.onclose = () => {
      this.socket = null;
      this.failures += 1;
      this.told(opened || this.failures < 4 ? "closed" : "refused", this.waiting.size);
      setTimeout(() => this.open(), AGAIN_MS[Math.min(this.failures, AGAIN_MS.length - 1)]);
    };
    this.socket = socket;
  }

  private take(text: string): void {
    let answer: { id: number; value?: unknown; error?: Problem; cancelled?: boolean };
    try {
      answer = JSON.parse(text);
    } catch {
      return;
    }
    const waiting = this.waiting.get(answer.id);
    if (!waiting) return;
    this.waiting.delete(answer.id);
    if (answer.cancelled) waiting.reject(new Superseded("cancelled"));
    else if (answer.error) waiting.reject(new Refusal(answer.error));
    else waiting.resolve(answer.value as never);
    this.tell();
  }

  private flush(): void {
    for (const waiting of this.waiting.values())
      if (!waiting.sent && this.send(waiting.text)) waiting.sent = true;
    this.tell();
  }

  private send(text: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  /** Say how many requests wait for an answer. */
  tell(): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.told("open", this.waiting.size);
  }
}
