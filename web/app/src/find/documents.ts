// The documents of this device, as they are in memory and in the store.
import { batch, signal } from '@preact/signals';
import { cut } from './passages';
import { decode, encode, passagesOf, sameMark, type Document, type Mark } from './format';
import { readText, nameOf, type Refusal } from './reading';
import { KeepError, newId, openStore, type KeepCode, type Store } from './store';

/** A document in the list. */
export interface Row {
  id: string;
  name: string;
  /** null: its file is damaged, or of a newer version of the page. */
  document: Document | null;
  why: 'damaged' | 'newer' | null;
  /** As in the document, so that the list sees when it changes. */
  done: number;
  /** Bytes in the store; 0: it is only in memory. */
  stored: number;
}

/** Why files were not added. */
export interface Refused {
  name: string;
  why: Refusal;
}

/** The oldest first. Null: not read yet. */
export const rows = signal<Row[] | null>(null);
export const refusals = signal<readonly Refused[]>([]);
/** Why the last write failed; null: it did not. */
export const unkept = signal<KeepCode | null>(null);
/** Files whose texts are being read: how many are left. */
export const coming = signal(0);

let store: Store | null = null;

function rowOf(id: string, read: Document | 'damaged' | 'newer', stored: number): Row {
  if (typeof read === 'string') return { id, name: '', document: null, why: read, done: 0, stored };
  return { id, name: read.name, document: read, why: null, done: read.done, stored };
}

function age({ document }: Row): number {
  return document?.added ?? 0;
}

/** The oldest first; those of one moment by their names. */
function order(a: Row, b: Row): number {
  return age(a) - age(b) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1);
}

function put(row: Row): void {
  const others = (rows.peek() ?? []).filter(({ id }) => id !== row.id);
  rows.value = [...others, row].sort(order);
}

function drop(id: string): void {
  rows.value = (rows.peek() ?? []).filter((row) => row.id !== id);
}

/** Reads one from the store again. */
async function reread(id: string): Promise<void> {
  const file = await store?.read(id).catch(() => new Uint8Array(0));
  if (file == null) drop(id);
  else put(rowOf(id, await decode(file), file.length));
}

/** Reads what is kept, and from then on what other tabs change. */
export async function startDocuments(open: typeof openStore = openStore): Promise<void> {
  if (rows.peek() !== null) return;
  store = open((id) => void reread(id));
  rows.value = [];
  for (const { id } of (await store?.list()) ?? []) await reread(id);
}

/** Whether documents stay when the page is closed. */
export function isKeeping(): boolean {
  return store !== null;
}

export function rowOfId(id: string): Row | undefined {
  return rows.peek()?.find((row) => row.id === id);
}

/** Writes a document as it is now. False: another tab has removed it. Where it can't be written, `unkept` says why. */
export async function keep(id: string, fresh = false): Promise<boolean> {
  const row = rowOfId(id);
  if (row?.document == null) return false;
  if (store === null) return true;
  try {
    const file = await encode(row.document);
    // One that had no room before is as good as new.
    if (!(await store.write(id, file, fresh || row.stored === 0))) {
      drop(id);
      return false;
    }
    batch(() => {
      unkept.value = null;
      const now = rowOfId(id);
      if (now !== undefined) put({ ...now, stored: file.length });
    });
  } catch (error) {
    unkept.value = error instanceof KeepError ? error.code : 'failed';
  }
  return true;
}

/** Adds files. One of the same name takes the place of the one before. Those that can't be read are in `refusals`. */
export async function add(files: readonly File[]): Promise<void> {
  batch(() => {
    refusals.value = [];
    coming.value += files.length;
  });
  for (const file of files) {
    await addOne(file);
    coming.value -= 1;
  }
}

async function addOne(file: File): Promise<void> {
  const name = nameOf(file);
  const read = await readText(file);
  if ('why' in read) {
    refusals.value = [...refusals.peek(), { name, why: read.why }];
    return;
  }
  const { text } = read;
  const before = (rows.peek() ?? []).filter((row) => row.name === name);
  if (before.some(({ document }) => document?.text === text)) return;
  const places = Uint32Array.from(
    (await cut(text)).flatMap(({ start, end, line }) => [start, end, line]),
  );
  const document: Document = {
    name,
    added: Date.now(),
    text,
    places,
    by: null,
    vectors: new Float32Array(0),
    done: 0,
  };
  const id = newId();
  put({ id, name, document, why: null, done: 0, stored: 0 });
  await keep(id, true);
  // Where there is no room for it, the one before stays.
  if (before.length > 0 && store !== null && rowOfId(id)?.stored === 0) drop(id);
  else for (const old of before) await remove(old.id);
}

/** False: the browser refuses. */
export async function remove(id: string): Promise<boolean> {
  try {
    await store?.remove(id);
  } catch (error) {
    unkept.value = error instanceof KeepError ? error.code : 'failed';
    return false;
  }
  drop(id);
  return true;
}

/** Prepares a document for the vectors of a model: those of another one go. */
export function prepare(id: string, by: Mark): void {
  const row = rowOfId(id);
  if (row?.document == null || sameMark(row.document.by, by)) return;
  const vectors = new Float32Array(passagesOf(row.document) * by.dimensions);
  put({ ...row, done: 0, document: { ...row.document, by, vectors, done: 0 } });
}

/** Puts in the vectors of its passages from `from` on, unless another tab has done so meanwhile. */
export function fill(id: string, from: number, made: readonly Float32Array[]): void {
  const row = rowOfId(id);
  if (row?.document?.done !== from) return;
  const { document } = row;
  const width = document.by?.dimensions ?? 0;
  made.forEach((vector, i) => document.vectors.set(vector, (document.done + i) * width));
  document.done += made.length;
  put({ ...row, done: document.done });
}

/** Whether all of its passages have vectors of this model. */
export function isRead({ document }: Row, by: Mark): boolean {
  return document !== null && sameMark(document.by, by) && document.done === passagesOf(document);
}

/** Whether it has vectors of another model than this one, and of this one none. */
export function isOthers({ document }: Row, by: Mark): boolean {
  return document !== null && document.done > 0 && !sameMark(document.by, by);
}
