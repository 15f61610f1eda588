// The page's side of embed(), similar() and fillMask(). The engine worker does the work (text-runs.ts).
import { wrong } from '../chat/body.js';
import { abortReason, SluiceError } from '../../shared/errors.js';
import { GENERATE_RULES, type Rule } from '../../shared/option-table.js';
import {
  choiceRule,
  flagRule,
  invalid,
  reading,
  show,
  takeIds,
  takeOptions,
  takeText,
  wholeRule,
} from '../options.js';
import { callBack } from '../../shared/promises.js';
import type { EngineCalls, VectorsItem } from '../../shared/calls.js';
import type { Ask } from '../../shared/caller.js';
import type { ModelInfo } from '../../shared/types.js';
import { product } from '../../shared/vectors.js';
import type {
  Embedding,
  EmbedOptions,
  FilledMask,
  FillMaskOptions,
  Match,
  SimilarOptions,
} from '../../shared/vector-types.js';

/** What these calls use of their engine. */
export interface TextCallHooks {
  /** Throws if the engine has ended. */
  admit(): void;
  info(): ModelInfo;
  ask: Ask<EngineCalls>;
}

const { signal, onPromptProgress: callback } = GENERATE_RULES;
const COMMON = {
  pooling: choiceRule('mean', 'cls', 'last'),
  dimensions: wholeRule(1, Number.MAX_SAFE_INTEGER),
  truncate: flagRule,
  signal,
  onProgress: callback,
};
const EMBED_RULES = {
  ...COMMON,
  normalize: flagRule,
  kind: choiceRule('query', 'document'),
  prefix: { kind: 'string', expected: 'a string' },
} as const satisfies Record<keyof EmbedOptions, Rule>;
const SIMILAR_RULES = {
  ...COMMON,
  top: wholeRule(1, Number.MAX_SAFE_INTEGER),
} as const satisfies Record<keyof SimilarOptions, Rule>;
const FILL_MASK_RULES = {
  top: wholeRule(1, 1000),
  signal,
} as const satisfies Record<keyof FillMaskOptions, Rule>;

type Texts = (string | readonly number[])[];

const LIST = 'a text, or a list of texts or of arrays of token ids';

/** Checks a list of texts. Returns a copy. */
function takeList(given: unknown): Texts {
  if (typeof given === 'string') return [takeText(given, 'texts')];
  if (!reading('texts', () => Array.isArray(given)))
    throw invalid(`texts is ${show(given)}; give ${LIST}`);
  return reading('texts', () => Array.from(given as ArrayLike<unknown>)).map((one, i) => {
    const name = `texts[${i}]`;
    if (typeof one === 'string') return takeText(one, name);
    if (reading(name, () => Array.isArray(one))) return takeIds(one, name);
    throw invalid(`${name} is ${show(one)}; give ${LIST}`);
  });
}

/** The vectors of a list of texts. Both arguments were checked. */
async function embedTexts(
  hooks: TextCallHooks,
  texts: Texts,
  options: EmbedOptions,
): Promise<Embedding[]> {
  const { pooling = 'file', normalize = true, dimensions = 0, kind = '', prefix } = options;
  const { truncate = false, signal, onProgress = () => {} } = options;
  if (signal?.aborted) throw abortReason(signal);
  hooks.admit();
  const { dimensions: width } = hooks.info();
  if (width !== null && dimensions > width)
    throw wrong(
      'dimensions',
      `dimensions is ${dimensions}; the model's vectors have ${width} numbers: give as many or fewer`,
    );
  const own = prefix === undefined ? null : takeText(prefix, 'prefix');
  const all: Embedding[] = [];
  if (texts.length === 0) return all;
  const onItem = ({ vectors, lengths, computed }: VectorsItem): null => {
    vectors.forEach((embedding, i) => all.push({ embedding, tokens: lengths[i] ?? 0 }));
    callBack(onProgress, { done: all.length, total: texts.length, tokens: computed });
    return null;
  };
  await hooks.ask(
    'embed',
    { texts, pooling, normalize, dimensions, kind, prefix: own, truncate },
    { signal, onItem },
  );
  return all;
}

/** See Engine.embed. */
export async function embed(
  hooks: TextCallHooks,
  given: unknown,
  options: EmbedOptions,
): Promise<Embedding[]> {
  return embedTexts(hooks, takeList(given), takeOptions(options, EMBED_RULES));
}

/** Whether the value is a list of vectors. */
function areVectors(given: unknown): given is readonly Float32Array[] {
  return reading(
    'texts',
    () => Array.isArray(given) && given.length > 0 && given[0] instanceof Float32Array,
  );
}

/** Checks a list of vectors, which must be of one size. They stay the caller's. */
function takeVectors(given: readonly Float32Array[]): Float32Array[] {
  const list = reading('texts', () => Array.from<unknown>(given));
  const size = (list[0] as Float32Array).length;
  list.forEach((one, i) => {
    if (!reading('texts', () => one instanceof Float32Array))
      throw invalid(`texts[${i}] is ${show(one)}; give a Float32Array, as the others are`);
    const { length } = one as Float32Array;
    if (length === 0 || length !== size)
      throw invalid(
        `texts[${i}] has ${length} numbers, texts[0] has ${size}; give vectors of one size`,
      );
  });
  return list as Float32Array[];
}

/** The cosine of the angle between a vector and a query of length 1; 0 for a vector without length. */
function cosine(query: Float32Array, vector: Float32Array, unit: boolean): number {
  const length = unit ? 1 : Math.sqrt(product(vector, vector));
  return length > 0 ? Math.fround(product(query, vector) / length) : 0;
}

/** See Engine.similar. */
export async function similar(
  hooks: TextCallHooks,
  givenQuery: string,
  given: unknown,
  options: SimilarOptions,
): Promise<Match[]> {
  const query = takeText(givenQuery, 'query');
  const { top = Infinity, ...rest } = takeOptions(options, SIMILAR_RULES);
  const vectors = areVectors(given) ? takeVectors(given) : null;
  const texts = vectors === null ? takeList(given) : null;
  const size = vectors?.[0]?.length;
  if (size !== undefined && rest.dimensions !== undefined && rest.dimensions !== size)
    throw invalid(
      `dimensions is ${rest.dimensions}, and the vectors have ${size} numbers; leave it out`,
    );
  const dimensions = size ?? rest.dimensions;
  const { onProgress: _, ...quiet } = { ...rest, dimensions };
  const [asked] = await embedTexts(hooks, [query], { ...quiet, kind: 'query' });
  const found =
    vectors ??
    (await embedTexts(hooks, texts ?? [], { ...rest, kind: 'document' })).map(
      ({ embedding }) => embedding,
    );
  const matches = found.map((vector, index): Match => {
    const score = cosine((asked as Embedding).embedding, vector, vectors === null);
    const text = texts?.[index];
    return { index, score, ...(typeof text === 'string' ? { text } : {}) };
  });
  return matches.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, top);
}

/** See Engine.fillMask. */
export async function fillMask(
  hooks: TextCallHooks,
  given: string,
  options: FillMaskOptions,
): Promise<FilledMask[]> {
  const text = takeText(given, 'text');
  const { top = 5, signal } = takeOptions(options, FILL_MASK_RULES);
  if (signal?.aborted) throw abortReason(signal);
  hooks.admit();
  if (!hooks.info().makes.includes('masks'))
    throw refusal(hooks.info(), 'masks', 'fills in no masked words');
  return hooks.ask('fillMask', { text, top }, { signal });
}

const CALLS: [ModelInfo['makes'][number], string][] = [
  ['text', 'engine.generate'],
  ['vectors', 'engine.embed'],
  ['masks', 'engine.fillMask'],
];

/** The error of a call that needs a model of another kind: it names the calls that this model has. */
export function refusal(
  { architecture, makes }: ModelInfo,
  without: ModelInfo['makes'][number],
  cannot: string,
): SluiceError {
  const calls = CALLS.filter(([what]) => what !== without && makes.includes(what));
  const names = calls.map(([, call]) => call).join(' or ');
  return new SluiceError(
    'unsupported_model',
    `this model (${architecture ?? 'of an unknown architecture'}) ${cannot}; call ${names}, or load another model`,
    architecture === null ? {} : { facts: { architecture } },
  );
}
