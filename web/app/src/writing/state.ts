// The writing view's state: a prompt, the text that continues it, and the texts of this visit.
import { batch, computed, signal } from '@preact/signals';
import type { Engine, Finish } from '@sluice/engine';
import { announcement } from '../announce';
import { tokens } from '../format';
import { learnFrom } from '../model/learn';
import { model, modelName, problem, stats, type Model } from '../model/state';
import { canWrite } from '../model/makes';
import { onReading, onToken, withEngine } from '../model/use';
import { settingsText } from '../page/fragment';
import { begin, busy } from '../run';
import { settings } from '../settings/settings';
import { sampling } from '../settings/use';
import { prompt } from './prompt';
import { bounded, fromJson, toJson, type By, type Texts, type Written } from './kept-texts';

export { prompt };
export type { Written } from './kept-texts';
import { writingTexts } from './texts';

/** The text that is shown: the prompt it continues, what came so far, and how it ended. */
export const written = signal<Written | null>(null);
/** Whether the run that the model is busy with is a text's; otherwise it is an answer's. */
export const writingNow = signal(false);
/** The texts of this visit that have ended, and the place of the one that is shown or grows. */
export const texts = signal<Texts>({ texts: [], at: 0 });

/** What was typed into the field beside a text that is not its prompt: it comes back with the text. */
const typed = new WeakMap<Written, string>();

function rememberTyped(): void {
  const so = written.value;
  if (so !== null && prompt.value !== so.prompt) typed.set(so, prompt.value);
}

const STORE = 'sluice-texts';

function keep(now: Texts): void {
  try {
    sessionStorage.setItem(STORE, toJson(now));
  } catch {
    // Some settings allow no storage: then the texts stay until the tab is closed or loaded again.
  }
}

/** Shows the texts that this tab had before it was loaded again. */
export function readKept(): void {
  let json: string | null = null;
  try {
    json = sessionStorage.getItem(STORE);
  } catch {
    return;
  }
  const kept = fromJson(json);
  batch(() => {
    texts.value = kept;
    written.value = kept.texts[kept.at] ?? null;
  });
  // A text that is being written when the page goes is kept as far as it came.
  window.addEventListener('pagehide', () => {
    const so = written.value;
    if (!writingNow.value || so === null || so.text === '') return;
    const seed = stats.value?.seed ?? null;
    keep(withText({ ...so, finish: 'aborted', seed }));
  });
}

function writer(by: Model | null): By | null {
  if (by === null) return null;
  const { source } = by;
  const url = source.kind === 'address' ? source.url : null;
  return { name: modelName(by), kind: source.kind, url };
}

/** Whether the model that is shown wrote this. */
export function isByModel({ by }: Written): boolean {
  const now = writer(model.value);
  return by !== null && by.name === now?.name && by.kind === now.kind && by.url === now.url;
}

/** The texts with the one that has grown, in its place. */
function withText(text: Written): Texts {
  const { texts: all, at } = texts.value;
  const grown = [...all];
  grown[at] = text;
  return bounded({ texts: grown, at });
}

/** Shows another text of this visit, with its prompt. */
export function show(at: number): void {
  const { texts: all } = texts.value;
  const next = all[at];
  if (busy.value || next === undefined || next === written.value) return;
  rememberTyped();
  batch(() => {
    texts.value = { texts: all, at };
    written.value = next;
    prompt.value = typed.get(next) ?? next.prompt;
  });
  keep(texts.value);
}

/** The whole text, as the prompt that goes on with it; null: it has come to its end. */
export const further = computed(() => {
  const so = written.value;
  if (so === null || so.text === '' || so.finish === 'eos' || so.finish === 'context') return null;
  // A character that the end cut in two is written anew.
  return (so.prompt + so.text).replace(/\uFFFD$/, '');
});

/** Writes a text from the prompt on. Waits for a model that is being loaded. */
export function write(): void {
  if (busy.value || !canWrite.value) return;
  const { texts: all, at } = texts.value;
  batch(() => {
    texts.value = { texts: all, at: all.length };
    start({ ...NOTHING, prompt: prompt.value }, prompt.value, at);
  });
}

/** Writes another text from the prompt of the one that is shown. */
export function again(): void {
  const so = written.value;
  if (busy.value || so === null) return;
  rememberTyped();
  prompt.value = so.prompt;
  write();
}

/** Goes on with the text that is shown. What was computed for it is not computed again. */
export function goOn(): void {
  const so = written.value;
  if (busy.value || !canWrite.value || so === null || further.value === null) return;
  const text = further.value.slice(so.prompt.length);
  start({ ...so, text, begun: text.length, finish: null }, further.value, texts.value.at);
}

const NOTHING: Omit<Written, 'prompt'> = {
  ...{ text: '', tokens: 0, finish: null, seed: null, by: null, begun: 0, settings: '' },
};

/** Begins a run that adds to `so`. If nothing is added, the text that is shown now, at `place`, is shown again. */
function start(so: Written, from: string, place: number): void {
  const shown = written.value;
  const begun = { ...so, settings: settingsText(settings.value) };
  batch(() => {
    problem.value = null;
    written.value = begun;
    writingNow.value = true;
    void begin(async (signal) => {
      const outcome = await withEngine(signal, (by) => {
        // Where the load of an engine fails, another one begins anew.
        written.value = { ...begun, by: writer(model.value) };
        return wrote(by, from, signal);
      });
      const finish =
        outcome.kind === 'done'
          ? (outcome.by.stats.finish ?? 'length')
          : outcome.kind === 'aborted'
            ? 'aborted'
            : null;
      const by = 'by' in outcome ? outcome.by : null;
      if (by !== null) learnFrom(by.stats);
      batch(() => {
        const now = written.value;
        if (now !== null && now.text !== so.text) {
          const seed = by?.stats.seed ?? null;
          ended({ ...now, finish, seed });
        } else if (outcome.kind !== 'done') {
          written.value = shown;
          texts.value = { ...texts.value, at: place };
        } else if (so.text === '') {
          written.value = { ...so, finish };
        } else if (shown !== null) {
          ended({ ...shown, finish });
        }
        announce(finish);
      });
    }).then(() => {
      writingNow.value = false;
    });
  });
}

async function wrote(by: Engine, from: string, signal: AbortSignal): Promise<void> {
  announcement.value = writingTexts.value.writing;
  const text = by.generate(from, {
    ...sampling(settings.value),
    signal,
    onPromptProgress: onReading,
  });
  for await (const token of text) {
    const so = written.value;
    if (so === null) break;
    batch(() => {
      onToken(by);
      written.value = { ...so, text: so.text + token.text, tokens: so.tokens + 1 };
    });
  }
}

function ended(text: Written): void {
  texts.value = withText(text);
  written.value = text;
  keep(texts.value);
}

/** `finish`: null if it failed, which the reader is told elsewhere. */
function announce(finish: Finish | null): void {
  if (finish === null) return;
  const { done, stopped } = writingTexts.value;
  const amount = tokens(written.value?.tokens ?? 0);
  announcement.value = (finish === 'aborted' ? stopped : done)(amount);
}
