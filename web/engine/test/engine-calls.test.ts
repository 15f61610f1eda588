// Engine.probe, calls that there aren't, and await using.
import { describe, expect, it } from 'vitest';
import { Engine, SluiceError, type Session } from '../src/index.js';
import { MODEL, allEnded, collect, file } from './engine-setup.js';
import { FILE_BYTES } from './fake-module.js';
import { FakeWorker, piecesOf, stubFetch, useFakes } from './fake-workers.js';

describe('probe', () => {
  it('reads the header and no more', async () => {
    let asked = 0;
    const pieces = piecesOf(file, 1000);
    stubFetch(
      () =>
        new Response(
          new ReadableStream(
            {
              pull(controller) {
                const piece = pieces[asked++];
                if (piece === undefined) controller.close();
                else controller.enqueue(piece);
              },
            },
            { highWaterMark: 0 },
          ),
        ),
    );
    useFakes();
    const info = await Engine.probe(MODEL);
    expect(info).toMatchObject({
      architecture: 'llama',
      bytes: FILE_BYTES,
      fits: true,
      supported: true,
    });
    expect(asked).toBeLessThan(100);
    await allEnded();
  });

  it('refuses what is cut short within its header', async () => {
    useFakes();
    await expect(Engine.probe(new Blob([file.slice(0, 10)]))).rejects.toBeInstanceOf(SluiceError);
  });
});

describe('what is not called so', () => {
  it('is said of new Engine()', () => {
    useFakes();
    const Constructor = Engine as unknown as new (...given: unknown[]) => Engine;
    for (const given of [[], [MODEL], [Symbol('Engine.load'), { flavour: 'simd', notes: [] }]]) {
      expect(() => new Constructor(...given)).toThrow(
        expect.objectContaining({
          code: 'invalid_argument',
          message: expect.stringContaining('call await Engine.load(source)') as string,
        }),
      );
    }
    expect(FakeWorker.all).toEqual([]);
  });
});

describe('await using', () => {
  it('closes engines and sessions at the end of their block', async () => {
    useFakes();
    let kept: [Engine, Session] | null = null;
    {
      await using engine = await Engine.load(MODEL);
      {
        await using session = engine.session();
        kept = [engine, session];
        expect(await collect(session.generate('a b', { maxTokens: 2 }))).toBe('a b');
      }
      await expect(kept[1].tokens()).rejects.toThrow('this session is closed');
      expect(await engine.tokenize('a')).toEqual([97]);
    }
    await expect(kept[0].tokenize('a')).rejects.toThrow('this engine is closed');
    await allEnded();
  });
});
