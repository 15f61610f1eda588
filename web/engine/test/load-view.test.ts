// What a page is told of the loading of a model that has a table of which the engine reads only rows.
import { describe, expect, it } from 'vitest';
import { LoadView } from '../src/load-view.js';
import type { Course } from '../src/protocol.js';
import type { LoadProgress, ModelInfo } from '../src/types.js';

const FILE = 1000;
const TABLE = 600;

const COURSE: Course = {
  ...{ fromNetwork: 0, fromCache: 0, kept: 0, arrived: false },
  ...{ waiting: '', waitingFor: null, verified: 0, notes: [] },
};

function viewOf(source: LoadProgress['source']): { view: LoadView; told: LoadProgress[] } {
  const told: LoadProgress[] = [];
  const view = new LoadView({ onProgress: (progress) => told.push(progress) }, source);
  view.hasTokenizer({ fileBytes: FILE, memory: { rereadBytes: 0 } } as ModelInfo);
  return { view, told };
}

function loaded(
  bytes: number,
): Pick<LoadProgress, 'loaded' | 'total' | 'layersReady' | 'layersTotal'> {
  return { loaded: bytes, total: FILE - TABLE, layersReady: 0, layersTotal: 2 };
}

describe('a table of which only rows are read', () => {
  it.each(['file', 'memory'] as const)('is not among the bytes to load from a %s', (source) => {
    const { view, told } = viewOf(source);
    view.report(loaded(100));
    expect(told.at(-1)).toMatchObject({ phase: 'load', loaded: 100, total: FILE - TABLE });
    view.report(loaded(FILE - TABLE));
    view.ready();
    expect(view.hasArrived).toBe(true);
    expect(told.at(-1)).toMatchObject({ phase: 'ready', loaded: 400, total: 400 });
  });

  it('is downloaded with all else, and then the model has arrived', () => {
    const { view, told } = viewOf('network');
    view.follow({ ...COURSE, fromNetwork: 300, kept: 300 });
    view.report(loaded(300));
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 300, total: FILE });
    view.report(loaded(FILE - TABLE));
    view.ready();
    expect(view.hasArrived).toBe(false);
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 400, total: FILE });
    view.follow({ ...COURSE, fromNetwork: 700, kept: 700 });
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 700, total: FILE });
    view.follow({ ...COURSE, fromNetwork: FILE, kept: FILE, arrived: true });
    expect(view.hasArrived).toBe(true);
    expect(told.at(-1)).toMatchObject({ phase: 'ready', loaded: FILE, total: FILE });
  });

  it('is not among the bytes to load of a model that is kept', () => {
    const { view, told } = viewOf('cache');
    view.follow({ ...COURSE, fromCache: 100, kept: FILE, arrived: true });
    view.report(loaded(FILE - TABLE));
    view.ready();
    expect(view.hasArrived).toBe(true);
    expect(told.at(-1)).toMatchObject({ phase: 'ready', source: 'cache', loaded: 400, total: 400 });
  });
});
