// What a page is told of the loading of a model that has a table of which the engine reads only rows.
import { describe, expect, it } from 'vitest';
import { LoadView } from '../src/page/load-view.js';
import { noCourse } from '../src/shared/protocol.js';
import type { ModelInfo } from '../src/shared/types.js';
import type { LoadProgress } from '../src/shared/progress-types.js';

const FILE = 1000;
const TABLE = 600;

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
    view.follow({ ...noCourse(), fromNetwork: 300, kept: 300 });
    view.report(loaded(300));
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 300, total: FILE });
    view.report(loaded(FILE - TABLE));
    view.ready();
    expect(view.hasArrived).toBe(false);
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 400, total: FILE });
    view.follow({ ...noCourse(), fromNetwork: 700, kept: 700 });
    expect(told.at(-1)).toMatchObject({ phase: 'download', loaded: 700, total: FILE });
    view.follow({ ...noCourse(), fromNetwork: FILE, kept: FILE, arrived: true });
    expect(view.hasArrived).toBe(true);
    expect(told.at(-1)).toMatchObject({ phase: 'ready', loaded: FILE, total: FILE });
  });

  it('is not among the bytes to load of a model that is kept', () => {
    const { view, told } = viewOf('cache');
    view.follow({ ...noCourse(), fromCache: 100, kept: FILE, arrived: true });
    view.report(loaded(FILE - TABLE));
    view.ready();
    expect(view.hasArrived).toBe(true);
    expect(told.at(-1)).toMatchObject({ phase: 'ready', source: 'cache', loaded: 400, total: 400 });
  });
});
