// SluiceError as plain data, and back.
import { describe, expect, it } from 'vitest';
import { SluiceError, fromErrorData, toErrorData, type ErrorData } from '../src/index.js';

const full = new SluiceError('download_failed', 'the server answered 404', {
  ...{ status: 404, param: 'url', cause: new TypeError('Failed to fetch') },
});
const DATA = {
  ...{ code: 'download_failed', message: 'the server answered 404', status: 404, param: 'url' },
  facts: { status: 404 },
  cause: 'TypeError: Failed to fetch',
};

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

  it('takes any other error, and a cause that can not be read', () => {
    expect(toErrorData(new RangeError('far'), 'bad_file')).toEqual({
      ...{ code: 'bad_file', message: 'far' },
    });
    const cause = Object.create(null) as object;
    expect(toErrorData(new SluiceError('busy', 'x', { cause }))).toEqual({
      ...{ code: 'busy', message: 'x' },
    });
  });

  it.each([null, undefined, {}, { code: 'no', message: 'x' }, { code: 'busy' }, 'busy'])(
    'is refused if it is something else: %j',
    (data) => {
      expect(() => fromErrorData(data as unknown as ErrorData)).toThrow(
        expect.objectContaining({ code: 'invalid_argument' }),
      );
    },
  );
});

it('JSON has the name, the code and the message', () => {
  const data = JSON.parse(JSON.stringify({ error: full })) as { error: ErrorData };
  expect(data.error).toEqual({ name: 'SluiceError', ...DATA });
  expect(fromErrorData(data.error)).toMatchObject(DATA);
});
