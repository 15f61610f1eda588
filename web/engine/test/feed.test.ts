import { describe, expect, it } from 'vitest';
import { Feed, type HostPort } from '../src/feed.js';
import type { LoaderToEngine, EngineToLoader } from '../src/protocol.js';
import { FILE_BYTES, HEADER_BYTES, fakeModule, makeControl, makeFile } from './fake-module.js';

/** The port of a loader, which the test plays. */
class Line implements HostPort {
  onmessage: ((event: MessageEvent<LoaderToEngine>) => void) | null = null;
  readonly heard: EngineToLoader[] = [];

  postMessage(message: EngineToLoader): void {
    this.heard.push(message);
  }

  say(data: LoaderToEngine): void {
    this.onmessage?.({ data } as MessageEvent<LoaderToEngine>);
  }
}

const OPENED: LoaderToEngine = { type: 'opened', total: 0, exact: false, network: false };

describe('with shared memory', () => {
  it('the places of the weights are granted before the vocabulary is built', () => {
    const line = new Line();
    const feed = new Feed(line);
    line.say(OPENED);
    const control = makeControl();
    const { module, memory } = fakeModule(control, true);
    const engine = new module.Engine();
    const grants: (boolean | null)[] = [];
    const post = line.postMessage.bind(line);
    line.postMessage = (message) => {
      grants.push(message.type === 'fill' ? engine.understood() : null);
      post(message);
    };
    feed.drive(engine, memory, true);
    new Uint8Array(memory.buffer, 1024, HEADER_BYTES).set(makeFile().subarray(0, HEADER_BYTES));
    line.say({ type: 'filled', offset: 0, length: HEADER_BYTES });
    expect(engine.understood()).toBe(true);
    expect(line.heard.map((message) => 'once' in message && message.once)).toEqual([true, false]);
    expect(grants).toEqual([false, false]);
  });
});

describe('what a loader says before the engine is there', () => {
  it('is kept: the whole file', () => {
    const line = new Line();
    const feed = new Feed(line);
    line.say(OPENED);
    line.say({ type: 'bytes', bytes: makeFile() });
    line.say({ type: 'ended', received: FILE_BYTES });
    const control = makeControl();
    const { module, memory } = fakeModule(control, false);
    const engine = new module.Engine();
    feed.drive(engine, memory, false);
    expect(engine.loaded()).toBe(true);
    expect(control.taken).toEqual([...makeFile()]);
  });

  it('is kept: an end without a byte, for loading and for probing', async () => {
    for (const probe of [false, true]) {
      const line = new Line();
      const feed = new Feed(line);
      const errors: unknown[] = [];
      feed.onerror = (error) => errors.push(error);
      line.say(OPENED);
      line.say({ type: 'ended', received: 0 });
      const { module, memory } = fakeModule(makeControl(), false);
      if (probe) {
        const reading = feed.readHeader(new module.Header([0]), module, memory);
        await expect(reading).rejects.toMatchObject({ code: 'bad_file' });
      } else {
        feed.drive(new module.Engine(), memory, false);
        expect(errors).toMatchObject([{ code: 'bad_file' }]);
      }
      // The loader gets only the message to stop.
      expect(line.heard).toEqual([{ type: 'stop' }]);
    }
  });
});
