// Fields of OpenAI's requests that Sluice accepts without acting on them. All other unknown fields are refused.
import { show } from '../options.js';
import { plain, wrong, type Body } from './body.js';

/** Ignored: they can't change the answer. */
const IDLE = new Set([
  'model',
  'user',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
]);

interface Neutral {
  /** Whether the value changes nothing. */
  is(value: unknown): boolean;
  /** The values that change nothing, for the error message. */
  expected: string;
}

const only = (...values: unknown[]): Neutral => ({
  is: (value) => values.includes(value),
  expected: values.map((value) => (typeof value === 'string' ? `'${value}'` : value)).join(' or '),
});
const noMembers: Neutral = {
  is: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
  expected: 'an empty one',
};
const never: Neutral = { is: () => false, expected: '' };

/** Fields that are not supported yet: only the values that change nothing are accepted. */
const NEUTRAL = new Map<string, Neutral>(
  Object.entries({
    tools: noMembers,
    tool_choice: only('none', 'auto'),
    parallel_tool_calls: only(true),
    functions: noMembers,
    function_call: only('none', 'auto'),
    response_format: {
      is: (value) => JSON.stringify(value) === '{"type":"text"}',
      expected: "{ type: 'text' }",
    },
    audio: never,
    modalities: { is: (value) => JSON.stringify(value) === '["text"]', expected: "['text']" },
    store: only(false),
    prediction: never,
    web_search_options: never,
    verbosity: only('medium'),
    moderation: never,
    service_tier: only('auto', 'default'),
    echo: only(false),
    best_of: only(1),
    suffix: only(''),
  }),
);

/** Throws if a field that was not taken could change the answer. `known`: the supported fields, for the error message. */
export function refuseOthers(body: Body, known: readonly string[]): void {
  for (const name of [...body.left]) {
    if (IDLE.has(name)) continue;
    const neutral = NEUTRAL.get(name);
    if (neutral === undefined)
      throw wrong(name, `unknown field ${show(name)}; the fields are ${known.join(', ')}`);
    const value = body.take(name);
    if (neutral.is(typeof value === 'object' ? plain(name, value) : value)) continue;
    const instead = neutral.expected === '' ? '' : `, or give ${neutral.expected}`;
    throw wrong(
      name,
      `${name} is not supported yet (it is ${show(value)}); leave it out${instead}`,
    );
  }
}
