// Checks the requests of engine.answer, and converts them for the engine worker.
import { GENERATE_RULES, type Rule } from '../../shared/option-table.js';
import type { AnswerRequest } from '../../shared/answer-types.js';
import type { ChatPrompt, StateRequest } from '../../shared/protocol.js';
import type { PromptProgress } from '../../shared/progress-types.js';
import {
  invalid,
  reading,
  show,
  takeGenerateOptions,
  takeOptions,
  takeText,
  toJson,
} from '../options.js';
import { isStateId, STATE_ID, stateLimit } from '../state-store.js';
import { MESSAGES, takeMessages } from './messages.js';

/** An answer to write, checked. */
export interface TakenAnswer {
  prompt: ChatPrompt;
  /** The core's options for generating, as JSON. */
  options: string;
  /** As in the options; null: no limit. */
  maxTokens: number | null;
  /** The most tokens of reasoning; -1: no limit. */
  thinkingTokens: number;
  /** Whether the tokens' bytes are wanted. */
  bytes: boolean;
  state: StateRequest | null;
  onPromptProgress: ((progress: PromptProgress) => void) | undefined;
}

/** Why a request in a session can't have a `state`. */
export const NO_STATE =
  'state is for answers that are in no session of yours; save the session with its save(), or leave the session out';

const { special: _, ...GENERATING } = GENERATE_RULES;
const flag = { kind: 'boolean', expected: 'true or false' } as const;
const RULES = {
  ...GENERATING,
  messages: { kind: 'object', expected: MESSAGES },
  thinking: flag,
  thinkingTokens: { kind: 'whole', expected: 'a whole number from 0 on', least: 0 },
  kwargs: { kind: 'object', expected: 'an object' },
  chatTemplate: { kind: 'string', expected: 'a Jinja template, or the name of one' },
  continueFinalMessage: flag,
  truncate: flag,
  bytes: flag,
  state: { kind: 'string', expected: STATE_ID },
} as const satisfies Record<keyof AnswerRequest, Rule>;

/** `messages` as JSON. What a message of ours calls reasoning, templates call reasoning_content. */
function messagesJson(given: unknown): string {
  const messages = JSON.parse(takeMessages(given)) as Record<string, unknown>[];
  return JSON.stringify(
    messages.map(({ reasoning, ...message }) =>
      typeof reasoning === 'string' && reasoning !== ''
        ? { reasoning_content: reasoning, ...message }
        : message,
    ),
  );
}

/** The template's variables as JSON; '' for none. */
function kwargsJson({
  kwargs,
  continueFinalMessage,
}: Pick<AnswerRequest, 'kwargs' | 'continueFinalMessage'>): string {
  const variables = {
    ...(continueFinalMessage === true ? { continue_final_message: true } : {}),
    ...reading('kwargs', () => ({ ...kwargs })),
  };
  return Object.keys(variables).length === 0 ? '' : toJson(variables, 'kwargs');
}

/** `keeps`: whether the engine can keep the conversation's state by its name. */
export function takeAnswerRequest(
  request: unknown,
  keeps: boolean,
): { answer: TakenAnswer; signal: AbortSignal | undefined } {
  const taken = takeOptions(request as AnswerRequest, RULES);
  const {
    messages,
    thinking,
    thinkingTokens = -1,
    kwargs,
    chatTemplate = '',
    continueFinalMessage,
    truncate = false,
    bytes = false,
    state,
    ...generating
  } = taken;
  const { json, signal, onPromptProgress } = takeGenerateOptions(generating, true);
  const { maxTokens = -1 } = generating;
  return {
    answer: {
      prompt: {
        kind: 'chat',
        messages: messagesJson(messages),
        kwargs: kwargsJson({ kwargs, continueFinalMessage }),
        chatTemplate: takeText(chatTemplate, 'chatTemplate'),
        truncate,
        thinking: thinking === undefined ? -1 : thinking ? 1 : 0,
      },
      options: json,
      maxTokens: maxTokens < 0 ? null : maxTokens,
      thinkingTokens: thinking === false ? 0 : thinkingTokens,
      bytes,
      state: takeState(state, keeps),
      onPromptProgress,
    },
    signal,
  };
}

function takeState(id: string | undefined, keeps: boolean): StateRequest | null {
  if (id === undefined) return null;
  if (!isStateId(id)) throw invalid(`state is ${show(id)}; give ${STATE_ID}, or leave it out`);
  if (!keeps) throw invalid(NO_STATE);
  return { id, limit: stateLimit() };
}
