import { describe, expect, it } from 'vitest';
import { SluiceError } from '../src/errors.js';
import { chooseFlavour, detectAbilities } from '../src/flavours.js';

const ALL = { simd: true, relaxed: true, threads: true };

describe('detectAbilities', () => {
  it('finds the SIMD that this Node has, and no isolation', () => {
    const abilities = detectAbilities();
    expect(abilities.simd).toBe(true);
    expect(abilities.threads).toBe(false);
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
    const choice = chooseFlavour(undefined, 4, { ...ALL, threads: false }, 4);
    expect(choice.flavour).toBe('relaxed');
    expect(choice.threads).toBe(1);
    expect(choice.notes.join()).toMatch(/not cross-origin isolated/);
  });

  it('does what it is told, where it can', () => {
    expect(chooseFlavour('simd', undefined, ALL, 4)).toEqual({
      flavour: 'simd',
      threads: 1,
      notes: [],
    });
    const refuse = () => chooseFlavour('simd-mt', undefined, { ...ALL, threads: false }, 4);
    expect(refuse).toThrow(SluiceError);
    expect(refuse).toThrow(/isolation/);
  });

  it('refuses a browser without SIMD', () => {
    try {
      chooseFlavour(undefined, undefined, { simd: false, relaxed: false, threads: false }, 4);
      expect.unreachable();
    } catch (error) {
      expect((error as SluiceError).code).toBe('unsupported_browser');
    }
  });
});
