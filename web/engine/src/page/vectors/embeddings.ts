// engine.embeddings: embeddings in OpenAI's shapes.
import { modelName } from '../chat/shapes.js';
import { Body, field, wrong } from '../chat/body.js';
import { refuseOthers } from '../chat/fields.js';
import { checkSignals, takeRequestOptions, watchLimits } from '../chat/request-options.js';
import { GENERATE_RULES } from '../../shared/option-table.js';
import { choiceRule, show, takeIds, takeText, wholeRule } from '../options.js';
import { embed, type TextCallHooks } from './embed.js';
import type { EmbeddingList, Embeddings } from '../../shared/vector-types.js';

/** The most texts of a request, as OpenAI's API has it. */
const MOST_INPUTS = 2048;
const FORMAT = choiceRule('float', 'base64');
const DIMENSIONS = wholeRule(1, Number.MAX_SAFE_INTEGER);
const KNOWN = ['input', 'encoding_format', 'dimensions', 'model', 'user', 'signal'];
const EXPECTED = `a text, an array of token ids, or an array of up to ${MOST_INPUTS} of these`;

type Input = string | number[];

function takeInput(body: Body): Input[] {
  const given = body.take('input');
  const one = (value: unknown, at: string): Input => {
    const input = field(at, () =>
      typeof value === 'string' ? takeText(value, at) : takeIds(value, at),
    );
    if (input.length === 0) throw wrong(at, `${at} is empty; give at least one character or token`);
    return input;
  };
  if (typeof given === 'string') return [one(given, 'input')];
  if (!field('input', () => Array.isArray(given)))
    throw wrong('input', `input is ${show(given)}; give ${EXPECTED}`);
  const { length } = field('input', () => given as unknown[]);
  if (length === 0) throw wrong('input', `input is empty; give ${EXPECTED}`);
  const list = field('input', () => Array.from(given as ArrayLike<unknown>));
  if (typeof list[0] === 'number') return [one(list, 'input')];
  if (length > MOST_INPUTS)
    throw wrong('input', `input has ${length} texts; give ${MOST_INPUTS} at most`);
  return list.map((each, i) => one(each, `input[${i}]`));
}

/** The bytes of a vector, little-endian, as base64. */
export function toBase64(vector: Float32Array): string {
  const bytes = new Uint8Array(4 * vector.length);
  const view = new DataView(bytes.buffer);
  vector.forEach((number, i) => view.setFloat32(4 * i, number, true));
  let text = '';
  // A call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

async function create(
  hooks: TextCallHooks,
  given: unknown,
  options: unknown,
): Promise<EmbeddingList<number[] | string>> {
  const body = new Body(given, 'the body', "{ input: 'a text' }");
  const input = takeInput(body);
  const format = body.checked<'float' | 'base64'>('encoding_format', FORMAT) ?? 'float';
  const dimensions = body.checked<number>('dimensions', DIMENSIONS);
  const own = body.checked<AbortSignal>('signal', GENERATE_RULES.signal);
  refuseOthers(body, KNOWN);
  const limits = takeRequestOptions(options, own);
  checkSignals(limits);
  const stop = new AbortController();
  const { release } = watchLimits(limits, (reason) => stop.abort(reason));
  try {
    const vectors = await embed(hooks, input, { dimensions, signal: stop.signal });
    const tokens = vectors.reduce((sum, { tokens }) => sum + tokens, 0);
    return {
      object: 'list',
      data: vectors.map(({ embedding }, index) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? toBase64(embedding) : Array.from(embedding),
      })),
      model: modelName(hooks.info()),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  } finally {
    release();
  }
}

/** See Engine.embeddings. */
export function makeEmbeddings(hooks: TextCallHooks): Embeddings {
  const call = (body: unknown, options?: unknown): Promise<unknown> => create(hooks, body, options);
  return { create: call as Embeddings['create'] };
}
