// Where commands that write models may put them: convert, quantize, edit, imatrix.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bundled, events, sluice, temporary, temporaryDirectory } from './helpers.mjs';
import { tiny_folder } from './tiny-folder.mjs';

const folder = join(temporaryDirectory(), 'tiny');
mkdirSync(folder);
for (const [name, bytes] of Object.entries(tiny_folder())) writeFileSync(join(folder, name), bytes);
const text = temporary('text.txt', 'Once upon a time there was a dog. '.repeat(20));

const commands = {
  convert: (out) => ['convert', folder, out],
  quantize: (out) => ['quantize', bundled, out, '--type', 'Q8_0', '--allow-requantize'],
  edit: (out) => ['edit', bundled, out, '--set', 'general.name=A'],
  imatrix: (out) => ['imatrix', bundled, '-f', text, out, '-c', '16', '--chunks', '1'],
};

for (const [name, args] of Object.entries(commands)) {
  describe(`the output of sluice ${name}`, () => {
    const refused = (out, status, reason) => {
      const done = sluice([...args(out), '--json']);
      assert.equal(done.status, status, done.err);
      const [event] = events(done.out);
      assert.equal(event.code, 'invalid_argument');
      assert.match(event.message, reason);
      return event;
    };
    it('replaces a file only if it is GGUF or empty', () => {
      const out = join(temporaryDirectory(), 'victim.txt');
      for (const kept of ['my notes', 'GGU', 'gguf']) {
        writeFileSync(out, kept);
        refused(out, 2, /victim\.txt: a file of another kind is there.*another file or remove it/);
        assert.equal(readFileSync(out, 'utf8'), kept);
      }
      for (const replaced of ['', 'GGUF']) {
        writeFileSync(out, replaced);
        const { status, err } = sluice(args(out));
        assert.equal(status, 0, err);
        assert.ok(readFileSync(out).length > 1000);
      }
    });
    it('has a name, in a folder that is there', () => {
      const dir = temporaryDirectory();
      const file = join(dir, 'file');
      writeFileSync(file, '');
      const event = refused(join(dir, 'none', 'x.gguf'), 1, /the folder \S*none isn't there; make/);
      assert.equal(event.facts.directory, join(dir, 'none'));
      refused(join(file, 'x.gguf'), 1, /file is no folder/);
      // /proc is there, but takes no files.
      if (existsSync('/proc/self')) refused('/proc/x.gguf', 1, /no file can be made in \/proc: /);
      refused('', 2, /its name is empty|the path of a file|isn't said where to write/);
      refused('-', 2, /standard output can't take it; name a file/);
      refused(dir, 2, /it is a folder; name a file in it/);
      assert.deepEqual(readdirSync(dir), ['file']);
      assert.ok(!existsSync('-'));
    });
    it('may replace an older one, as the help says', () => {
      assert.match(
        sluice([name, '--help']).out,
        /older\s+GGUF\s+file\s+of\s+that\s+name\s+is\s+replaced/i,
      );
    });
  });
}
