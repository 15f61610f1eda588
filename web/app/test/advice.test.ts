import fs from 'node:fs';
import path from 'node:path';
import {
  NOTE_CODES,
  SluiceError,
  type DownloadReason,
  type ErrorCode,
  type Facts,
  type Note,
} from '@sluice/engine';
import { afterEach, describe, expect, it } from 'vitest';
import { explain, type Failure } from '../src/model/advice';
import { detailsInWords, foundInWords } from '../src/model/found-in-words';
import { noteInWords } from '../src/model/note';
import { LANGUAGES, chosenLanguage, type Language } from '../src/texts';
import { errors } from '../src/texts/en/errors';
import { found } from '../src/texts/en/found';
import { notes } from '../src/texts/en/notes';
import { textsOf } from './all-texts';

afterEach(() => {
  chosenLanguage.value = 'en';
});

/** One of each fact. */
const ALL: Required<Facts> = {
  neededBytes: 2e9,
  availableBytes: 1e9,
  leastBytes: 1.5e9,
  rereadBytes: 5e8,
  limit: 'device',
  tokens: 9000,
  room: 4095,
  architecture: 'mamba',
  tokenizer: 'rwkv',
  tensor: 'blk.0.x',
  key: 'a.b',
  value: '7',
  type: 'IQ1_S',
  missing: 'simd',
  url: 'https://localhost:8080/m.gguf',
  status: 404,
  reason: 'status',
  expectedSha256: 'a'.repeat(64),
  foundSha256: 'b'.repeat(64),
  said: 'trap',
  id: 7000,
  name: 'foo',
  merges: 3,
  contextSize: 8192,
  trained: 2048,
  threads: 1,
  asked: 4,
  family: 'ChatML',
  role: 'wizard',
  token: '<|wizard|>',
};

function of(
  code: ErrorCode,
  facts: Facts,
  message = 'in English; do this',
): Failure & { found: string; details: string } {
  const failure = explain(new SluiceError(code, message, { facts }));
  return {
    ...failure,
    found: foundInWords(code, failure.facts),
    details: detailsInWords(code, failure.facts),
  };
}

function inEach(work: (language: Language) => void): void {
  for (const language of LANGUAGES) {
    chosenLanguage.value = language;
    work(language);
  }
}

describe('every code has words in each language', () => {
  it('of errors', () => {
    const codes = Object.keys(errors) as ErrorCode[];
    const shown = new Set<string>();
    inEach((language) => {
      const texts = textsOf(language);
      for (const code of codes) {
        const told = of(code, ALL);
        const { title, advice, details } = told;
        const { otherwise } = { otherwise: '', ...texts.model.errors[code] };
        // What to do is always said, in the page's words.
        expect(advice || otherwise, code).toMatch(/^\p{Lu}.*\.$/u);
        expect(title, code).not.toBe('');
        const byReason = ['download_failed', 'unsupported_browser'].includes(code);
        expect(told.found !== '', code).toBe(byReason || code in texts.found.codes);
        expect(details !== '', code).toBe(code in texts.found.details);
        expect(told.found + details, code).not.toMatch(/undefined|[{}]/);
        // Nothing depends on what the message says.
        expect(of(code, ALL, 'other'), code).toEqual({ ...of(code, ALL), said: 'other' });
        shown.add(title).add(told.found);
      }
    });
    const said = Object.keys(found.codes).length + 1;
    expect(shown.size).toBe(LANGUAGES.length * (codes.length + said) + 1);
  });

  it('of notes', () => {
    expect(Object.keys(notes.notes).sort()).toEqual([...NOTE_CODES].sort());
    const shown = new Set<string>();
    inEach(() => {
      for (const code of NOTE_CODES) {
        const facts: Facts = { ...ALL, reason: 'storage_full' };
        const note: Note = { code, message: 'in English', audience: 'user', facts };
        const words = noteInWords(note);
        expect(words, code).toMatch(/^[A-ZÄÖÜ„“a].*\.$/);
        expect(words, code).not.toMatch(/undefined|English|[{}]/);
        shown.add(words);
      }
    });
    expect(shown.size).toBe(LANGUAGES.length * NOTE_CODES.length);
  });
});

describe('an error', () => {
  it('is told in the reader’s language, of its facts', () => {
    const facts: Facts = { neededBytes: 2.58e9, availableBytes: 1e6, leastBytes: 6e8 };
    expect(of('budget_too_small', facts).found).toBe(
      'It needs 600 MB at least, and may take 1.00 MB.',
    );
    // Of a conversation that gets too little, not of the model.
    expect(of('out_of_memory', { neededBytes: 4e8, availableBytes: 3e8, tokens: 1000 }).found).toBe(
      'For 1,000 tokens it needs 400 MB more, and 300 MB are left.',
    );
    chosenLanguage.value = 'de';
    expect(of('budget_too_small', facts).found).toBe(
      'Es braucht mindestens 600 MB und darf 1,00 MB nehmen.',
    );
    expect(of('context_full', { tokens: 9000, room: 4095 })).toMatchObject({
      title: 'Der Text ist länger, als das Modell lesen kann',
      found: 'Er hat 9.000 Token oder mehr, und Platz ist für 4.095.',
    });
    expect(of('unsupported_model', { architecture: 'mamba' }).details).toContain('„mamba“');
    expect(of('download_failed', { ...ALL, status: 401 }).found).toMatch(
      /^localhost:8080 hat mit 401 geantwortet: .* Konto.*melde dich an/,
    );
    for (const reason of Object.keys(found.reasons) as DownloadReason[]) {
      if ((reason as string) === 'simd') continue;
      const { found } = of('download_failed', { ...ALL, status: 503, reason });
      expect(found, reason).toMatch(/^(Diese|Die|localhost:8080) .*\.$/);
    }
    expect(of('unsupported_browser', { missing: 'simd' }).found).toContain('zu alt');
    expect(of('unsupported_browser', { missing: 'policy' }).found).toBe('');
    expect(of('download_failed', { url: ALL.url, reason: 'unreachable' }).found).toContain(
      'lässt andere Seiten',
    );
  });

  it('keeps the library’s words for those who unfold them', () => {
    expect(of('bad_file', {}, 'localhost:8080 sent no model; choose another file')).toMatchObject({
      found: '',
      said: 'localhost:8080 sent no model; choose another file',
    });
    expect(of('download_failed', { reason: 'library' }).said).toBe('in English; do this');
    for (const thrown of [new Error('gone'), 'gone'])
      expect(explain(thrown)).toMatchObject({ code: 'worker_died', own: '', said: 'gone' });
  });

  it('says what to do', () => {
    expect(of('context_full', ALL).advice).toContain('Shorten the prompt');
    expect(of('storage_full', ALL).advice).toMatch(/Remove models.*without keeping/);
    expect(of('offline', ALL).advice).toContain('what has come is kept');
    expect(of('download_corrupt', ALL).advice).toContain('Try again');
    expect(of('download_failed', ALL).found).toBe(
      'localhost:8080 answered 404. There is no such file: check the address.',
    );
  });
});

it('no source of the page looks into a message', () => {
  const root = path.join(import.meta.dirname, '../src');
  const sources = fs.readdirSync(root, { recursive: true, encoding: 'utf8' });
  const looks =
    /\b(message|said)\??\.(at|charAt|endsWith|includes|indexOf|lastIndexOf|match|matchAll|replace|replaceAll|search|slice|split|startsWith|substring|trim)\(|\.(test|exec)\(\s*[\w.]*\b(message|said)\b/;
  const found = sources
    .filter((file) => /\.tsx?$/.test(file))
    .filter((file) => looks.test(fs.readFileSync(path.join(root, file), 'utf8')));
  expect(found).toEqual([]);
  // Only here are messages of errors read at all, to be shown.
  const reads = sources
    .filter((file) => /\.tsx?$/.test(file))
    .filter((file) => /\berror\.message\b/.test(fs.readFileSync(path.join(root, file), 'utf8')));
  expect(reads).toEqual(['model/advice.ts']);
});
