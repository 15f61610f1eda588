// SluiceError as plain data, and back.
import { describe, expect, it } from 'vitest';
import { SluiceError, fromErrorData, toErrorData, type ErrorData } from '../src/index.js';

const full = new SluiceError('download_failed', 'the server answered 404', {
  status: 404,
  param: 'url',
  cause: new TypeError('Failed to fetch'),
});
const DATA = {
  code: 'download_failed',
  message: 'the server answered 404',
  status: 404,
  param: 'url',
  facts: { status: 404 },
  cause: 'TypeError: Failed to fetch',
};

const busy = (more: object): object => ({ code: 'busy', message: 'x', ...more });

/** A proxy that gives nothing. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function refuses(data: unknown): void {
  expect(() => fromErrorData(data as ErrorData)).toThrow(
    expect.objectContaining({ code: 'invalid_argument' }),
  );
}

describe('error data', () => {
  it('has all fields, can be posted, and gives the same error again', () => {
    const data = structuredClone(toErrorData(full));
    expect(data).toEqual(DATA);
    const again = fromErrorData(data);
    expect(again).toBeInstanceOf(SluiceError);
    expect(again).toMatchObject({ name: 'SluiceError', ...DATA });
    expect(toErrorData(again)).toEqual(DATA);
    expect(fromErrorData(toErrorData(new SluiceError('aborted', 'stop'))).name).toBe('AbortError');
  });

  it('has no fields that the error has not', () => {
    const data = toErrorData(new SluiceError('closed', 'this engine is closed'));
    expect(data).toStrictEqual({ code: 'closed', message: 'this engine is closed' });
    expect('cause' in fromErrorData(data)).toBe(false);
  });

  it('tells the causes of a cause, with their codes', () => {
    const refused = Object.assign(new Error('connect 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const failed = new TypeError('fetch failed', { cause: refused });
    expect(toErrorData(new SluiceError('download_failed', 'x', { cause: failed })).cause).toBe(
      'TypeError: fetch failed: Error: connect 127.0.0.1:9 (ECONNREFUSED)',
    );
    const itself = new Error('round');
    itself.cause = itself;
    expect(toErrorData(new SluiceError('busy', 'x', { cause: itself })).cause).toBe(
      'Error: round: Error: round: Error: round',
    );
  });

  it('takes any other error, and a cause that can not be read', () => {
    expect(toErrorData(new RangeError('far'), 'bad_file')).toEqual({
      code: 'bad_file',
      message: 'far',
    });
    const cause = Object.create(null) as object;
    expect(toErrorData(new SluiceError('busy', 'x', { cause }))).toEqual({
      code: 'busy',
      message: 'x',
    });
  });

  it('takes any thrown value, whatever reading it does', () => {
    const angry = new Error('x');
    const fail = (): never => {
      throw new Error('not to be read');
    };
    Object.defineProperty(angry, 'message', { get: fail });
    for (const thrown of [Object.create(null), revoked(), angry, { toString: fail }])
      expect(toErrorData(thrown)).toEqual({
        code: 'worker_died',
        message: "an error that can't be read",
      });
    const odd = Object.assign(new Error('x'), { message: { a: 1 } });
    for (const thrown of [odd, Symbol('x'), null, undefined, 7n])
      expect(structuredClone(toErrorData(thrown)).message).toBeTypeOf('string');
  });

  it('knows what signals throw, and no codes that there are not', async () => {
    const late = await new Promise<unknown>((resolve) => {
      const signal = AbortSignal.timeout(1);
      signal.onabort = () => resolve(signal.reason);
    });
    for (const ended of [late, new DOMException('stop', 'AbortError')])
      expect(toErrorData(ended)).toMatchObject({ code: 'aborted' });
    expect(toErrorData(late, 'download_failed').code).toBe('download_failed');
    expect(toErrorData(new DOMException('no', 'DataCloneError')).code).toBe('worker_died');
    const listed = [new RangeError('far'), full].map(toErrorData as (error: unknown) => ErrorData);
    expect(listed.map(({ code }) => code)).toEqual(['worker_died', 'download_failed']);
  });

  it('loses only what JSON can not have', () => {
    const facts = { tokens: 5, room: Number.NaN };
    const data = JSON.stringify(new SluiceError('context_full', 'x', { facts }));
    expect(fromErrorData(JSON.parse(data) as ErrorData).facts).toEqual({ tokens: 5 });
    const none = { status: null, param: null, cause: null };
    expect(toErrorData(fromErrorData(busy(none) as ErrorData))).toEqual(busy({}));
  });

  it.each([
    ...[null, undefined, {}, { code: 'no', message: 'x' }, { code: 'busy' }, 'busy'],
    ...[
      { code: 'constructor', message: 'x' },
      { code: 'busy', message: {} },
    ],
    ...[{ status: '404' }, { status: {} }, { param: 1 }, { cause: {} }].map(busy),
    ...['x', 5, null, [1], { a: {} }, { a: [] }, { a: true }].map((facts) => busy({ facts })),
    JSON.parse('{"code":"busy","message":"x","facts":{"__proto__":{"a":1}}}') as unknown,
  ])('is refused if it is something else: %j', (data) => refuses(data));

  it('is refused if it is without an end, or can not be read', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const more of [
      { facts: cyclic },
      { status: cyclic },
      { param: cyclic },
      { cause: cyclic },
    ])
      refuses(busy(more));
    refuses(busy({ facts: { tokens: 5n } }));
    refuses(revoked());
    refuses({
      get code(): string {
        throw new Error('not to be read');
      },
    });
  });
});

it('JSON has the name, the code and the message', () => {
  const data = JSON.parse(JSON.stringify({ error: full })) as { error: ErrorData };
  expect(data.error).toEqual({ name: 'SluiceError', ...DATA });
  expect(fromErrorData(data.error)).toMatchObject(DATA);
});
