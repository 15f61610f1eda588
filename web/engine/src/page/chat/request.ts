// Checks the bodies of requests, and converts them for the engine worker.
import { GENERATE_RULES, type Rule } from '../../shared/option-table.js';
import {
  choiceRule,
  flagRule,
  show,
  takeBiases,
  takeIds,
  takeText,
  takeTexts,
  wholeRule,
} from '../options.js';
import type { ChatPrompt, StateRequest } from '../../shared/protocol.js';
import { isStateId, STATE_ID, stateLimit } from '../state-store.js';
import type { PromptProgress } from '../../shared/progress-types.js';
import { Body, field, wrong } from './body.js';
import { refuseOthers } from './fields.js';
import { takeMessages } from './messages.js';
import type { TakenAnswer } from './answer-request.js';

/** A request that was checked. */
export interface TakenRequest {
  /** Each has `n` answers. */
  prompts: ChatPrompt[];
  n: number;
  /** The core's options for the answer number `i` to a prompt. */
  options: (i: number) => string;
  maxTokens: number | null;
  thinkingTokens: number;
  /** Whether the tokens' log-probabilities are wanted. */
  logprobs: boolean;
  /** The answer says how many messages were dropped. */
  tellsDropped: boolean;
  stream: boolean;
  includeUsage: boolean;
  state: StateRequest | null;
  signal: AbortSignal | undefined;
  onPromptProgress: ((progress: PromptProgress) => void) | undefined;
}

const tokens = wholeRule(0, Number.MAX_SAFE_INTEGER);

/** The samplers that are numbers: the field, the option of `generate`, the rule. (Every option with a default is a number.) */
const SAMPLERS = Object.entries<Rule>(GENERATE_RULES)
  .filter(
    ([option, rule]) =>
      rule.default !== undefined && !['maxTokens', 'topLogprobs'].includes(option),
  )
  .map(([option, rule]) => {
    const field = option.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    return { field: option === 'repeatPenalty' ? 'repetition_penalty' : field, option, rule };
  });

const COMMON = {
  max_tokens: tokens,
  n: wholeRule(1, 128),
  seed: GENERATE_RULES.seed,
  stop: GENERATE_RULES.stop,
  logit_bias: GENERATE_RULES.logitBias,
  dry_sequence_breakers: GENERATE_RULES.drySequenceBreakers,
  stream: flagRule,
  signal: GENERATE_RULES.signal,
  on_prompt_progress: GENERATE_RULES.onPromptProgress,
} as const satisfies Record<string, Rule>;
const LOGPROBS = wholeRule(0, 20);
const EFFORTS = choiceRule('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max');
const TRUNCATION = choiceRule('auto', 'disabled');
const TEMPLATE: Rule = { kind: 'string', expected: 'a Jinja template, or the name of one' };

const KNOWN = [
  ...Object.keys(COMMON),
  ...SAMPLERS.map(({ field }) => field),
  ...['stream_options', 'logprobs'],
];
const KNOWN_OF_CHAT = [
  ...['messages', ...KNOWN, 'max_completion_tokens', 'top_logprobs', 'reasoning_effort'],
  ...['reasoning', 'chat_template_kwargs', 'chat_template', 'truncation', 'state'],
];
const KNOWN_OF_TEXT = ['prompt', ...KNOWN];

type Common = Pick<
  TakenRequest,
  'n' | 'maxTokens' | 'stream' | 'includeUsage' | 'signal' | 'onPromptProgress'
> & {
  optionsWith(maxTokens: number | null, topLogprobs: number): TakenRequest['options'];
};

type Texts = string | readonly string[];

/** A value that its rule alone can't check: `take` checks and converts it. */
function converted<Given, Value>(
  body: Body,
  name: keyof typeof COMMON,
  take: (given: Given) => Value,
): Value | undefined {
  const given = body.checked<Given>(name, COMMON[name]);
  return given === undefined ? undefined : field(name, () => take(given));
}

function takeCommon(body: Body): Common {
  const number = (name: keyof typeof COMMON): number | undefined =>
    body.checked<number>(name, COMMON[name]);
  const maxTokens = number('max_tokens') ?? null;
  const n = number('n') ?? 1;
  const sampling = {
    ...Object.fromEntries(
      SAMPLERS.map(({ field, option, rule }) => [option, body.checked<number>(field, rule)]),
    ),
    stop: converted(body, 'stop', (given: Texts) => takeTexts('stop', given)),
    logitBias: converted(body, 'logit_bias', (given: object) => takeBiases(given, 'logit_bias')),
    drySequenceBreakers: converted(body, 'dry_sequence_breakers', (given: Texts) =>
      takeTexts('drySequenceBreakers', given, 'dry_sequence_breakers'),
    ),
  };
  const seed = number('seed') ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const stream = body.checked<boolean>('stream', flagRule) ?? false;
  return {
    n,
    maxTokens,
    stream,
    includeUsage: takeStreamOptions(body, stream),
    signal: body.checked<AbortSignal>('signal', COMMON.signal),
    onPromptProgress: body.checked('on_prompt_progress', COMMON.on_prompt_progress),
    optionsWith: (maxTokens, topLogprobs) => (i) =>
      JSON.stringify({
        ...sampling,
        maxTokens: maxTokens ?? undefined,
        topLogprobs,
        // The greatest seed is followed by 0.
        seed:
          seed <= Number.MAX_SAFE_INTEGER - i ? seed + i : seed - Number.MAX_SAFE_INTEGER + i - 1,
      }),
  };
}

/** Whether the usage is wanted. */
function takeStreamOptions(body: Body, stream: boolean): boolean {
  const name = 'stream_options';
  const options = body.members(name, '{ include_usage: true }');
  if (options === undefined) return false;
  if (!stream) throw wrong(name, `${name} is only for requests with stream: true; leave it out`);
  let wanted = false;
  for (const [member, value] of Object.entries(options)) {
    const known = member === 'include_usage' || member === 'include_obfuscation';
    if (!known) throw wrong(`${name}.${member}`, `unknown field ${name}.${member.slice(0, 60)}`);
    if (value !== null && typeof value !== 'boolean')
      throw wrong(`${name}.${member}`, `${name}.${member} is ${show(value)}; give true or false`);
    if (member === 'include_usage') wanted = value === true;
  }
  return wanted;
}

/** The id under which the conversation's state is stored. */
function takeState(body: Body): StateRequest | null {
  const id = body.take('state');
  if (id === undefined) return null;
  if (!isStateId(id))
    throw wrong('state', `state is ${show(id)}; give ${STATE_ID}, or leave it out`);
  return { id, limit: stateLimit() };
}

/** Whether the model reasons, and for how many tokens. */
function takeReasoning(body: Body): {
  thinking: -1 | 0 | 1;
  thinkingTokens: number;
  effort: string | undefined;
} {
  const effort = body.checked<string>('reasoning_effort', EFFORTS);
  const given = body.members('reasoning', '{ enabled, max_tokens }') ?? {};
  const { enabled, max_tokens: most, ...rest } = given;
  const [other] = Object.keys(rest);
  if (other !== undefined)
    throw wrong(
      `reasoning.${other}`,
      `unknown field reasoning.${other.slice(0, 60)}; the fields are enabled and max_tokens`,
    );
  if (enabled != null && typeof enabled !== 'boolean')
    throw wrong('reasoning.enabled', `reasoning.enabled is ${show(enabled)}; give true or false`);
  if (most != null && !(Number.isSafeInteger(most) && (most as number) >= 0))
    throw wrong(
      'reasoning.max_tokens',
      `reasoning.max_tokens is ${show(most)}; give a whole number from 0 on`,
    );
  const wanted = effort === undefined ? undefined : effort !== 'none';
  if (enabled != null && wanted !== undefined && enabled !== wanted)
    throw wrong(
      'reasoning_effort',
      `reasoning_effort is '${effort}' and reasoning.enabled is ${enabled}; give one of the two`,
    );
  const on = enabled ?? wanted;
  return {
    thinking: on === undefined ? -1 : on ? 1 : 0,
    thinkingTokens: on === false ? 0 : ((most as number | null | undefined) ?? -1),
    effort: effort === 'none' ? undefined : effort,
  };
}

/** Checks the body of a request for chat. */
export function takeChatRequest(given: unknown): TakenRequest {
  const body = new Body(given);
  const messages = takeMessages(body.take('messages'));
  const { optionsWith, ...common } = takeCommon(body);
  const limit = body.checked<number>('max_completion_tokens', tokens);
  const maxTokens =
    limit === undefined ? common.maxTokens : Math.min(limit, common.maxTokens ?? Infinity);
  const logprobs = body.checked<boolean>('logprobs', flagRule) ?? false;
  const top = body.checked<number>('top_logprobs', LOGPROBS) ?? 0;
  if (top > 0 && !logprobs)
    throw wrong('top_logprobs', `top_logprobs is ${top}; give logprobs: true with it`);
  const { thinking, thinkingTokens, effort } = takeReasoning(body);
  const kwargs = {
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...body.members('chat_template_kwargs', 'an object'),
  };
  const chatTemplate = body.checked<string>('chat_template', TEMPLATE) ?? '';
  const truncate = body.checked<string>('truncation', TRUNCATION) === 'auto';
  const state = takeState(body);
  refuseOthers(body, KNOWN_OF_CHAT);
  const prompt: ChatPrompt = {
    kind: 'chat',
    messages,
    truncate,
    thinking,
    kwargs: Object.keys(kwargs).length === 0 ? '' : JSON.stringify(kwargs),
    chatTemplate: takeText(chatTemplate, 'chat_template'),
  };
  return {
    ...common,
    maxTokens,
    thinkingTokens,
    logprobs,
    tellsDropped: truncate,
    prompts: [prompt],
    state,
    options: optionsWith(maxTokens, top),
  };
}

/** The prompts of a request for texts. */
function takePrompts(body: Body): ChatPrompt[] {
  const given = body.take('prompt');
  const text = (one: string): ChatPrompt => ({ kind: 'text', text: takeText(one, 'prompt') });
  if (typeof given === 'string') return [text(given)];
  const expected = 'a text, an array of token ids, or an array of these';
  if (!field('prompt', () => Array.isArray(given)))
    throw wrong('prompt', `prompt is ${show(given)}; give ${expected}`);
  const list = field('prompt', () => Array.from(given as ArrayLike<unknown>));
  if (list.length === 0) throw wrong('prompt', `prompt is empty; give ${expected}`);
  if (list.every((one) => typeof one === 'string')) return list.map(text);
  const ids = (of: unknown): ChatPrompt => ({ kind: 'ids', ids: takeIds(of, 'prompt') });
  return field('prompt', () =>
    list.every((one) => Array.isArray(one)) ? list.map(ids) : [ids(list)],
  );
}

/** Checks the body of a request for texts. */
export function takeTextRequest(given: unknown): TakenRequest {
  const body = new Body(given);
  const prompts = takePrompts(body);
  const { optionsWith, ...common } = takeCommon(body);
  const top = body.checked<number>('logprobs', LOGPROBS);
  refuseOthers(body, KNOWN_OF_TEXT);
  return {
    ...common,
    prompts,
    thinkingTokens: -1,
    logprobs: top !== undefined,
    tellsDropped: false,
    state: null,
    options: optionsWith(common.maxTokens, top ?? 0),
  };
}

/** The answer number `index` of all those that a request wants. */
export function answerOf(taken: TakenRequest, index: number): TakenAnswer {
  const { prompts, n } = taken;
  return {
    prompt: prompts[Math.floor(index / n)] as ChatPrompt,
    options: taken.options(index % n),
    maxTokens: taken.maxTokens,
    thinkingTokens: taken.thinkingTokens,
    bytes: taken.logprobs,
    state: taken.state,
    onPromptProgress: taken.onPromptProgress,
  };
}
