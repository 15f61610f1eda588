// What the page's address says, and what the reader opens: links, addresses, files.
import { batch, computed, effect, signal } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { ownFinding, type Failure } from '../model/advice';
import { parseModelAddress, readFragment, writeFragment } from './fragment';
import { isKept, partOf } from '../model/kept';
import { headerOf } from '../model/probe';
import { lastChoice, type Choice } from '../model/choice';
import { BUNDLED, OWN, fromAddress, oneModel, type Handles } from '../model/source';
import { loading, model, open, paused, problem, sought, tell, writable } from '../model/state';
import { t } from '../texts';
import { prompt } from '../writing/prompt';
import { fetchParts } from './parts';
import { chosenView, prompted, usualView } from './view';
import { usualSettings } from '../settings/personal';
import { settings, takeNamed } from '../settings/settings';

/** A model that a link names. Nothing is fetched from its server before the reader agrees. */
export interface Offer {
  url: string;
  /** Whether the reader agreed that its header is fetched. */
  asked: boolean;
  info: ModelInfo | null;
  /** The page itself had put it into its address: first is looked what is here of it. */
  own: boolean;
  failure: Failure | null;
}

export const offer = signal<Offer | null>(null);
/** The text of the address field: what was typed, or the address in the link. */
export const address = signal('');
/** What the page's address said when it was read; '' once the reader has closed what was said about it. */
const said = signal('');
/** The parts of it that could not be used, in the page's language. */
export const ignored = computed(() => readFragment(said.value, document.baseURI).ignored);

export function closeIgnored(): void {
  said.value = '';
}

let offerAbort: AbortController | null = null;

/** Loads a model from an address that the reader typed. Returns false if it can be no address. */
export function openAddress(text: string, sha256?: string): boolean {
  const url = parseModelAddress(text.trim());
  if (url === undefined) return false;
  closeOffer();
  void open(fromAddress(url, true, sha256));
  return true;
}

/** `handles`: of the files, in their order. */
export function openFiles(files: File[], handles?: Handles): void {
  if (files.length === 0) return;
  const source = oneModel(files, handles);
  if (source === null) {
    const { title } = t.peek().model.errors.invalid_argument;
    const own = t.peek().page.severalModels;
    tell({ ...ownFinding('invalid_argument', own), title, advice: '' }, null);
    return;
  }
  closeOffer();
  void open(source);
}

/**
 * Loads a model that a link names, if no other server learns of that. Otherwise asks the reader first; of one's own download
 * it says how far that is.
 */
async function openLinked(url: string): Promise<void> {
  closeOffer();
  address.value = url;
  if (isOwn(url)) {
    await open(fromAddress(url));
    return;
  }
  const { signal } = (offerAbort = new AbortController());
  const own = named() === url;
  offer.value = { url, asked: false, info: null, own, failure: null };
  const [whole, part] = await Promise.all([isKept(url), partOf(url)]);
  if (signal.aborted || offer.value?.asked !== false) return;
  if (whole) {
    acceptOffer();
  } else if (part === null) {
    offer.value = { ...offer.value, own: false };
  } else {
    closeOffer();
    paused.value = { source: fromAddress(url), progress: null };
  }
}

/** The model that the page itself put into its address; null: a link did. */
function named(): unknown {
  return (history.state as { model?: unknown } | null)?.model ?? null;
}

function isOwn(url: string): boolean {
  return new URL(url).origin === location.origin;
}

/** Fetches the header of the offered model: the reader has agreed. */
export async function lookAtOffer(): Promise<void> {
  const accepted = offer.value;
  if (accepted === null || (accepted.asked && accepted.failure === null)) return;
  const { url } = accepted;
  // What else is asked about it must not change the offer that is there by then.
  offerAbort?.abort();
  const { signal } = (offerAbort = new AbortController());
  offer.value = { ...accepted, asked: true, failure: null };
  const found = await headerOf(url, signal);
  if (!signal.aborted) offer.value = { ...accepted, asked: true, ...found };
}

export function acceptOffer(): void {
  const accepted = offer.value;
  if (accepted === null) return;
  closeOffer();
  void open(fromAddress(accepted.url));
}

/** Removes the offer, and aborts the fetch of its header. */
export function closeOffer(): void {
  offerAbort?.abort();
  offerAbort = null;
  offer.value = null;
}

function applyFragment(): string | null {
  const state = readFragment(location.hash, document.baseURI);
  batch(() => {
    prompt.value = state.prompt;
    // A link says all: only an address without any begins with the reader's own preset and view.
    const says = location.hash.length > 1;
    const params = new URLSearchParams(location.hash.slice(1));
    takeNamed(says ? state.settings : usualSettings(), new Set(params.keys()));
    prompted.value = params.has('prompt');
    chosenView.value = says ? state.view : usualView.value;
    said.value = location.hash;
  });
  return state.model;
}

/**
 * The model that the page's address should name: the one offered, paused, being loaded or loaded. One that failed stays
 * named while the message about it is there, so that it can be tried again.
 */
function linkedModel(): string | null {
  if (offer.value !== null) return offer.value.url;
  const source =
    paused.value?.source ??
    (loading.value?.back === true ? undefined : loading.value?.source) ??
    problem.value?.retry ??
    loading.value?.source ??
    model.value?.source;
  // It is named while it is looked for.
  if (source === undefined && /^(https?|hf):/.test(sought.value?.ref ?? ''))
    return sought.value?.ref ?? null;
  return source?.kind === 'address' ? source.url : null;
}

/** `model`: the one in it that is the reader's own, and not only offered. */
function writeAddress(fragment: string, model: string | null): void {
  if (fragment === location.hash.slice(1) && model === named()) return;
  try {
    history.replaceState(
      { model },
      '',
      fragment === '' ? location.pathname + location.search : `#${fragment}`,
    );
  } catch {
    // Some browsers refuse if this happens too often. The next change tries again.
  }
}

/** A new model and the view are named at once, so that a reload finds them; what is typed, when the reader rests. */
function keepFragment(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let { model: latest, view: latestView } = readFragment(location.hash, document.baseURI);
  const linked = computed(linkedModel);
  const own = computed(() => (offer.value?.own === false ? null : linked.value));
  const fragment = computed(() =>
    writeFragment({
      prompt: prompt.value,
      model: linked.value,
      settings: settings.value,
      view: chosenView.value,
    }),
  );
  effect(() => {
    const [text, url, mine, shown] = [fragment.value, linked.value, own.value, chosenView.value];
    const write = (): void => {
      latest = url;
      latestView = shown;
      writeAddress(text, mine);
    };
    clearTimeout(timer);
    timer = setTimeout(write, url === latest && shown === latestView ? 250 : 0);
  });
}

/** Opens what was used last. Whether that is still there is found out by a script that comes later (return.ts). */
function openLast(choice: Choice | null): void {
  if (choice === null || choice.ref === OWN) {
    void open(BUNDLED);
    return;
  }
  sought.value = choice;
  void fetchParts().then((all) => {
    if (all !== null || sought.peek() !== choice) return;
    sought.value = null;
    void open(BUNDLED);
  });
}

/** Reads the address, loads the first model, and keeps the address up to date from then on. */
export function start(): void {
  const linked = applyFragment();
  const choice = lastChoice();
  const same = linked === null || linked === choice?.ref;
  if (same || !isOwn(linked)) openLast(choice);
  if (!same) void openLinked(linked);
  keepFragment();
  window.addEventListener('hashchange', () => {
    const next = applyFragment();
    const current = linkedModel();
    if (next === current) return;
    if (next !== null) {
      void openLinked(next);
      return;
    }
    closeOffer();
    if (!writable.value) void open(BUNDLED);
  });
}
