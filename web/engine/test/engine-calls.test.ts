// Engine.probe, calls that there aren't, and await using.
import { describe, expect, it } from 'vitest';
import { Engine, SluiceError, type Session } from '../src/index.js';
import { MODEL, allEnded, collect, file } from './engine-setup.js';
import { FILE_BYTES, GUESSED } from './fake-module.js';
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
      purpose: 'text',
      chatTemplate: false,
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

describe('applyTemplate', () => {
  const messages = [{ role: 'user', content: 'Hi \ud800' }];

  it('gives the core JSON, and its warnings to the notes, each once', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    expect(await engine.applyTemplate(messages)).toBe('[{"role":"user","content":"Hi \ufffd"}]!');
    await engine.applyTemplate(messages, {
      tools: [{ name: 'f' }],
      addGenerationPrompt: false,
      continueFinalMessage: true,
      kwargs: { enable_thinking: false, add_generation_prompt: true },
      chatTemplate: '{{ x }}',
      adaptContents: true,
    });
    expect(control.templates.map(([, ...rest]) => rest)).toEqual([
      ['{}', '', false],
      [
        JSON.stringify({
          tools: [{ name: 'f' }],
          add_generation_prompt: true,
          continue_final_message: true,
          enable_thinking: false,
        }),
        '{{ x }}',
        true,
      ],
    ]);
    expect(engine.stats.notes.filter(({ message }) => message === GUESSED.message)).toHaveLength(1);
    await engine.close();
  });

  it('refuses what is not a chat, and tells what the template says', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const circle: { role: string; self?: unknown } = { role: 'user' };
    circle.self = circle;
    const wrong: [unknown, object, string][] = [
      ['Hi', {}, "messages is 'Hi'; give an array of messages"],
      [[circle], {}, "messages can't be read"],
      [messages, { kwargs: { x: 1n } }, "tools or kwargs can't be read"],
      [messages, { kwargs: 3 }, 'kwargs is 3; give an object'],
      [messages, { tools: 'f' }, "tools is 'f'; give an array of tools"],
      [messages, { chatTemplate: 1 }, 'chatTemplate is 1; give a template'],
      [messages, { addGenerationPrompt: 1 }, 'addGenerationPrompt is 1; give true or false'],
      [messages, { template: '' }, "unknown option 'template'; the options are tools, "],
      [messages, { chatTemplate: 'wrong' }, 'line 1 of the template'],
    ];
    for (const [given, options, says] of wrong) {
      await expect(engine.applyTemplate(given as typeof messages, options)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(says) as string,
      });
    }
    const signal = AbortSignal.abort();
    await expect(engine.applyTemplate(messages, { signal })).rejects.toMatchObject({
      code: 'aborted',
    });
    await engine.close();
    await expect(engine.applyTemplate(messages)).rejects.toThrow('this engine is closed');
  });
});
