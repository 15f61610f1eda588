import { describe, expect, it, vi } from 'vitest';
import { SluiceError } from '../src/shared/errors.js';
import { chooseFlavour, detectAbilities } from '../src/page/flavours.js';

const ALL = { simd: true, relaxed: true, noThreads: null };

describe('detectAbilities', () => {
  it('finds the SIMD that this Node has, and no isolation', () => {
    const abilities = detectAbilities();
    expect(abilities.simd).toBe(true);
    expect(abilities.noThreads).toBe('isolation');
  });

  it('tells apart what threads lack', () => {
    const found = (globals: Record<string, unknown>): string | null => {
      for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
      return detectAbilities().noThreads;
    };
    expect(found({ isSecureContext: false, crossOriginIsolated: false })).toBe('secure context');
    expect(found({ isSecureContext: true })).toBe('isolation');
    expect(found({ crossOriginIsolated: true })).toBe(null);
    expect(found({ SharedArrayBuffer: undefined })).toBe('shared memory');
    vi.unstubAllGlobals();
  });
});

describe('chooseFlavour', () => {
  it('takes the best that there is', () => {
    expect(chooseFlavour(undefined, undefined, ALL, 4)).toEqual({
      flavour: 'relaxed-mt',
      threads: 4,
      notes: [],
    });
    expect(chooseFlavour(undefined, undefined, { ...ALL, relaxed: false }, 4).flavour).toBe(
      'simd-mt',
    );
  });

  it('uses at most eight threads unless told', () => {
    expect(chooseFlavour(undefined, undefined, ALL, 32).threads).toBe(8);
    expect(chooseFlavour(undefined, 20, ALL, 4).threads).toBe(20);
    expect(chooseFlavour(undefined, undefined, ALL, 0).threads).toBe(1);
  });

  it('falls back to one thread without isolation, and says so', () => {
    const choice = chooseFlavour(undefined, 4, { ...ALL, noThreads: 'isolation' }, 4);
    expect(choice.flavour).toBe('relaxed');
    expect(choice.threads).toBe(1);
    expect(choice.notes[0]?.message).toMatch(/not cross-origin isolated/);
  });

  it.each([
    [
      'isolation',
      'threads_need_isolation',
      /^One thread: the page is not cross-origin isolated. Send Cross-Origin-Opener/,
    ],
    [
      'secure context',
      'threads_need_https',
      /^One thread: the page is served without https, .* Serve it with https/,
    ],
    [
      'shared memory',
      'threads_need_shared_memory',
      /^One thread: this browser has no SharedArrayBuffer, though the page is cross/,
    ],
  ] as const)('names the cause of one thread: no %s', (noThreads, code, note) => {
    const choice = chooseFlavour(undefined, undefined, { ...ALL, noThreads }, 4);
    expect(choice.notes).toMatchObject([{ code, message: expect.stringMatching(note) as string }]);
    const refuse = () => chooseFlavour('simd-mt', undefined, { ...ALL, noThreads }, 4);
    expect(refuse).toThrow(/^the flavour 'simd-mt' needs threads, and th/);
    const refusal =
      noThreads === 'shared memory' ? 'unsupported_browser' : 'unsupported_environment';
    expect(refuse).toThrow(expect.objectContaining({ code: refusal }));
  });

  it('does what it is told, where it can', () => {
    expect(chooseFlavour('simd', undefined, ALL, 4)).toEqual({
      flavour: 'simd',
      threads: 1,
      notes: [],
    });
    const refuse = () => chooseFlavour('simd-mt', undefined, { ...ALL, noThreads: 'isolation' }, 4);
    expect(refuse).toThrow(SluiceError);
    expect(refuse).toThrow(/not cross-origin isolated/);
  });

  it('refuses a browser without SIMD', () => {
    try {
      chooseFlavour(undefined, undefined, { ...ALL, simd: false }, 4);
      expect.unreachable();
    } catch (error) {
      expect((error as SluiceError).code).toBe('unsupported_browser');
    }
  });
});
