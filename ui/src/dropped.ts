// Data files that were dropped onto the page: kept in the browser's own database, so that a reload keeps them.

const SOURCES = /\.(cl|ocl|clh|br|brh|il|hip|cu|cuh|py|h|hpp|inc)$/i;

export class Dropped {
  readonly files = new Map<string, string>();
  private database: Promise<IDBDatabase | null>;

  constructor() {
    this.database = new Promise((resolve) => {
      const request = indexedDB.open("headwater", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("files");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null);
    });
  }

  async restore(): Promise<void> {
    const store = await this.store("readonly");
    if (!store) return;
    await new Promise<void>((resolve) => {
      const cursor = store.openCursor();
      cursor.onsuccess = () => {
        const found = cursor.result;
        if (!found) return resolve();
        if (typeof found.value === "string") this.files.set(String(found.key), found.value);
        found.continue();
      };
      cursor.onerror = () => resolve();
    });
  }

  async put(name: string, base64: string): Promise<void> {
    this.files.set(name, base64);
    (await this.store("readwrite"))?.put(base64, name);
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
    (await this.store("readwrite"))?.delete(name);
  }

  private async store(mode: IDBTransactionMode): Promise<IDBObjectStore | null> {
    return (await this.database)?.transaction("files", mode).objectStore("files") ?? null;
  }
}

export function isSource(name: string): boolean {
  return SOURCES.test(name);
}
