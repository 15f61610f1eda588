import { SluiceError, type ErrorCode } from '@sluice/engine';
import { expect, it } from 'vitest';
import { explain } from '../src/model/advice';

it('says once what to do', () => {
  const full = explain(
    new SluiceError('context_full', 'the prompt has 9; the context holds 8; shorten the prompt'),
  );
  expect(full.message).toBe('The prompt has 9; the context holds 8.');
  expect(full.advice).toContain('Shorten the prompt');
  const bad = explain(new SluiceError('bad_file', 'this is no GGUF file; choose another file'));
  expect(bad.message).toBe('This is no GGUF file; choose another file.');
  expect(bad.advice).toBe('');
});

it('takes whatever is thrown', () => {
  expect(explain(new Error('gone.'))).toMatchObject({ code: 'worker_died', message: 'Gone.' });
  expect(explain('gone')).toMatchObject({ code: 'worker_died', message: 'Gone.' });
});

it('leaves a host’s name as it is', () => {
  const error = new SluiceError('download_failed', 'localhost:8080 answered 404');
  expect(explain(error, 'http://localhost:8080/m.gguf').message).toBe(
    'localhost:8080 answered 404.',
  );
  expect(explain(error).message).toBe('Localhost:8080 answered 404.');
});

it('says what to do without a network, without room, and with a wrong file', () => {
  const of = (code: ErrorCode, text: string) =>
    explain(new SluiceError(code, text), 'hf:owner/repo');
  const full = of('storage_full', 'the cache needs 2 GB more, and 1 GB are free; remove models');
  expect(full.message).toBe('The cache needs 2 GB more, and 1 GB are free.');
  expect(full.advice).toContain('Remove models');
  expect(full.advice).toContain('without keeping');
  expect(of('offline', 'this device is offline; connect it').advice).toContain(
    'what has come is kept',
  );
  expect(of('download_corrupt', 'its sha256 is a1; b2 is expected').advice).toContain('Try again');
});
