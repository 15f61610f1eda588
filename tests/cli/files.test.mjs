// Tests of files that can't be used: status 3, with the code and the reason.
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bundled,
  damaged,
  events,
  gguf,
  kv,
  program,
  shell,
  sluice,
  smallVocabulary,
  temporary,
} from './helpers.mjs';

const commands = [
  ['run', '-n', '1'],
  ['inspect'],
  ['tokenize', '-p', 'a'],
  ['logits', '-p', 'a'],
  ['bench'],
];

function refused(path, code, reason, which = commands) {
  for (const [command, ...more] of which) {
    const { status, out, err } = sluice([command, path, ...more, '--json']);
    assert.equal(status, 3, `${command}: ${err}`);
    const [event] = events(out);
    assert.equal(event.event, 'error');
    assert.equal(event.code, code);
    assert.match(event.message, reason);
    assert.ok(event.message.includes(path), event.message);
    assert.match(err, /^sluice: error: /);
  }
}

describe('files that can not be used', () => {
  it('one that is not there', () => refused(temporary('missing.gguf'), 'bad_file', /No such file/));
  it('a prompt in the place of the model is told where it goes', () => {
    const hint = /No such file.*; a prompt goes after -p: -p "Once upon a time"\n$/;
    assert.match(sluice(['run', 'Once upon a time']).err, hint);
    assert.doesNotMatch(sluice(['run', 'missing.gguf', 'Once']).err, /prompt/);
    assert.doesNotMatch(sluice(['inspect', 'missing.gguf']).err, /prompt/);
  });
  it('one whose name could write to the terminal', () => {
    for (const args of [
      ['run', '\u001b[31m\n.gguf'],
      ['run', '-f', '\u001b[31m\n.txt'],
    ]) {
      const { status, err } = sluice(args);
      assert.equal(status, 3);
      assert.match(err, /^sluice: error: can't open .*\?\[31m\?\..*No such file[^\n]*\n$/);
    }
  });
  it('a directory', () => refused(dirname(bundled), 'bad_file', /directory/));
  it('an empty file', () => refused(temporary('empty.gguf', ''), 'bad_file', /empty/));
  it('a page of HTML', () =>
    refused(temporary('page.gguf', '<!doctype html><p>404</p>'), 'bad_file', /./));
  it('a file cut short', () => {
    const cut = temporary('cut.gguf', readFileSync(bundled).subarray(0, 1_000_000));
    refused(cut, 'bad_file', /\d/);
  });
  it(
    'one that may not be read',
    { skip: process.getuid?.() === 0 && 'root may read everything' },
    () => {
      const path = temporary('secret.gguf', 'GGUF');
      chmodSync(path, 0);
      refused(path, 'bad_file', /[Pp]ermission/);
    },
  );
  it('a device', { skip: process.platform !== 'linux' && 'needs /dev/zero' }, () =>
    refused('/dev/zero', 'bad_file', /./),
  );
  it('a named pipe, without waiting for someone who writes', () => {
    const path = temporary('pipe.gguf');
    assert.equal(shell(`mkfifo ${path}`).status, 0);
    refused(path, 'bad_file', /no regular file/);
  });
  it('a prompt that is not there, or a directory', () => {
    for (const command of ['run', 'tokenize']) {
      for (const path of [temporary('missing.txt'), dirname(bundled)]) {
        const { status, err } = sluice([command, '-f', path]);
        assert.equal(status, 3);
        assert.match(err, /prompt/);
      }
    }
  });
});

describe('weights that can not be computed with', () => {
  // The error for an unknown table lists the tables of this machine.
  const { err } = sluice(['run', '-n', '1'], { env: { SLUICE_KERNELS: 'none' } });
  const tables = /those that do are ([\w, ]+)/.exec(err)[1].split(', ');
  const commands = [['run', '-n', '5'], ['run', '-n', '5', '-p', 'a', '-t', '1'], ['bench']];
  const all = [...commands, ['logits', '-p', 'One day'], ['logits', '-p', 'One', '--batch', '1']];

  // Every command and every table refuse the file with the same message, and print no text before.
  const expect_refusal = (path, reason) => {
    const heard = new Set();
    for (const [command, ...more] of all) {
      for (const SLUICE_KERNELS of tables) {
        const options = { env: { SLUICE_KERNELS } };
        const { status, out } = sluice([command, path, ...more, '--json'], options);
        assert.equal(status, 3, `${command} with ${SLUICE_KERNELS}`);
        const [event, ...rest] = events(out);
        assert.equal(event.event, 'error');
        assert.equal(event.code, 'bad_file');
        assert.deepEqual(rest, []);
        heard.add(event.message);
      }
    }
    assert.equal(heard.size, 1);
    assert.match([...heard][0], reason);
    assert.ok([...heard][0].startsWith(`${path}: `));
    const { status, out } = sluice(['run', path, '-n', '5']);
    assert.equal(status, 3);
    assert.equal(out, '');
  };
  it('a scale that is NaN: every table refuses the file by tensor and row', () => {
    assert.ok(tables.length >= 2 && tables.includes('generic'));
    const nan = damaged('nan.gguf', 'blk.2.ffn_up.weight', 17 * 6 * 34, Buffer.from([0, 0x7e]));
    expect_refusal(nan, /tensor blk\.2\.ffn_up\.weight has a scale .* in row 17 \(of 512/);
  });
  it('finite numbers that overflow: every table ends with the same words', () => {
    const largest = Buffer.alloc(4);
    largest.writeFloatLE(3.4e38);
    const norm = damaged('large.gguf', 'output_norm.weight', 4 * 100, largest);
    expect_refusal(norm, /overflow in the head/);
  });
});

describe('well-formed files that do not run here', () => {
  const engines = [['run', '-n', '1'], ['logits', '-p', 'a'], ['bench']];
  const file = temporary(
    'mamba.gguf',
    gguf({
      'general.architecture': kv.string('mamba'),
      'general.name': kv.string('M'),
      ...smallVocabulary(),
    }),
  );
  it('an architecture that is not computed is refused by name', () =>
    refused(file, 'unsupported_model', /mamba/, engines));
  it('inspect shows it with the reason', () => {
    const { status, out } = sluice(['inspect', file]);
    assert.equal(status, 0);
    assert.match(out, /unsupported_model/);
    assert.match(out, /mamba/);
    const info = JSON.parse(sluice(['inspect', file, '--json']).out);
    assert.equal(info.supported, false);
    assert.equal(info.error.code, 'unsupported_model');
    assert.equal(info.memory, null);
    assert.equal(info.tokenizer.tokens, 264);
  });
  it('tokenize uses its vocabulary', () => {
    const { status, out } = sluice(['tokenize', file, '-p', 'hi', '--json']);
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(out), { ids: [263], pieces: [' hi'] });
    assert.equal(sluice(['tokenize', file, '-p', 'hi', '--bos']).out, '1 263\n');
  });
});

describe('the bundled model', () => {
  it('is found beside an installed program', () => {
    const at = temporary('prefix');
    mkdirSync(join(at, 'bin'), { recursive: true });
    mkdirSync(join(at, 'share', 'sluice'), { recursive: true });
    copyFileSync(program, join(at, 'bin', 'sluice'));
    const env = 'env -u SLUICE_MODEL_DIR';
    const without = shell(`${env} ${join(at, 'bin', 'sluice')} run -n 1`);
    assert.equal(without.status, 3);
    for (const place of ['share/sluice/stories-q8_0.gguf', 'public/models', 'SLUICE_MODEL_DIR']) {
      assert.ok(without.err.includes(place), place);
    }
    symlinkSync(bundled, join(at, 'share', 'sluice', 'stories-q8_0.gguf'));
    assert.equal(shell(`${env} ${join(at, 'bin', 'sluice')} run -n 1`).status, 0);
  });
});
