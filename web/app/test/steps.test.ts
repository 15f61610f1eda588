import type { ErrorCode, Facts, ModelFile } from '@sluice/engine';
import { expect, it } from 'vitest';
import { foundInWords } from '../src/model/found-in-words';
import { atHub, searchPage, searchedFor } from '../src/model/hub';
import { stepsOf } from '../src/model/steps';
import { usualOf } from '../src/model/usual';
import { errors } from '../src/texts/en/errors';
import { found } from '../src/texts/en/found';

const HUB = 'hf:owner/repo:m.gguf';
const ELSEWHERE = 'https://models.example/m.gguf';

/** Every error, with the facts on which its texts depend. */
function* all(): Generator<[ErrorCode, Facts]> {
  for (const code of Object.keys(errors) as ErrorCode[]) yield [code, {}];
  const url = ELSEWHERE;
  for (const reason of Object.keys(found.reasons)) {
    const status = { missing: 404, denied: 401 }[reason] ?? 503;
    const facts = { reason: reason in { missing: 0, denied: 0 } ? 'status' : reason, status, url };
    yield ['download_failed', facts as Facts];
  }
}

it('each step that an error’s texts name has a button or a link', () => {
  for (const address of [HUB, ELSEWHERE]) {
    for (const [code, facts] of all()) {
      const about = errors[code];
      const told = foundInWords(code, facts);
      const otherwise = told === '' && 'otherwise' in about ? about.otherwise : '';
      const text = [about.advice, told, otherwise].join(' ');
      const steps = stepsOf({ code, facts }, address);
      const named: [RegExp, unknown][] = [
        [/[Cc]hoose (a|the) file|model file of yours/, steps.file],
        [/models on this device/, steps.kept],
        [/(another|smaller|a) model( of| with|\.)/, steps.others],
        [/another file of the same model/, steps.others],
        [/Load it again from/, steps.others],
        [/under Settings/, steps.settings],
        [
          /another (address|server)|[Cc]heck the address|Use (the address|one of those)/,
          steps.address,
        ],
        [/with your browser/, steps.page ?? steps.download],
        // Only the hub's pages are known.
        [/[Oo]pen its page/, address === ELSEWHERE || steps.page],
        [/no such/, address === ELSEWHERE || steps.search],
      ];
      for (const [names, step] of named)
        if (names.test(text))
          expect(step, `${code} ${address}: ${text} (${names.source})`).toBeTruthy();
    }
  }
  // A script is nothing to download.
  const facts: Facts = { reason: 'unreachable' };
  expect(stepsOf({ code: 'download_failed', facts }, 'blob:x/y').download).toBeNull();
});

it('knows the hub’s pages, and searches it for what was typed', () => {
  const page = 'https://huggingface.co/owner/repo';
  for (const address of [
    HUB,
    'hf:owner/repo',
    `${page}/resolve/main/m.gguf`,
    'https://hf.co/owner/repo',
  ])
    expect(atHub(address)).toEqual({ page, owner: 'owner', name: 'repo' });
  expect(atHub(ELSEWHERE)).toBeNull();
  expect(atHub('https://huggingface.co.example/owner/repo')).toBeNull();
  expect(searchPage('a&b c')).toBe('https://huggingface.co/models?library=gguf&search=a%26b+c');
  for (const typed of [
    'llama3.2',
    ' ollama run llama3.2:1b ',
    'ollama pull llama3.2',
    'llama3.2:1b',
  ])
    expect(searchedFor(typed)).toBe('llama3.2');
  expect(searchedFor('https://huggingface.co/gemma')).toBe('gemma');
});

it('recommends of a repository’s files the usual compromise that fits, or what is near it', () => {
  const of = (...types: string[]): ModelFile[] =>
    types.map(
      (type, i) => ({ type, name: type, address: type, bytes: i + 1, parts: 1 }) as ModelFile,
    );
  const all = (): boolean => true;
  expect(usualOf(of('F16', 'Q8_0', 'Q4_0', 'Q4_K_M'), all)?.type).toBe('Q4_K_M');
  expect(usualOf(of('F16', 'Q8_0', 'Q5_K_M'), all)?.type).toBe('Q5_K_M');
  expect(usualOf(of('Q2_K', 'Q4_K_M'), ({ type }) => type !== 'Q4_K_M')?.type).toBe('Q2_K');
  expect(usualOf(of('IQ1_S', 'F32', ''), all)).toBeNull();
  expect(usualOf(of('Q4_K_M', 'Q4_0'), () => false)).toBeNull();
  expect(usualOf(of('Q4_K_M'), all)).toBeNull();
});
