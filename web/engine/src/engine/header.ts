// What a model's header says, and whether the model can run here.
import type { Answer } from '../../../../wasm/module.js';
import { SluiceError } from '../shared/errors.js';
import type { ModelInfo } from '../shared/types.js';
import { tooLarge, type Room } from './budget.js';
import type { Opened } from './feed.js';
import { toldByKeys } from './model-keys.js';
import { parseAnswer } from './module-answers.js';

/** Throws if the file is incomplete on the server, before it is downloaded to its end. */
export function checkLength(info: ModelInfo, { network, exact, sizes }: Opened): void {
  const [size = 0] = sizes;
  const promised = info.dataOffset + info.dataBytes;
  if (network && exact && sizes.length === 1 && size > 0 && promised > size) {
    throw new SluiceError(
      'download_failed',
      `the server has ${size} bytes of a file whose header names ${promised}: ` +
        'it is incomplete there; use another address, or upload it again',
    );
  }
}

/** Bytes of all files; 0 if unknown. */
export function totalOf({ sizes }: Opened): number {
  return sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
}

/** What the page is told of a model. `answer`: of EngineHandle.inspect or HeaderHandle.inspect. */
export function infoOf(answer: Answer, room: Room): ModelInfo {
  // What a model makes is left out if it can't be run.
  const unknown = { makes: [], pooling: null, dimensions: null };
  const info = { ...unknown, ...parseAnswer<ModelInfo>(answer) };
  info.bytes = info.fileBytes;
  Object.assign(info, toldByKeys(info));
  const error = info.supported ? tooLarge(info, room) : null;
  info.fits = info.supported && info.memory !== null && error === null;
  if (error !== null) info.error = error;
  return info;
}
