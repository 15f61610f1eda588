// Errors and notes carry facts in fields: from the core, between threads, to the caller.
import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAnswer } from '../src/engine/module-answers.js';
import { SluiceError, fromErrorData, reworded, toErrorData } from '../src/shared/errors.js';
import { failedAt } from '../src/shared/facts.js';
import { NOTE_CODES, addNotes, makeNote } from '../src/shared/notes.js';

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('facts of an error', () => {
  it("are read from the core's answer", () => {
    const facts = { tokens: 600, room: 511 };
    const answer = JSON.stringify({ event: 'error', code: 'context_full', message: 'm', facts });
    expect(thrown(() => parseAnswer(answer))).toMatchObject({ code: 'context_full', facts });
    const without = JSON.stringify({ event: 'error', code: 'bad_file', message: 'm' });
    expect(thrown(() => parseAnswer(without))).toMatchObject({ code: 'bad_file', facts: {} });
  });

  it('go from thread to thread', () => {
    const facts = failedAt('https://me:secret@host/a/m.gguf?token=1#x', 'status');
    expect(facts).toEqual({ url: 'https://host/a/m.gguf', reason: 'status' });
    const error = new SluiceError('download_failed', 'm', { status: 404, facts });
    const data = structuredClone(toErrorData(error));
    expect(data).toEqual({
      code: 'download_failed',
      message: 'm',
      status: 404,
      facts: { ...facts, status: 404 },
    });
    expect(fromErrorData(data)).toMatchObject({ status: 404, facts: { ...facts, status: 404 } });
    expect(toErrorData(new SluiceError('busy', 'm'))).toEqual({ code: 'busy', message: 'm' });
  });

  it('stay when the message is another one', () => {
    const error = new SluiceError('storage_full', 'm', { facts: { neededBytes: 9 } });
    const other = reworded(error, 'more');
    expect(other).toMatchObject({ code: 'storage_full', message: 'more', cause: error });
    expect(other.facts).toEqual({ neededBytes: 9 });
  });

  it('name no address where there is none', () => {
    expect(failedAt('', 'broken')).toEqual({ reason: 'broken' });
    expect(failedAt('blob:https://host/1', 'address').url).toBe('blob:');
  });
});

describe('notes', () => {
  it("have the core's codes", () => {
    const file = new URL('../../../core/base/result.cc', import.meta.url);
    const [, source = ''] = fs.readFileSync(file, 'utf8').split('note_code_name');
    const [names = ''] = source.split('note_audience');
    const codes = [...names.matchAll(/return "(\w+)"/g)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(10);
    expect(NOTE_CODES.slice(0, codes.length)).toEqual(codes);
  });

  it('are added once', () => {
    const [one, same, other] = ['a', 'a', 'b'].map((text) => makeNote('fewer_threads', text));
    const list = [makeNote('no_bos_token', 'a')];
    addNotes(list, [one, same, other] as never);
    expect(list.map(({ code, message }) => `${code} ${message}`)).toEqual([
      ...['no_bos_token a', 'fewer_threads a', 'fewer_threads b'],
    ]);
  });

  it('of what is not kept are the latest, however often it is told', () => {
    const list = [makeNote('no_bos_token', 'a')];
    for (let bytes = 1; bytes < 100; ++bytes) {
      addNotes(list, [makeNote('state_not_kept', `it takes ${bytes} MB`, { neededBytes: bytes })]);
      addNotes(list, [makeNote('model_not_kept', `it needs ${bytes} MB more`)]);
    }
    expect(list.map(({ message }) => message)).toEqual([
      ...['a', 'it takes 99 MB', 'it needs 99 MB more'],
    ]);
  });
});
