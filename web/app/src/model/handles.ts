// Files of the reader's that the page can open again another day, where the browser gives a handle of them.

/** What TypeScript's own types do not have yet. */
export interface FileHandle extends FileSystemFileHandle {
  queryPermission?(): Promise<PermissionState>;
  requestPermission?(): Promise<PermissionState>;
}

interface Pickers {
  showOpenFilePicker?(options: object): Promise<FileHandle[]>;
}

const NAME = 'sluice-files';
const STORE = 'handles';
/** So many models are remembered, the newest. */
const MOST = 8;

interface Kept {
  handles: FileHandle[];
  at: number;
}

async function inStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => () => T,
): Promise<T> {
  const db = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('no database'));
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      const tx = db.transaction(STORE, mode);
      const result = work(tx.objectStore(STORE));
      tx.oncomplete = () => resolve(result());
      tx.onabort = () => reject(tx.error ?? new Error('not kept'));
    });
  } finally {
    db.close();
  }
}

/** The handles in a record; none if it is damaged. */
function handlesIn(value: unknown): FileHandle[] {
  const { handles } = (value ?? {}) as Partial<Kept>;
  if (!Array.isArray(handles)) return [];
  return handles.every((one) => one instanceof FileSystemFileHandle) ? handles : [];
}

/** The keys of the records whose handles are of this file: it had other bytes then. */
async function keysOfSame(file: FileHandle): Promise<IDBValidKey[]> {
  const [keys, values] = await inStore('readonly', (store) => {
    const [keys, values] = [store.getAllKeys(), store.getAll()];
    return () => [keys.result, values.result as unknown[]] as const;
  });
  const same = values.map((value) => handlesIn(value)[0]?.isSameEntry(file) ?? false);
  const are = await Promise.all(same);
  return keys.filter((_, i) => are[i]);
}

/** Keeps the handles of a model's files by refOf(). Where nothing is kept, the reader chooses the file again. */
export async function keepHandles(ref: string, handles: readonly FileHandle[]): Promise<void> {
  const [first] = handles;
  if (first === undefined) return;
  try {
    const before = await keysOfSame(first);
    await inStore('readwrite', (store) => {
      for (const key of before) store.delete(key);
      store.put({ handles: [...handles], at: Date.now() } satisfies Kept, ref);
      const keys = store.getAllKeys();
      const values = store.getAll() as IDBRequest<Kept[]>;
      values.onsuccess = () => {
        const byAge = keys.result.map((key, i) => [values.result[i]?.at ?? 0, key] as const);
        byAge.sort(([a], [b]) => b - a);
        for (const [, key] of byAge.slice(MOST)) store.delete(key);
      };
      return () => undefined;
    });
  } catch {
    // as above
  }
}

/** The handles of the model that `ref` names; none if they are not known. */
export async function handlesOf(ref: string): Promise<FileHandle[]> {
  try {
    return await inStore('readonly', (store) => {
      const request = store.get(ref) as IDBRequest<unknown>;
      return () => handlesIn(request.result);
    });
  } catch {
    return [];
  }
}

/** Whether the files may be read. `ask`: the browser asks the reader, which it does only within a press. */
export async function mayRead(handles: readonly FileHandle[], ask: boolean): Promise<boolean> {
  for (const handle of handles) {
    let state = (await handle.queryPermission?.()) ?? 'granted';
    if (state === 'prompt' && ask) state = (await handle.requestPermission?.()) ?? state;
    if (state !== 'granted') return false;
  }
  return handles.length > 0;
}

/** The files; null if one of them was moved or deleted. */
export async function filesOf(handles: readonly FileHandle[]): Promise<File[] | null> {
  try {
    return await Promise.all(handles.map((handle) => handle.getFile()));
  } catch {
    return null;
  }
}

/** Whether this browser's own dialog for files gives handles. */
export const canPick = 'showOpenFilePicker' in window;

/** Lets the reader choose files of a model; none if nothing was chosen. */
export async function pick(): Promise<FileHandle[]> {
  const types = [{ accept: { 'application/octet-stream': ['.gguf'] } }];
  try {
    return (await (window as Pickers).showOpenFilePicker?.({ multiple: true, types })) ?? [];
  } catch {
    // The reader has closed the dialog.
    return [];
  }
}
