import { describe, expect, it } from 'vitest';
import { readFragment, writeFragment, type PageState } from '../src/link/fragment';
import { parseModelAddress } from '../src/model/source';
import { DEFAULTS } from '../src/settings/settings';
import { DEFAULT_PROMPT, MAX_PROMPT } from '../src/link/prompt';

const BASE = 'https://sluice.example/app/';
const usual: PageState = {
  prompt: DEFAULT_PROMPT,
  model: null,
  view: null,
  settings: { ...DEFAULTS },
};

describe('a fragment', () => {
  it('that is empty means the defaults', () => {
    expect(readFragment('', BASE)).toEqual({ ...usual, ignored: [] });
    expect(readFragment('#', BASE)).toEqual({ ...usual, ignored: [] });
    expect(writeFragment(usual)).toBe('');
  });

  it('is read back as it was written', () => {
    const states: PageState[] = [
      { ...usual, prompt: '' },
      { ...usual, prompt: 'a+b & c=d #e %41\n\t“ü” 🙂' },
      { ...usual, model: 'https://models.example/a/b%20c.gguf?download=true&x=1+1' },
      { ...usual, view: 'talk' },
      {
        prompt: 'x',
        model: 'http://localhost:8080/m.gguf',
        view: 'write',
        settings: {
          temperature: 0,
          topK: 0,
          topP: 0.5,
          minP: 0,
          repeatPenalty: 1.15,
          repeatLastN: 256,
          presencePenalty: 0.5,
          frequencyPenalty: 1.25,
          length: 4096,
          seed: 0,
          stop: ['\n\n', 'a|b\\', 'User:\t', '“ü” & 🙂=#'],
          reasoning: 'off',
          reasoningBudget: 0,
          context: 2048,
          kvType: 'q8_0',
          threads: 1,
          memory: 300,
        },
      },
      { ...usual, settings: { ...DEFAULTS, seed: Number.MAX_SAFE_INTEGER } },
    ];
    for (const state of states) {
      const fragment = writeFragment(state);
      expect(fragment).not.toContain('+');
      expect(readFragment(`#${fragment}`, BASE)).toEqual({ ...state, ignored: [] });
    }
  });

  it('names the settings that it could not use, and uses the others', () => {
    const hostile = {
      temperature: ['', '-1', '2.01', '1e1', 'NaN', 'Infinity', '0x1', ' 1', '1 ', '１'],
      topK: ['1001', '1.5', '-0', '99999999999999999999'],
      topP: ['0', '1.01', '.5'],
      minP: ['-0.1', '0.51', '1'],
      repeatPenalty: ['0', '2.1', 'NaN'],
      repeatLastN: ['-1', '4097', '1.5'],
      presencePenalty: ['-0.5', '2.01', ''],
      frequencyPenalty: ['-1', '3', 'NaN'],
      length: ['0', '4097', '3.5'],
      seed: ['-1', '9007199254740992', '1.5', 'random'],
      stop: ['', '|', 'a|', '|a', 'a||b', 'a|b|c|d|e', 'x'.repeat(101), '\u0000', '\u001b[31m'],
      reasoning: ['', 'ON', 'yes', 'true', '__proto__'],
      reasoningBudget: ['-1', '100001', '1.5'],
      context: ['0', '15', '1048577', '4k'],
      kvType: ['', 'F16', 'q4_0', 'constructor'],
      threads: ['0', '65', '2.5'],
      memory: ['0', '4295', '1.5', '300M'],
    };
    for (const [name, values] of Object.entries(hostile)) {
      for (const value of values) {
        const fragment = `#${new URLSearchParams({ [name]: value, prompt: 'kept' })}`;
        const state = readFragment(fragment, BASE);
        expect(state.settings, fragment).toEqual(DEFAULTS);
        expect(state.prompt).toBe('kept');
        expect(state.ignored, fragment).toHaveLength(1);
        expect(state.ignored[0]).toContain(`${name}:`);
      }
    }
  });

  it('never fails, whatever it holds', () => {
    const nonsense = [
      '#%',
      '#%zz=%',
      '#=&=&&',
      '#prompt',
      '#prompt=%ff%fe',
      '#__proto__=1',
      '#\u0000',
    ];
    for (const fragment of nonsense) {
      expect(readFragment(fragment, BASE).settings).toEqual(DEFAULTS);
    }
    expect(Object.prototype).not.toHaveProperty('1');
  });

  it('names a view that there is not', () => {
    for (const view of ['', 'Talk', 'chat', '__proto__']) {
      const state = readFragment(`#view=${view}&prompt=kept`, BASE);
      expect(state).toMatchObject({ view: null, prompt: 'kept' });
      expect(state.ignored).toHaveLength(1);
      expect(state.ignored[0]).toContain('view:');
    }
  });

  it('holds a prompt without control characters and of bounded length', () => {
    const clean = readFragment('#prompt=a%00b%1b%5B31mc%7f%0d%0ad%09e', BASE);
    expect(clean.prompt).toBe('ab[31mc\nd\te');
    expect(clean.ignored).toEqual([]);
    const long = readFragment(`#prompt=${'x'.repeat(MAX_PROMPT + 1)}`, BASE);
    expect(long.prompt).toHaveLength(MAX_PROMPT);
    expect(long.ignored).toHaveLength(1);
  });
});

describe('a model address', () => {
  it('may be http or https, absolute or relative', () => {
    const good = {
      'https://models.example/m.gguf': 'https://models.example/m.gguf',
      'http://127.0.0.1:8080/m.gguf#part': 'http://127.0.0.1:8080/m.gguf',
      'models/m.gguf': 'https://sluice.example/app/models/m.gguf',
      '//other.example/m.gguf': 'https://other.example/m.gguf',
      'HTTPS://Models.Example/M.gguf': 'https://models.example/M.gguf',
    };
    for (const [text, url] of Object.entries(good)) expect(parseModelAddress(text, BASE)).toBe(url);
  });

  it('may name a model on the hub', () => {
    for (const text of [
      'hf:owner/repo',
      'hf:Qwen/Qwen3-0.6B-GGUF:Q8_0',
      'hf:owner/repo:dir/model-00001-of-00002.gguf@refs/pr/1',
      'hf:owner/re.po_1@0123456789abcdef0123456789abcdef01234567',
    ]) {
      expect(parseModelAddress(text)).toBe(text);
      const fragment = writeFragment({ ...usual, model: text });
      expect(readFragment(fragment, BASE)).toEqual({ ...usual, model: text, ignored: [] });
    }
    expect(parseModelAddress('HF:owner/repo')).toBe('hf:owner/repo');
    for (const text of [
      'hf:',
      'hf:owner',
      'hf:owner/',
      'hf:/repo',
      'hf:a/b/c',
      'hf:a/b:',
      'hf:a/b@',
    ])
      expect(parseModelAddress(text, BASE), text).toBeUndefined();
  });

  it('is a full one where there is nothing to resolve it against', () => {
    expect(parseModelAddress('https://models.example/m.gguf')).toBe(
      'https://models.example/m.gguf',
    );
    for (const text of ['nonsense', 'models/m.gguf', '//other.example/m.gguf', 'other.example']) {
      expect(parseModelAddress(text), text).toBeUndefined();
    }
  });

  it('may be nothing else', () => {
    const bad = [
      '',
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:application/octet-stream;base64,R0dVRg==',
      'blob:https://sluice.example/1',
      'file:///etc/passwd',
      'ftp://models.example/m.gguf',
      'https://user:secret@models.example/m.gguf',
      'https://bundled@models.example/m.gguf',
      'https://',
      'https://models.example:99999/m.gguf',
      `https://models.example/${'x'.repeat(2000)}`,
    ];
    for (const text of bad) {
      expect(parseModelAddress(text, BASE), text).toBeUndefined();
      const state = readFragment(`#${new URLSearchParams({ model: text })}`, BASE);
      expect(state.model).toBeNull();
      expect(state.ignored).toHaveLength(1);
    }
  });
});
