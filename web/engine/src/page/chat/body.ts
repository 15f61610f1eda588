// The body of a request, which may be any value: each of its fields is read once, then checked.
import { SluiceError } from '../../shared/errors.js';
import type { Rule } from '../../shared/option-table.js';
import { invalid, reading, show, takes, toJson } from '../options.js';

/** An error that names the field. */
export function wrong(param: string, message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid_argument', message, {
    param,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Runs `read`. Its errors name the field. */
export function field<T>(name: string, read: () => T): T {
  try {
    return reading(name, read);
  } catch (error) {
    const { message, cause, param = name } = error as SluiceError;
    throw wrong(param, message, cause);
  }
}

export class Body {
  readonly #given = new Map<string, unknown>();
  /** Names of fields that were not taken yet. */
  readonly #left = new Set<string>();

  /** `what` and `example`: for the error message if the body is no object. */
  constructor(body: unknown, what = 'the body', example = '{ messages: [..] }') {
    const list = reading(what, () => Array.isArray(body));
    if (typeof body !== 'object' || body === null || list)
      throw invalid(`${what} is ${show(body)}; give an object: ${example}`);
    const record = body as Record<string, unknown>;
    for (const name of reading(what, () => Object.keys(record))) {
      const value = field(name, () => record[name]);
      // Null stands for the default, as in OpenAI's API.
      if (value === undefined || value === null) continue;
      this.#given.set(name, value);
      this.#left.add(name);
    }
  }

  /** The value as it was given. */
  take(name: string): unknown {
    this.#left.delete(name);
    return this.#given.get(name);
  }

  /** The value, checked against a rule. */
  checked<T>(name: string, rule: Rule): T | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (!field(name, () => takes(rule, value)))
      throw wrong(name, `${name} is ${show(value)}; give ${rule.expected}, or leave it out`);
    return value as T;
  }

  /** A copy of the value made through JSON, so that reading it runs none of the caller's code. */
  plain(name: string): unknown {
    const value = this.take(name);
    return value === undefined ? undefined : plain(name, value);
  }

  /** A plain object. */
  members(name: string, expected: string): Record<string, unknown> | undefined {
    const value = this.plain(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw wrong(name, `${name} is ${show(value)}; give ${expected}, or leave it out`);
    return value as Record<string, unknown>;
  }

  /** The names of the fields that were not taken, in their order. */
  get left(): Iterable<string> {
    return this.#left;
  }
}

/** See Body.plain. */
export function plain(name: string, value: unknown): unknown {
  return field(name, () => JSON.parse(toJson(value, name)) as unknown);
}
