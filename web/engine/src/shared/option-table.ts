// Written by scripts/options.mjs from core/options/options.json and wasm/flavours.json.
import type { LoadProgress, PromptProgress, WeightsView } from './progress-types.js';

/** The four builds of the engine: with and without relaxed SIMD, with and without threads. */
export type Flavour = 'relaxed-mt' | 'simd-mt' | 'relaxed' | 'simd';

/** From best to least. */
export const FLAVOURS: readonly Flavour[] = ['relaxed-mt', 'simd-mt', 'relaxed', 'simd'];

/** How keys and values are kept in memory. */
export type KvType = 'f32' | 'f16' | 'q8_0';

/** What concerns the fetching of a file. */
export interface SourceOptions {
  /** Where a model at an address is kept: 'opfs', the page's own files on this device, or 'none'. Default: opfs; without room it goes on and keeps nothing. */
  cache?: 'opfs' | 'none' | undefined;
  /** The sha256 of the file, of a split model of each; text waits for the comparison when it is first downloaded. Default: what the hub says. */
  sha256?: string | readonly string[] | undefined;
  /** Ask the server whether the model that is kept is still current, and replace it if not. */
  refresh?: boolean | undefined;
  /** The hub of `hf:` addresses. Default: https://huggingface.co. */
  hubUrl?: string | undefined;
  /** Called instead of fetch, on the page's thread; the bodies are handed to a worker. Default: the browser's. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Request headers for a model at an address; for another site only Authorization. They are never stored. Default: none. */
  headers?: Record<string, string> | Headers | undefined;
  /** After so many milliseconds without a byte a connection counts as lost. Default: 30000. */
  stallTimeout?: number | undefined;
  /** Lost connections go on by themselves, until so many milliseconds have passed without a new byte. Default: 60000. */
  retryTimeout?: number | undefined;
  /** Aborts the loading; has no effect once `ready` is settled. */
  signal?: AbortSignal | undefined;
}

/** What decides how much memory a model takes. */
export interface MemoryOptions {
  /** Size of the context: tokens of prompt and answer together; of texts that become vectors, the most that one may have; 1 to 1048576. Default: the model's own, of one that writes text at most 4096. */
  contextSize?: number | undefined;
  /** Worker threads; 1 to 64. Default: one for each core, at most 8; fewer if that decodes faster. */
  threads?: number | undefined;
  /** Type of the numbers in the KV cache; f32, f16 or q8_0. Default: f16. */
  kvType?: KvType | undefined;
  /** Most memory that the model may take; weights for which there is no room are read again for every token. Default: what the device allows. */
  memoryBudget?: number | undefined;
  /** Memory of each session for places to which it can go back, besides the ends of the last two prompts; only for models that can't go back anywhere. Default: 67108864. */
  snapshotMemory?: number | undefined;
  /** Sessions that may fill the context at the same time: memory is planned for so many; 1 to 64. Default: 1. */
  sessions?: number | undefined;
}

export interface LoadOptions extends SourceOptions, MemoryOptions {
  /** The build of the engine to use; relaxed-mt, simd-mt, relaxed or simd. Default: the best that this browser runs. */
  flavour?: Flavour | undefined;
  /** Name of the kernels to use: in a browser 'wasm-simd', or 'wasm-relaxed' with a relaxed flavour. Default: the best that runs here. */
  kernels?: string | undefined;
  /** Chats and completions that may wait while one is answered; one more fails with `busy`. Default: any number. */
  queueLimit?: number | undefined;
  /** Called with {phase, loaded, total, bytesPerSecond, source, cachedBytes, waiting, waitingFor, layersReady, layersTotal}. */
  onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Called with {slots, bytesPerSecond, source, rereadBytes, waitedMs} while weights arrive or are computed. */
  onWeights?: ((weights: WeightsView) => void) | undefined;
}

export interface ProbeOptions extends SourceOptions, MemoryOptions {}

export interface GenerateOptions {
  /** Tokens to write at most; 0: the prompt is computed; -1: until the text or the context ends. Default: -1. */
  maxTokens?: number | undefined;
  /** Higher is more random; 0 always takes the likeliest token; 0 to 100. Default: 0.8. */
  temperature?: number | undefined;
  /** Leave out tokens whose logits (the model's scores) are more than N standard deviations below the best; 0: off; 0 to 100. Default: 0. */
  topNSigma?: number | undefined;
  /** Choose among the K likeliest tokens; 0: all. Default: 40. */
  topK?: number | undefined;
  /** Leave out tokens that surprise much more or much less than the average one here; those that stay have probabilities that add up to P; 1: off; 0 to 1. Default: 1. */
  typicalP?: number | undefined;
  /** Choose among the likeliest tokens whose probabilities add up to P; 1: all; 0 to 1. Default: 0.95. */
  topP?: number | undefined;
  /** Leave out tokens less likely than P times the likeliest; 0: none; 0 to 1. Default: 0.05. */
  minP?: number | undefined;
  /** The chance, at each token, that XTC leaves out the likeliest ones, for a less predictable text: of those from its threshold on only the least likely stays; 0: off; 0 to 1. Default: 0. */
  xtcProbability?: number | undefined;
  /** XTC leaves out only tokens of this probability or more; above 0.5: none; 0 to 1. Default: 0.1. */
  xtcThreshold?: number | undefined;
  /** Above 1, the latest tokens of prompt and answer become less likely; 1: off; 0.01 to 100. Default: 1. */
  repeatPenalty?: number | undefined;
  /** Tokens of prompt and answer that the repeat penalty looks back at; 0: none; -1: all. Default: 64. */
  repeatLastN?: number | undefined;
  /** Above 0, tokens that are in the answer become less likely: P is taken from their logits; below 0: likelier; 0: off; -2 to 2. Default: 0. */
  presencePenalty?: number | undefined;
  /** Above 0, tokens become less likely the more often they are in the answer: P is taken from their logits each time; below 0: likelier; 0: off; -2 to 2. Default: 0. */
  frequencyPenalty?: number | undefined;
  /** A number that is added to the logit of a token, before all else: -100 bans it, 100 forces it; several may be given; at most 1024, each from -100 to 100. Default: none. */
  logitBias?: Readonly<Record<number, number>> | undefined;
  /** DRY (don't repeat yourself) makes a token less likely that would go on with a repetition, the more the longer that is: M * B^(length - L) is taken from its logit; 0: off; 0 to 100. Default: 0. */
  dryMultiplier?: number | undefined;
  /** B of DRY: how fast the penalty grows with each repeated token; 1 to 100. Default: 1.75. */
  dryBase?: number | undefined;
  /** L of DRY: so many tokens may be repeated before the next one becomes less likely. Default: 2. */
  dryAllowedLength?: number | undefined;
  /** Tokens of prompt and answer that DRY looks back at; 0: none; -1: all. Default: -1. */
  dryPenaltyLastN?: number | undefined;
  /** Texts at which a repetition ends for DRY; several may be given, in place of the default; at most 64, each of 1 to 64 bytes. Default: "\n", ":", "\"", "*". */
  drySequenceBreakers?: string | readonly string[] | undefined;
  /** The same seed gives the same text on every machine. Default: a random one, which the stats name. */
  seed?: number | undefined;
  /** The text ends before this one; several may be given; at most 64, each of 1 to 1024 bytes. Default: none. */
  stop?: string | readonly string[] | undefined;
  /** Go on after the token with which the model ends its text. */
  ignoreEos?: boolean | undefined;
  /** Recognize special tokens that are written out in the text. */
  special?: boolean | undefined;
  /** Also give the N likeliest tokens at each position; 0 to 100. Default: 0. */
  topLogprobs?: number | undefined;
  /** Also give what each token was chosen from: so many of the best raw logits (the model's scores, before penalties and samplers), with the log-sum and the entropy of all; 0: nothing; 0 to 256. Default: 0. */
  trace?: number | undefined;
  /** Ends the text. */
  signal?: AbortSignal | undefined;
  /** Called with {computed, total, reused, secondsLeft, waiting} at most ten times a second, from 200 ms on, while the prompt is computed. */
  onPromptProgress?: ((progress: PromptProgress) => void) | undefined;
}

export type RuleKind =
  | 'boolean'
  | 'number'
  | 'whole'
  | 'string'
  | 'choice'
  | 'texts'
  | 'biases'
  | 'function'
  | 'object'
  | 'signal';

/** What an option may be. */
export interface Rule {
  readonly kind: RuleKind;
  /** In words. */
  readonly expected: string;
  /** Of a number, or of a text's bytes. */
  readonly least?: number;
  readonly most?: number;
  /** Texts at most. */
  readonly count?: number;
  readonly choices?: readonly string[];
  readonly default?: number;
}

/** The rules of numbers, in functions so that a page loads less. */
const number = (least: number, most: number, usual: number) =>
  ({
    kind: 'number',
    expected: `a number from ${least} to ${most}`,
    least,
    most,
    default: usual,
  }) as const;
const whole = (least: number, most: number, usual: number) =>
  ({
    ...number(least, most, usual),
    kind: 'whole',
    expected: `a whole number from ${least} to ${most}`,
  }) as const;

export const LOAD_RULES = {
  contextSize: {
    kind: 'whole',
    expected: 'a whole number from 1 to 1048576',
    least: 1,
    most: 1048576,
  },
  threads: { kind: 'whole', expected: 'a whole number from 1 to 64', least: 1, most: 64 },
  kvType: { kind: 'choice', expected: 'f32, f16 or q8_0', choices: ['f32', 'f16', 'q8_0'] },
  memoryBudget: {
    kind: 'whole',
    expected: 'a whole number from 1 to 9007199254740991',
    least: 1,
    most: 9007199254740991,
  },
  snapshotMemory: {
    kind: 'whole',
    expected: 'a whole number from 0 to 1125899906842624',
    least: 0,
    most: 1125899906842624,
    default: 67108864,
  },
  sessions: whole(1, 64, 1),
  flavour: {
    kind: 'choice',
    expected: 'relaxed-mt, simd-mt, relaxed or simd',
    choices: ['relaxed-mt', 'simd-mt', 'relaxed', 'simd'],
  },
  kernels: { kind: 'string', expected: 'a string' },
  cache: { kind: 'choice', expected: "'opfs' or 'none'", choices: ['opfs', 'none'] },
  sha256: { kind: 'texts', expected: '64 hexadecimal digits, or a list of them' },
  refresh: { kind: 'boolean', expected: 'true or false' },
  hubUrl: { kind: 'string', expected: 'an address' },
  fetch: { kind: 'function', expected: 'a function like fetch' },
  headers: { kind: 'object', expected: 'an object of names and values, or Headers' },
  stallTimeout: {
    kind: 'number',
    expected: 'milliseconds from 1 to 2147483647',
    least: 1,
    most: 2147483647,
    default: 30000,
  },
  retryTimeout: {
    kind: 'number',
    expected: 'milliseconds from 0 to 2147483647',
    least: 0,
    most: 2147483647,
    default: 60000,
  },
  queueLimit: {
    kind: 'whole',
    expected: 'a whole number from 0 to 9007199254740991',
    least: 0,
    most: 9007199254740991,
  },
  signal: { kind: 'signal', expected: 'an AbortSignal' },
  onProgress: { kind: 'function', expected: 'a function' },
  onWeights: { kind: 'function', expected: 'a function' },
} as const satisfies Record<keyof LoadOptions, Rule>;

/** Those of them that the core takes. */
export const CORE_LOAD_OPTIONS = [
  'contextSize',
  'threads',
  'kvType',
  'memoryBudget',
  'snapshotMemory',
  'sessions',
  'kernels',
] as const;

export const GENERATE_RULES = {
  maxTokens: whole(-1, 9007199254740991, -1),
  temperature: number(0, 100, 0.8),
  topNSigma: number(0, 100, 0),
  topK: whole(0, 2147483647, 40),
  typicalP: number(0, 1, 1),
  topP: number(0, 1, 0.95),
  minP: number(0, 1, 0.05),
  xtcProbability: number(0, 1, 0),
  xtcThreshold: number(0, 1, 0.1),
  repeatPenalty: number(0.01, 100, 1),
  repeatLastN: whole(-1, 2147483647, 64),
  presencePenalty: number(-2, 2, 0),
  frequencyPenalty: number(-2, 2, 0),
  logitBias: {
    kind: 'biases',
    expected: 'an object of token ids and numbers from -100 to 100',
    least: -100,
    most: 100,
    count: 1024,
  },
  dryMultiplier: number(0, 100, 0),
  dryBase: number(1, 100, 1.75),
  dryAllowedLength: whole(1, 2147483647, 2),
  dryPenaltyLastN: whole(-1, 2147483647, -1),
  drySequenceBreakers: {
    kind: 'texts',
    expected: 'a string or a list of strings',
    least: 1,
    most: 64,
    count: 64,
  },
  seed: {
    kind: 'whole',
    expected: 'a whole number from 0 to 9007199254740991',
    least: 0,
    most: 9007199254740991,
  },
  stop: {
    kind: 'texts',
    expected: 'a string or a list of strings',
    least: 1,
    most: 1024,
    count: 64,
  },
  ignoreEos: { kind: 'boolean', expected: 'true or false' },
  special: { kind: 'boolean', expected: 'true or false' },
  topLogprobs: whole(0, 100, 0),
  trace: whole(0, 256, 0),
  signal: { kind: 'signal', expected: 'an AbortSignal' },
  onPromptProgress: { kind: 'function', expected: 'a function' },
} as const satisfies Record<keyof GenerateOptions, Rule>;
