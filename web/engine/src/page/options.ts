// Checks the arguments of the library's calls, and converts them to the form that the core takes.
import { SluiceError } from '../shared/errors.js';
import {
  CORE_LOAD_OPTIONS,
  GENERATE_RULES,
  LOAD_RULES,
  type Rule,
  type RuleKind,
} from '../shared/option-table.js';
import type {
  ChatMessage,
  CountOptions,
  DetokenizeOptions,
  GenerateOptions,
  LoadOptions,
  LogitsOptions,
  MeasureOptions,
  Prompt,
  SaveOptions,
  SessionOptions,
  TemplateOptions,
  TokenizeOptions,
} from '../shared/types.js';
import type { CacheOptions, ListOptions, VerifyOptions } from '../shared/cache-types.js';

export function invalid(message: string): SluiceError {
  return new SluiceError('invalid_argument', message);
}

/** The most characters of a value in a message, and the most members of a list or an object that are read for it. */
const SHOWN = 60;
const LOOKED_AT = 100;
/** Messages are logged, so these members are not shown. */
const SECRET = /authorization|cookie|password|secret|api[-_]?key/i;

/** The beginning of an object or a list as JSON. Values that JSON can't hold are named: `a function`, `[object Map]`. */
function shownJson(value: object): string {
  let left = LOOKED_AT;
  const json = JSON.stringify(value, (name, each: unknown) => {
    left -= 1;
    if (left < 0) return undefined;
    if (SECRET.test(name)) return '..';
    if (typeof each === 'string') return each.slice(0, SHOWN);
    if (Array.isArray(each)) return each.slice(0, LOOKED_AT) as unknown[];
    const isOwn = isListed(each) || each === null || each === undefined;
    return isOwn || ['number', 'boolean'].includes(typeof each) ? each : show(each);
  });
  return json.length <= SHOWN ? json : `${json.slice(0, SHOWN)}..`;
}

/** Whether the value can be shown as JSON: a plain object, an object of a class of the caller's, or a list. */
function isListed(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return ['[object Object]', '[object Array]'].includes(Object.prototype.toString.call(value));
}

/** A value in a message: short, and without an error for any value. */
export function show(value: unknown): string {
  try {
    if (typeof value === 'string') return `'${value.slice(0, SHOWN)}'`;
    if (typeof value === 'bigint') return `${value}n`.slice(0, SHOWN);
    if (typeof value === 'function') return 'a function';
    if (isListed(value)) return shownJson(value);
    return typeof value === 'object' && value !== null
      ? Object.prototype.toString.call(value).slice(0, SHOWN)
      : String(value);
  } catch {
    return 'an object that can not be read';
  }
}

/** Runs `read`, which may call the caller's getters and proxies. What they throw becomes invalid_argument. */
export function reading<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    throw new SluiceError('invalid_argument', `${name} can't be read: reading it threw an error`, {
      cause,
    });
  }
}

const TAKES: Record<RuleKind, (rule: Rule, value: unknown) => boolean> = {
  whole: (rule, value) => Number.isSafeInteger(value) && inRange(rule, value as number),
  number: (rule, value) => typeof value === 'number' && inRange(rule, value),
  boolean: (_, value) => typeof value === 'boolean',
  string: (_, value) => typeof value === 'string',
  choice: ({ choices }, value) => choices?.includes(value as string) === true,
  texts: (_, value) => typeof value === 'string' || Array.isArray(value),
  biases: (_, value) => isListed(value) && !Array.isArray(value),
  object: (_, value) => typeof value === 'object' && value !== null,
  function: (_, value) => typeof value === 'function',
  // Reading `aborted` of a proxy of an AbortSignal throws.
  signal: (_, value) => value instanceof AbortSignal && typeof value.aborted === 'boolean',
};

/** Whether a value satisfies a rule. Reading it may call the caller's code. */
export function takes(rule: Rule, value: unknown): boolean {
  return TAKES[rule.kind](rule, value);
}

function inRange({ least, most }: Rule, value: number): boolean {
  return value >= (least ?? -Infinity) && value <= (most ?? Infinity);
}

/** The rules of options and fields that only some calls have. */
export const flagRule: Rule = { kind: 'boolean', expected: 'true or false' };
export const choiceRule = (...choices: string[]): Rule => ({
  kind: 'choice',
  expected: choices.map((one) => `'${one}'`).join(' or '),
  choices,
});
export const wholeRule = (least: number, most: number): Rule => ({
  kind: 'whole',
  expected: `a whole number from ${least} to ${most}`,
  least,
  most,
});

const { special, signal } = GENERATE_RULES;
const TOKENIZE_RULES = { special, signal };
const DETOKENIZE_RULES = { signal };
const SESSION_RULES = {
  prefix: { kind: 'object', expected: "the address of a session's file, or a Blob" },
  signal,
} as const satisfies Record<keyof SessionOptions, Rule>;
const LOGITS_RULES = {
  top: wholeRule(0, 1000),
  batch: wholeRule(0, 1 << 20),
  signal,
} as const satisfies Record<keyof LogitsOptions, Rule>;

const TEMPLATE_RULES = {
  tools: { kind: 'object', expected: 'an array of tools' },
  addGenerationPrompt: flagRule,
  continueFinalMessage: flagRule,
  kwargs: { kind: 'object', expected: 'an object' },
  chatTemplate: { kind: 'string', expected: 'a template, or the name of one that the file has' },
  adaptContents: flagRule,
  signal,
} as const satisfies Record<keyof TemplateOptions, Rule>;
/** The names of options in other libraries and programs, as lower-case letters, and our names for them. */
const ELSEWHERE = new Map([
  ...['nctx', 'numctx', 'ctxsize', 'contextlength', 'contextwindow', 'maxseqlen'].map(
    (name) => [name, 'contextSize'] as const,
  ),
  ...['npredict', 'numpredict', 'maxnewtokens', 'maxlength', 'maxcompletiontokens'].map(
    (name) => [name, 'maxTokens'] as const,
  ),
  ['nthreads', 'threads'],
  ['numthreads', 'threads'],
  ['cachetypek', 'kvType'],
  ['cachetypev', 'kvType'],
  ['temp', 'temperature'],
  ['repetitionpenalty', 'repeatPenalty'],
  ['penaltyrepeat', 'repeatPenalty'],
  ['penaltylastn', 'repeatLastN'],
  ['typical', 'typicalP'],
  ['stopsequences', 'stop'],
  ['logprobs', 'topLogprobs'],
  ['nprobs', 'topLogprobs'],
  ['abortsignal', 'signal'],
  ['progresscallback', 'onProgress'],
]);

/** The hint for an unknown option: its name here, the call that it belongs to, or the list of options. */
function insteadOf(name: string, known: string[]): string {
  const plain = name.replace(/[^a-z]/gi, '').toLowerCase();
  const tables = [known, Object.keys(LOAD_RULES), Object.keys(GENERATE_RULES)];
  const meant = ELSEWHERE.get(plain) ?? tables.flat().find((one) => one.toLowerCase() === plain);
  if (meant === undefined) return `the options are ${known.join(', ')}`;
  if (known.includes(meant)) return `it is called ${meant} here`;
  return `${meant} is an option of ${tables[1]?.includes(meant) ? 'Engine.load' : 'generate'}`;
}

/** Checks each option against its rule. Returns a copy without the undefined ones; each value is read once. */
export function takeOptions<T extends object>(options: T, rules: Record<string, Rule>): T {
  const list = reading('the options object', () => Array.isArray(options));
  if (typeof options !== 'object' || options === null || list) {
    throw invalid(`the options are ${show(options)}; give an object`);
  }
  const known = Object.keys(rules);
  const given = options as Record<string, unknown>;
  for (const name of reading('the options object', () => Object.keys(given))) {
    if (!known.includes(name) && reading(name, () => given[name]) !== undefined) {
      throw invalid(`unknown option ${show(name)}; ${insteadOf(name, known)}`);
    }
  }
  const taken: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = reading(name, () => given[name]);
    if (value === undefined) continue;
    if (!reading(name, () => takes(rule, value))) {
      throw invalid(`${name} is ${show(value)}; give ${rule.expected}, or leave it out`);
    }
    taken[name] = value;
  }
  return taken as T;
}

/** Checks the options of load and probe. */
export function takeLoadOptions(options: LoadOptions): LoadOptions {
  return takeOptions(options, LOAD_RULES);
}

const CACHE_RULES = {
  hubUrl: { kind: 'string', expected: 'the address of a hub' },
} as const satisfies Record<keyof CacheOptions, Rule>;

/** Checks the options of the cache's calls; `verify`: those of cache.verify, which has more. */
export function takeCacheOptions(options: VerifyOptions, verify: boolean): VerifyOptions {
  const { onProgress } = LOAD_RULES;
  return takeOptions(options, verify ? { ...CACHE_RULES, signal, onProgress } : CACHE_RULES);
}

export function takeListOptions(options: ListOptions): ListOptions {
  const { headers } = LOAD_RULES;
  return takeOptions(options, { ...CACHE_RULES, signal, headers });
}

/** The core's options, as JSON. If the caller gave no number of threads, the core tunes it, up to `threads`. */
export function coreLoadOptions(options: LoadOptions, threads: number): string {
  const taken = Object.fromEntries(CORE_LOAD_OPTIONS.map((name) => [name, options[name]]));
  return JSON.stringify({ ...taken, threads, tuneThreads: options.threads === undefined });
}

/** The most bytes of all texts of an option together, as JSON: the core takes 128 KiB of options. */
const MAX_TEXTS_BYTES = 60 << 10;

/** Checks the texts of an option. `name`: its name for the caller. */
export function takeTexts(
  option: 'stop' | 'drySequenceBreakers',
  given: string | readonly string[],
  name: string = option,
): string[] {
  const { count: most, least: shortest, most: longest } = GENERATE_RULES[option];
  const count = reading(name, () => given.length);
  if (typeof given !== 'string' && count > most) {
    throw invalid(`${name} holds ${count} strings; give ${most} at most`);
  }
  const texts = typeof given === 'string' ? [given] : reading(name, () => Array.from(given));
  for (const text of texts as unknown[]) {
    if (typeof text !== 'string') throw invalid(`${name} holds ${show(text)}; give strings`);
    // The model's text is always well-formed, so such a text would never match.
    if (LONE_SURROGATES.test(text)) {
      throw invalid(
        `${name} holds a text that is not well-formed: one half of a surrogate pair stands alone; give whole characters`,
      );
    }
    const { length } = new TextEncoder().encode(text);
    if (length < shortest || length > longest) {
      throw invalid(
        `${name} holds a text of ${length} bytes; give texts of ${shortest} to ${longest} bytes`,
      );
    }
  }
  const { length } = new TextEncoder().encode(JSON.stringify(texts));
  if (length > MAX_TEXTS_BYTES) {
    throw invalid(
      `the texts of ${name} have ${length} bytes together; give ${MAX_TEXTS_BYTES} at most`,
    );
  }
  return texts;
}

function wrongId(name: string, id: unknown, what = 'token ids'): SluiceError {
  return invalid(`${name} holds ${show(id)}; ${what} are whole numbers from 0 on`);
}

/** Checks the biases of tokens' logits. `name`: their name for the caller. */
export function takeBiases(given: object, name = 'logitBias'): Record<string, number> {
  const rule = GENERATE_RULES.logitBias;
  const entries = reading(name, () => Object.entries(given)) as [string, unknown][];
  if (entries.length > rule.count)
    throw invalid(`${name} holds ${entries.length} tokens; give ${rule.count} at most`);
  for (const [id, bias] of entries) {
    if (!/^\d{1,10}$/.test(id) || Number(id) > 0x7fffffff) throw wrongId(name, id);
    if (typeof bias !== 'number' || !inRange(rule, bias))
      throw invalid(
        `${name}[${id}] is ${show(bias)}; give a number from ${rule.least} to ${rule.most}`,
      );
  }
  return Object.fromEntries(entries) as Record<string, number>;
}

/**
 * Checks the options of generate and converts them for the core. With `draws` and without a seed it draws one, so that the
 * stats can name it.
 */
export function takeGenerateOptions(
  options: GenerateOptions,
  draws: boolean,
): {
  json: string;
  seed: number | undefined;
  signal: AbortSignal | undefined;
  onPromptProgress: GenerateOptions['onPromptProgress'];
} {
  const { signal, onPromptProgress, ...taken } = takeOptions(options, GENERATE_RULES);
  const { stop, drySequenceBreakers: breakers, logitBias: biases } = taken;
  const seed = taken.seed ?? (draws ? crypto.getRandomValues(new Uint32Array(1))[0] : undefined);
  const json = JSON.stringify({
    ...taken,
    seed,
    stop: stop === undefined ? undefined : takeTexts('stop', stop),
    drySequenceBreakers:
      breakers === undefined ? undefined : takeTexts('drySequenceBreakers', breakers),
    logitBias: biases === undefined ? undefined : takeBiases(biases),
  });
  return { json, seed, signal, onPromptProgress };
}

export function takeTokenizeOptions(options: TokenizeOptions): TokenizeOptions {
  return takeOptions(options, TOKENIZE_RULES);
}

/** JSON without lone surrogates, which the core would refuse. */
export function toJson(value: unknown, name: string): string {
  const json = reading(name, () =>
    JSON.stringify(value, (_, each: unknown) =>
      typeof each === 'string' ? wellFormed(each) : each,
    ),
  ) as string | undefined;
  if (json === undefined) throw invalid(`${name} is ${show(value)}; it can't be written as JSON`);
  return json;
}

/** Checks the messages and options of applyTemplate, and converts them for the core. */
export function takeTemplateOptions(
  messages: unknown,
  options: TemplateOptions,
): {
  messages: string;
  kwargs: string;
  chatTemplate: string;
  adaptContents: boolean;
  signal: AbortSignal | undefined;
} {
  if (!reading('messages', () => Array.isArray(messages))) {
    throw invalid(
      `messages is ${show(messages)}; give an array of messages: [{ role: 'user', content: 'Hello' }]`,
    );
  }
  const taken = takeOptions(options, TEMPLATE_RULES);
  const kwargs = {
    tools: taken.tools,
    add_generation_prompt: taken.addGenerationPrompt,
    continue_final_message: taken.continueFinalMessage,
    ...reading('kwargs', () => ({ ...taken.kwargs })),
  };
  return {
    messages: toJson(messages, 'messages'),
    kwargs: toJson(kwargs, 'tools or kwargs'),
    chatTemplate: taken.chatTemplate ?? '',
    adaptContents: taken.adaptContents ?? false,
    signal: taken.signal,
  };
}

export function takeDetokenizeOptions(options: DetokenizeOptions): DetokenizeOptions {
  return takeOptions(options, DETOKENIZE_RULES);
}

const COUNT_RULES = {
  special,
  kwargs: TEMPLATE_RULES.kwargs,
  chatTemplate: TEMPLATE_RULES.chatTemplate,
  signal,
} as const satisfies Record<keyof CountOptions, Rule>;

export function takeCountOptions(options: CountOptions): CountOptions {
  return takeOptions(options, COUNT_RULES);
}

export function takeMeasureOptions(options: MeasureOptions): MeasureOptions {
  return takeOptions(options, DETOKENIZE_RULES);
}

export function takeSaveOptions(options: SaveOptions): SaveOptions {
  return takeOptions(options, DETOKENIZE_RULES);
}

/** Checks the prefix and the signal. */
export function takeSessionOptions(options: SessionOptions): SessionOptions {
  const { prefix, ...rest } = reading('the options object', () => ({ ...options }));
  const { signal } = takeOptions<Omit<SessionOptions, 'prefix'>>(rest, SESSION_RULES);
  const known = (): boolean => prefix instanceof URL || prefix instanceof Blob;
  if (typeof prefix === 'string' || reading('prefix', known)) return { prefix, signal };
  throw invalid(`prefix is ${show(prefix)}; give the address of a session's file, or a Blob`);
}

export function takeSessionFile(file: unknown): Blob {
  if (reading('the session', () => file instanceof Blob)) return file as Blob;
  throw invalid(`the session is ${show(file)}; give the Blob or the File of a saved session`);
}

export function takeLogitsOptions(options: LogitsOptions): LogitsOptions {
  return takeOptions(options, LOGITS_RULES);
}

/** Checks token ids, or other numbers of things. Returns a copy, because a proxy of an array can't be posted. */
export function takeIds(ids: unknown, name: string, what = 'token ids'): number[] {
  return reading(name, () => {
    if (!Array.isArray(ids)) throw invalid(`${name} is ${show(ids)}; give an array of ${what}`);
    const copy: number[] = [];
    for (let i = 0; i < ids.length; ++i) {
      const id: unknown = ids[i];
      if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > 0x7fffffff) {
        throw wrongId(name, id, what);
      }
      copy.push(id);
    }
    return copy;
  });
}

export function takeLength(length: unknown, name: string): number {
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0)
    throw invalid(`${name} is ${show(length)}; give a whole number from 0 on`);
  return length;
}

const LONE_SURROGATES = /\p{Surrogate}/u;

/** Lone surrogates become U+FFFD, as everywhere in browsers when text is converted to UTF-8. */
export function takeText(text: unknown, name: string): string {
  if (typeof text !== 'string') throw invalid(`${name} is ${show(text)}; give a string`);
  return wellFormed(text);
}

function wellFormed(text: string): string {
  return LONE_SURROGATES.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}

/** Whether the prompt is a list of messages, as chat APIs take it. */
function isChat(prompt: unknown): boolean {
  const first: unknown = Array.isArray(prompt) ? prompt[0] : undefined;
  return typeof first === 'object' && first !== null && 'content' in first;
}

/** As isChat, for calls that take messages, too: there any list of objects is a list of messages. */
export function isMessages(
  given: Prompt | readonly ChatMessage[],
): given is readonly ChatMessage[] {
  return reading('prompt', () => Array.isArray(given) && typeof given[0] === 'object');
}

export function takePrompt(prompt: unknown): string | number[] {
  if (typeof prompt === 'string') return takeText(prompt, 'prompt');
  if (reading('prompt', () => isChat(prompt))) {
    throw invalid(
      'prompt is a list of chat messages, and generate writes on after one text; ' +
        'give it await engine.applyTemplate(messages), with { special: true }',
    );
  }
  if (!reading('prompt', () => Array.isArray(prompt))) {
    throw invalid(
      `prompt is ${show(prompt)}; give a string or an array of token ids, and the options behind it: ` +
        "generate('Once upon a time', { maxTokens: 100 })",
    );
  }
  return takeIds(prompt, 'prompt');
}
