import { expect, it } from 'vitest';
import { contextOf, kvBytes } from '../src/settings/context';
import {
  chosenPreset,
  choosePreset,
  own,
  preset,
  presetOf,
  presets,
} from '../src/settings/presets';
import {
  DEFAULTS,
  SETTING_NAMES,
  TEXT_LENGTH,
  budgetOf,
  change,
  defaults,
  followModel,
  formatSetting,
  nearestSetting,
  parseMemory,
  parseSetting,
  settings,
  takeNamed,
  type Settings,
} from '../src/settings/settings';
import { MAX_STOP, isStop, joinStops, readStop, showStop, splitStops } from '../src/settings/stops';
import { answerSampling, loadOptions, loadSettings, sameLoad, sampling } from '../src/settings/use';

it('takes the nearest number that is allowed', () => {
  expect(nearestSetting('length', '99999')).toBe(4096);
  expect(nearestSetting('length', '0')).toBe(1);
  expect(nearestSetting('topK', '-3')).toBe(0);
  expect(nearestSetting('topK', '2.6')).toBe(3);
  expect(nearestSetting('temperature', '0.75')).toBe(0.75);
  expect(nearestSetting('seed', '1e999')).toBe(Number.MAX_SAFE_INTEGER);
});

it('takes no number from what is none', () => {
  for (const text of ['', ' ', '-', 'abc', 'NaN']) {
    expect(nearestSetting('length', text)).toBeUndefined();
  }
});

it('takes whole megabytes as they are typed, and nothing else', () => {
  expect(parseMemory('300')).toBe(300);
  expect(parseMemory(' 4294 ')).toBe(4294);
  expect(parseMemory('  ')).toBeNull();
  for (const text of [
    '0',
    '-5',
    '1.',
    '1.5',
    '1.5G',
    '300 MB',
    'abc',
    '4295',
    '1e3',
    '9'.repeat(30),
  ])
    expect(parseMemory(text), text).toBeUndefined();
});

it('gives the library the memory in bytes, or leaves it out', () => {
  expect(budgetOf({ memory: 300 })).toBe(300_000_000);
  expect(budgetOf({ memory: null })).toBeUndefined();
});

it('says nothing of a default, and reads back all else', () => {
  for (const name of SETTING_NAMES) expect(formatSetting(name, DEFAULTS), name).toBeNull();
  const other: Settings = {
    temperature: 0,
    topK: 1000,
    topP: 0.05,
    minP: 0.5,
    repeatPenalty: 0.8,
    repeatLastN: 0,
    presencePenalty: 2,
    frequencyPenalty: 0.01,
    length: 1,
    seed: 0,
    stop: ['\n'],
    reasoning: 'on',
    reasoningBudget: 100_000,
    context: 16,
    kvType: 'f32',
    threads: 64,
    memory: 4294,
  };
  for (const name of SETTING_NAMES) {
    const text = formatSetting(name, other);
    expect(text, name).not.toBeNull();
    expect(parseSetting(name, text ?? ''), name).toEqual(other[name]);
  }
});

it('writes stop texts on one line, and reads them back', () => {
  expect(showStop('a\n\tb\\n')).toBe('a\\n\\tb\\\\n');
  for (const text of ['\n', '\\', '\\n', '\\\n', 'a|b', '\\|', '|', 'x\\', '\t\t', 'C:\\new', '🙂'])
    expect(readStop(showStop(text)), text).toBe(text);
  // Only what has a meaning is taken as written out.
  expect(readStop('\\d \\x')).toBe('\\d \\x');
});

it('joins stop texts, whatever they are', () => {
  for (const stops of [
    ['|'],
    ['\\'],
    ['\\', '|'],
    ['\\|', '|\\'],
    ['a', '\n|\n', '\\\\'],
    ['|', '|', '|', '|'],
  ])
    expect(splitStops(joinStops(stops)), JSON.stringify(stops)).toEqual(stops);
});

it('refuses what can be no stop text', () => {
  for (const text of ['', 'x'.repeat(MAX_STOP + 1), '\r', '\u0000', '\u007f', '\ud800', 'a\udc00'])
    expect(isStop(text), JSON.stringify(text)).toBe(false);
  expect(isStop('x'.repeat(MAX_STOP))).toBe(true);
  for (const text of ['', '|', 'a|', 'a|b|c|d|e', 'x'.repeat(1_000_000), '\\'.repeat(1_000_000)])
    expect(splitStops(text), text.slice(0, 20)).toBeUndefined();
});

it('knows a preset by its samplers', () => {
  expect(presetOf(DEFAULTS)).toBe('balanced');
  expect(presetOf({ ...DEFAULTS, ...presets.value.precise, seed: 3, length: 9 } as Settings)).toBe(
    'precise',
  );
  expect(presetOf({ ...DEFAULTS, minP: 0.04 })).toBe('own');
  expect(presetOf({ ...DEFAULTS, presencePenalty: 0.5 })).toBe('own');
});

it('goes from a preset to own samplers and back', () => {
  settings.value = { ...DEFAULTS, seed: 7 };
  choosePreset('own'); // there are none yet
  expect(settings.value).toEqual({ ...DEFAULTS, seed: 7 });
  choosePreset('wild');
  expect(settings.value).toEqual({ ...DEFAULTS, ...presets.value.wild, seed: 7 });
  expect(chosenPreset.value).toBe('wild');
  change({ temperature: 1.5 });
  expect(preset.value).toBe('own');
  choosePreset('balanced');
  expect(settings.value).toEqual({ ...DEFAULTS, seed: 7 });
  expect(own.value).toEqual({ ...presets.value.wild, temperature: 1.5 });
  expect(chosenPreset.value).toBeNull();
  choosePreset('own');
  expect(settings.value).toEqual({ ...DEFAULTS, ...presets.value.wild, temperature: 1.5, seed: 7 });
  settings.value = { ...DEFAULTS };
});

it("takes a model's own samplers for the defaults, and leaves what the reader changed", () => {
  settings.value = { ...DEFAULTS, topP: 0.5 };
  followModel({ temperature: 0.6, topK: 20, topP: 0.9, xtcProbability: 0.5 });
  const own = { ...DEFAULTS, temperature: 0.6, topK: 20, topP: 0.9 };
  expect(defaults.value).toEqual(own);
  expect(settings.value).toEqual({ ...own, topP: 0.5 });
  expect(presetOf(own)).toBe('balanced');
  expect(presetOf(DEFAULTS)).toBe('own');
  expect(formatSetting('temperature', own)).toBeNull();
  expect(formatSetting('temperature', DEFAULTS)).toBe('0.8');
  change({ temperature: 0.8 });
  followModel({ temperature: 0.6, topK: 20, topP: 0.9 });
  expect(settings.value.temperature).toBe(0.8);
  change({ temperature: 0.6 });
  followModel({});
  expect(settings.value).toEqual({ ...DEFAULTS, topP: 0.5 });
  settings.value = { ...DEFAULTS };
});

it("keeps a preset's samplers when a model comes", () => {
  choosePreset('precise');
  followModel({ temperature: 0.6, topK: 20 });
  expect(settings.value).toMatchObject({ temperature: 0.2, topP: 0.9, topK: 20 });
  expect(preset.value).toBe('precise');
  followModel({});
  expect(preset.value).toBe('precise');
  choosePreset('balanced');
  expect(settings.value).toEqual(DEFAULTS);
});

it('shows what a model brings within the range of the controls', () => {
  followModel({ temperature: 5, topK: 100_000, minP: 0, repeatLastN: -1 });
  expect(settings.value).toMatchObject({ temperature: 2, topK: 1000, minP: 0, repeatLastN: 4096 });
  followModel({});
});

it('leaves what an address says whatever model comes, until the reader changes it', () => {
  takeNamed({ ...DEFAULTS }, new Set(['temperature']));
  // The model of the page comes first.
  followModel({});
  followModel({ temperature: 0.6, topK: 20 });
  expect(settings.value).toMatchObject({ temperature: 0.8, topK: 20 });
  change({ temperature: 0.6 });
  followModel({});
  expect(settings.value).toEqual(DEFAULTS);
  takeNamed({ ...DEFAULTS }, new Set());
});

it('gives the library the samplers', () => {
  expect(sampling(DEFAULTS)).toEqual({
    ...presets.value.balanced,
    maxTokens: TEXT_LENGTH,
    seed: undefined,
    stop: undefined,
  });
  const penalties = { repeatLastN: 256, presencePenalty: 0.5, frequencyPenalty: 0.2 };
  expect(sampling({ ...DEFAULTS, ...penalties })).toMatchObject(penalties);
  const some: Settings = { ...DEFAULTS, length: 9, seed: 0, stop: ['\n'], reasoningBudget: 50 };
  expect(sampling(some)).toMatchObject({ maxTokens: 9, seed: 0, stop: ['\n'] });
  expect(answerSampling(DEFAULTS)).toEqual(presets.value.balanced);
  expect(answerSampling({ ...DEFAULTS, ...penalties })).toMatchObject(penalties);
  expect(answerSampling(some)).toMatchObject({ maxTokens: 9, seed: 0, stop: ['\n'] });
  const thinks = (of: Settings): unknown[] => {
    const { thinking, thinkingTokens } = answerSampling(of);
    return [thinking, thinkingTokens];
  };
  expect(thinks(DEFAULTS)).toEqual([undefined, undefined]);
  expect(thinks(some)).toEqual([undefined, 50]);
  expect(thinks({ ...some, reasoning: 'on' })).toEqual([true, 50]);
  // A budget would have no meaning.
  expect(thinks({ ...some, reasoning: 'off' })).toEqual([false, undefined]);
});

it('knows what a load would change', () => {
  const some: Settings = { ...DEFAULTS, context: 1000, kvType: 'q8_0', threads: 2, memory: 5 };
  expect(loadOptions(DEFAULTS)).toEqual({ kvType: 'f16' });
  expect(loadOptions(some)).toEqual({
    contextSize: 1000,
    kvType: 'q8_0',
    threads: 2,
    memoryBudget: 5_000_000,
  });
  const loaded = loadSettings(some);
  const hotter: Settings = { ...some, temperature: 2 };
  expect(sameLoad(loaded, hotter, true)).toBe(true);
  for (const other of [{ context: null }, { kvType: 'f16' }, { memory: 6 }] as const)
    expect(sameLoad(loaded, { ...some, ...other }, true), JSON.stringify(other)).toBe(false);
  expect(sameLoad(loaded, { ...some, threads: 3 }, true)).toBe(false);
  // Where there is one thread, their number changes nothing.
  expect(sameLoad(loaded, { ...some, threads: 3 }, false)).toBe(true);
});

it('reckons the memory of a context from that of another', () => {
  const plan = { kv: 512_000, kvChunk: 256_000, plannedTokens: 512, kvType: 'f16' } as const;
  expect(kvBytes(plan, 512, 'f16')).toBe(512_000);
  expect(kvBytes(plan, 513, 'f16')).toBe(768_000); // the engine takes 256 positions at a time
  expect(kvBytes(plan, 1, 'f16')).toBe(256_000);
  expect(kvBytes(plan, 4096, 'f32')).toBe(8_192_000);
  expect(kvBytes(plan, 512, 'q8_0')).toBe(288_000);
  const small = { ...plan, kvType: 'q8_0', kv: 288_000, kvChunk: 144_000 } as const;
  expect(kvBytes(small, 512, 'f16')).toBe(512_000);
  // Recurrent states and windows take the same for any context.
  expect(kvBytes({ ...plan, kv: 9_512_000 }, 4096, 'f16')).toBe(13_096_000);
});

it('knows the context that a model gets', () => {
  const writer = { contextLength: 131_072, makes: ['text', 'vectors'] } as const;
  expect(contextOf({ context: null }, writer)).toBe(4096);
  expect(contextOf({ context: null }, { ...writer, contextLength: 512 })).toBe(512);
  expect(contextOf({ context: 9000 }, { ...writer, contextLength: 512 })).toBe(9000);
  // One that makes vectors alone takes texts as long as it allows.
  expect(contextOf({ context: null }, { contextLength: 8192, makes: ['vectors'] })).toBe(8192);
  expect(contextOf({ context: null }, { ...writer, contextLength: null })).toBeNull();
  expect(contextOf({ context: null }, null)).toBeNull();
  expect(contextOf({ context: 700 }, null)).toBe(700);
});
