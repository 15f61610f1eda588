// The models on offer: a file of the page's own site, which a site can replace. All of it is checked, and what is wrong is
// left out.
import { addressFacts, memoryLimit } from '@sluice/engine';
import { computed, effect, signal } from '@preact/signals';
import { plain } from '../texts/plain-text';
import { budgetOf, settings } from '../settings/settings';
import { LANGUAGES, type Language } from '../texts';
import { isKept, kept } from './kept';
import { shelfNames } from './name';
import { downloadRate, keepRate } from './rate';
import { keepSeen, speedOfFile } from './seen';
import { fetchShelfFile } from './shelf-file';
import { parseModelAddress } from './source';
import type { Estimate } from './speed';
import { loading, model, paused } from './state';

export interface ShelfFile {
  type: string;
  address: string;
  bytes: number;
  sha256: string | null;
  /** Whether size and type are confirmed. Else the size is said as "about". */
  sure: boolean;
}

/** A sentence by language. */
export type Sentences = Readonly<Record<Language, string>>;

export interface ShelfModel {
  id: string;
  name: string;
  chat: boolean;
  /** An embedding model, with which passages are found. */
  finds: boolean;
  /** On the short list. */
  first: boolean;
  /** Of those that fit and are quick enough, the highest stands in front; null: never. */
  recommend: number | null;
  goodFor: Sentences;
  /** '' if not known. */
  licence: string;
  /** What whoever uses it agrees to; null: nothing. */
  terms: { address: string; short: Sentences } | null;
  files: [ShelfFile, ...ShelfFile[]];
}

/** A model as this device would use it. */
export interface Offered {
  model: ShelfModel;
  file: ShelfFile;
  /** All of it stays in memory. */
  fits: boolean;
  speed: Estimate | null;
}

const MOST_MODELS = 60;
const MOST_FILES = 12;
const MOST_CHARACTERS = 300;
const MOST_BYTES = 2e12;

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown, most: number): unknown[] {
  return Array.isArray(value) ? (value as unknown[]).slice(0, most) : [];
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  return plain(value.slice(0, MOST_CHARACTERS));
}

/** Of a sentence in several languages, those that the page knows. */
function sentencesOf(value: unknown): Sentences {
  const fields = fieldsOf(value);
  const all = LANGUAGES.map((tag) => [tag, textOf(fields[tag])] as const);
  return Object.fromEntries(all.filter(([, text]) => text !== ''));
}

function fileOf(value: unknown, base: string): ShelfFile[] {
  const { type, address, bytes, sha256, verified } = fieldsOf(value);
  const url = typeof address === 'string' ? parseModelAddress(address, base) : undefined;
  const size = typeof bytes === 'number' && Number.isSafeInteger(bytes) ? bytes : 0;
  if (url === undefined || size <= 0 || size > MOST_BYTES) return [];
  const hash = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : null;
  return [{ type: textOf(type), address: url, bytes: size, sha256: hash, sure: verified === true }];
}

/** Undefined: there are terms, but they can't be shown, so the model can't be offered. */
function termsOf(value: unknown): ShelfModel['terms'] | undefined {
  if (value === null || value === undefined) return null;
  const { address, short } = fieldsOf(value);
  const sentences = sentencesOf(short);
  const good = typeof address === 'string' && URL.canParse(address);
  if (!good || new URL(address).protocol !== 'https:' || sentences['en'] === undefined)
    return undefined;
  return { address, short: sentences };
}

function modelOf(value: unknown, base: string): ShelfModel[] {
  const fields = fieldsOf(value);
  const [id, name] = [textOf(fields['id']), textOf(fields['name'])];
  const [file, ...others] = listOf(fields['files'], MOST_FILES).flatMap((one) => fileOf(one, base));
  const terms = termsOf(fields['terms']);
  if (id === '' || name === '' || file === undefined || terms === undefined) return [];
  const { kind, first, recommend, good_for, licence } = fields;
  const rank = typeof recommend === 'number' && Number.isFinite(recommend) ? recommend : null;
  return [
    {
      id,
      name,
      chat: kind === 'chat',
      finds: kind === 'embedding',
      first: first === true,
      recommend: rank,
      goodFor: sentencesOf(good_for),
      licence: textOf(licence),
      terms,
      files: [file, ...others],
    },
  ];
}

/** The models in a shelf's file; `base`: what its relative addresses belong to. Never throws. */
export function readShelf(value: unknown, base: string): ShelfModel[] {
  const found = new Map<string, ShelfModel>();
  for (const one of listOf(fieldsOf(value)['models'], MOST_MODELS)) {
    for (const each of modelOf(one, base)) if (!found.has(each.id)) found.set(each.id, each);
  }
  return [...found.values()];
}

/** What a model needs besides its weights, in bytes: a context, and the engine itself. */
const BESIDES = 150e6;
/** Tokens a second that a conversation needs. */
const QUICK = 8;

export interface Device {
  /** Bytes that a model may take. */
  limit: number;
  speed(file: ShelfFile): Estimate | null;
}

/** The first of its files that fits, or else the smallest. */
export function offerOf(model: ShelfModel, { limit, speed }: Device): Offered {
  const fits = (file: ShelfFile): boolean => file.bytes + BESIDES <= limit;
  const smallest = model.files.reduce((a, b) => (b.bytes < a.bytes ? b : a));
  const file = model.files.find(fits) ?? smallest;
  // Tokens are written by chat models only.
  return { model, file, fits: fits(file), speed: fits(file) && model.chat ? speed(file) : null };
}

/** The chat model that stands in front; null if there is none. */
export function recommended(models: readonly ShelfModel[], device: Device): Offered | null {
  const chats = models.filter(({ chat }) => chat).map((model) => offerOf(model, device));
  const good = chats
    .filter(({ model, fits, speed }) => {
      const rate = speed?.tokensPerSecond ?? null;
      return model.recommend !== null && fits && (rate === null || rate >= QUICK);
    })
    .sort((a, b) => (b.model.recommend ?? 0) - (a.model.recommend ?? 0));
  const [smallest = null] = chats.sort((a, b) => a.file.bytes - b.file.bytes);
  return good[0] ?? smallest;
}

export function thisDevice(): Device {
  const limit = memoryLimit(budgetOf(settings.value));
  return { limit, speed: ({ type, bytes }) => speedOfFile(type, bytes) };
}

/** Null: not known yet. */
export const shelf = signal<ShelfModel[] | null>(null);
/** The one in front. It stays the same while it is looked at, whatever is learned meanwhile. */
export const front = signal<Offered | null>(null);
let coming: Promise<void> | null = null;

/** A larger file is no shelf. */
const MOST_TEXT = 1_000_000;

async function fetchIt(): Promise<void> {
  try {
    const text = await fetchShelfFile();
    if (text.length > MOST_TEXT) throw new Error('models/shelf.json is too long');
    shelf.value = readShelf(JSON.parse(text === '' ? '{}' : text), document.baseURI);
  } catch {
    // The site has none, or the network is gone: the sheet still takes addresses and files.
    shelf.value = [];
    coming = null;
  }
  shelfNames.value = new Map(
    shelf.value.flatMap(({ name, files }) =>
      files.flatMap(({ address }) =>
        [address, addressFacts(address).url ?? address].map((ref) => [ref, name] as const),
      ),
    ),
  );
  front.value = recommended(shelf.value, thisDevice());
}

/** Fetches the shelf from the page's own site, if it isn't there. */
export function fetchShelf(): Promise<void> {
  startShelf();
  return (coming ??= fetchIt());
}

/** Addresses of the shelf whose models are on this device. */
export const here = signal<ReadonlySet<string>>(new Set());

let started = false;

/** Keeps what the offers depend on from now on, and the shelf at hand for the name of what comes from an address. */
export function startShelf(): void {
  if (started) return;
  started = true;
  keepSeen();
  keepRate();
  const known = computed(() =>
    [loading.value, paused.value, model.value].some((one) => one?.source.kind === 'address'),
  );
  effect(() => {
    if (known.value) void fetchShelf();
  });
  effect(() => {
    const models = shelf.value;
    if (models === null || kept.value === null) return;
    const addresses = models.flatMap(({ files }) => files.map(({ address }) => address));
    if (kept.value.length === 0 || addresses.length === 0) {
      here.value = new Set();
      return;
    }
    void Promise.all(addresses.map(isKept)).then((are) => {
      here.value = new Set(addresses.filter((_, i) => are[i]));
    });
  });
}

/** Seconds that a download takes, as the last one went; null if none did. */
export function secondsToCome({ bytes }: ShelfFile): number | null {
  return downloadRate.value === null ? null : bytes / downloadRate.value;
}

const TERMS = 'sluice.terms';

/** The terms that the reader has accepted, by their addresses. */
export const accepted = signal<ReadonlySet<string>>(readAccepted());

function readAccepted(): ReadonlySet<string> {
  try {
    const list = listOf(JSON.parse(localStorage.getItem(TERMS) ?? '[]'), MOST_MODELS);
    return new Set(list.filter((one) => typeof one === 'string'));
  } catch {
    return new Set();
  }
}

/** Whether the model has terms that the reader has not accepted yet. */
export function mustAccept({ terms }: ShelfModel): boolean {
  return terms !== null && !accepted.value.has(terms.address);
}

export function accept({ terms }: ShelfModel): void {
  if (terms === null || accepted.peek().has(terms.address)) return;
  accepted.value = new Set([...accepted.peek(), terms.address]);
  try {
    localStorage.setItem(TERMS, JSON.stringify([...accepted.value]));
  } catch {
    // No storage: they are asked for again on the next visit.
  }
}
