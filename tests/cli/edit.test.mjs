// sluice edit: files with other metadata, also in place, and whatever ends the program.
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bundled,
  events,
  gguf,
  kv,
  shell,
  sluice,
  smallVocabulary,
  start,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';
import { entries, fresh_cache, hub, model, run } from './pull-helpers.mjs';

const inspect = (file) => JSON.parse(sluice(['inspect', file, '--json']).out);
const metadata = (file) => inspect(file).metadata;
const copy = (name) => {
  const file = temporary(name);
  copyFileSync(bundled, file);
  return file;
};
const edit = (...args) => {
  const done = sluice(['edit', ...args]);
  assert.equal(done.status, 0, done.err);
  return done;
};
const refused = (args, reason, code = 'invalid_argument') => {
  const { status, out, err } = sluice(['edit', ...args, '--json']);
  const [event] = events(out);
  assert.equal(event?.code, code, err);
  assert.equal(status, code === 'bad_file' ? 3 : code === 'busy' ? 1 : 2, err);
  assert.match(event.message, reason);
};
/** The tensors' data, and their names, types and shapes. */
const content = (file) => {
  const { tensors, dataOffset } = inspect(file);
  return { tensors, data: readFileSync(file).subarray(dataOffset) };
};
const text = (args) => sluice(['run', ...args, '-n', '8', '-q', '--temp', '0']).out;

describe('sluice edit', () => {
  it('writes a file with other metadata and the same data', () => {
    const out = temporary('out.gguf');
    const { out: told, err } = edit(
      bundled,
      out,
      ...['--set', 'general.name=My model', '--set', 'my.list=[1,2]', '--set', 'my.n=u64:7'],
      ...['--remove', 'general.license'],
    );
    assert.match(told, /^general\.name: "Sluice Stories" -> "My model"$/m);
    assert.match(told, /^general\.license: removed, was "apache-2\.0"$/m);
    assert.match(told, /^my\.list: new, 2 x i32 \[1, 2\]$/m);
    assert.match(err, /out\.gguf is written\n$/);
    const found = metadata(out);
    assert.equal(found['general.name'], 'My model');
    assert.equal(found['general.license'], undefined);
    assert.deepEqual(found['my.list'], { array: 'i32', count: 2, first: [1, 2] });
    assert.equal(found['my.n'], 7);
    assert.deepEqual(content(out), content(bundled));
    assert.equal(text([out]), text([bundled]));
  });
  it('says if nothing differs', () => {
    const out = temporary('same.gguf');
    const { out: told, err } = edit(bundled, out, '--set', 'general.name=Sluice Stories');
    assert.equal(told, '');
    assert.match(err, /same\.gguf is written; nothing differs\n$/);
  });
  it('tells its changes as JSON', () => {
    const out = temporary('json.gguf');
    const told = JSON.parse(edit(bundled, out, '--set', 'general.name=A', '--json').out);
    assert.deepEqual(told, {
      file: out,
      changes: [{ key: 'general.name', before: 'Sluice Stories', after: 'A' }],
    });
  });
  it('may write over the file itself, and through a link', () => {
    const file = copy('over.gguf');
    const link = temporary('link.gguf');
    symlinkSync(file, link);
    edit(link, link, '--set', `general.description=${'long '.repeat(1000)}`);
    assert.equal(metadata(file)['general.description'].length, 5000);
    assert.deepEqual(content(file), content(bundled));
  });
  it('keeps the permissions of the file that it replaces', () => {
    const file = copy('private.gguf');
    chmodSync(file, 0o600);
    edit(file, file, '--set', 'general.name=A');
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });
  it('gives a chat template', () => {
    const out = temporary('template.gguf');
    const file = temporary('chat.jinja', '{{ messages[0].content }}!');
    edit(bundled, out, '--template', file);
    refused([bundled, file, '--template', file], /is the file that is read/);
    assert.equal(readFileSync(file, 'utf8'), '{{ messages[0].content }}!');
    const messages = temporary('messages.json', '[{"role":"user","content":"Hi"}]');
    assert.equal(sluice(['template', out, '-f', messages]).out, 'Hi!');
    const broken = temporary('broken.jinja', '{% if');
    refused([bundled, out, '--template', broken], /line 1 of the template/);
    refused([bundled, out, '--set', 'tokenizer.chat_template={% if'], /can't be parsed.*--force/);
    assert.match(edit(bundled, out, '--template', broken, '--force').err, /warning: .*parsed/);
    refused(
      [bundled, out, '--template', temporary('none.jinja')],
      /^can't open the chat template .*No such file.*; --template takes/,
      'bad_file',
    );
  });
  it('refuses what it can not do, and leaves the files alone', () => {
    const out = temporary('refused.gguf');
    const before = readFileSync(bundled);
    const set = (value, reason) => refused([bundled, out, '--set', value], reason);
    set('llama.block_count=-1', /expected a whole number from 0 to 4294967295, found '-1'/);
    set('llama.block_count=6', /by this edit .*wouldn't run here any more: .* needs \(--force/);
    set('general.alignment=64', /how the file is laid out/);
    set('split.count=u16:2', /how the file is laid out/);
    set('no.type=7', /is new, so its value needs a type, as in no\.type=u32:7;/);
    set('general.name', /expected KEY=VALUE/);
    set('=7', /expected KEY=VALUE/);
    set('a\u001b[31m=7', /^a\?\[31m is new/);
    set('tokenizer.ggml.tokens=["a"]', /wouldn't run/);
    set(`${'k'.repeat(65536)}=u8:1`, /has 65536 bytes; a file can have keys of up to 65535$/);
    refused(
      [bundled, out, '--remove', 'general.nmae'],
      /did you mean general\.name\?/,
      'not_found',
    );
    refused([bundled, out, '--remove', 'general.architecture'], /wouldn't run/);
    refused([bundled, out], /nothing is to be changed/);
    refused([], /no file is named/);
    refused([bundled, '--set', 'general.name=A'], /give OUT, or --in-place/);
    refused([bundled, out, '--in-place', '--set', 'general.name=A'], /exclude each other/);
    refused([bundled, temporaryDirectory(), '--set', 'general.name=A'], /it is a folder/);
    refused([temporary('no.gguf'), out, '--set', 'general.name=A'], /No such file/, 'bad_file');
    refused([temporary('x.gguf', 'GGUF'), out, '--set', 'a=u8:1'], /x\.gguf/, 'bad_file');
    assert.ok(!existsSync(out));
    assert.ok(readFileSync(bundled).equals(before));
  });
  it('with --force does what makes a model useless, also by another architecture', () => {
    const out = temporary('forced.gguf');
    edit(bundled, out, '--set', 'llama.block_count=6', '--force');
    assert.equal(inspect(out).supported, false);
    edit(out, out, '--set', 'llama.block_count=5');
    assert.equal(text([out]), text([bundled]));
    refused([bundled, out, '--set', 'general.architecture=other'], /wouldn't run.*other.*--force/);
    const { err } = edit(bundled, out, '--set', 'general.architecture=other', '--force');
    assert.match(err, /warning: by this edit the model wouldn't run here any more: .*other/);
    assert.equal(inspect(out).architecture, 'other');
  });
  it('refuses a token that the vocabulary does not have', () => {
    const out = temporary('token.gguf');
    const set = ['--set', 'tokenizer.ggml.eos_token_id=99999'];
    refused([bundled, out, ...set], /lose a token: .*eos_token_id is 99999.*--force/);
    const { err } = edit(bundled, out, ...set, '--force');
    assert.match(err, /warning: the model would lose a token/);
    // What the file had before is no matter of this edit.
    edit(out, out, '--set', 'general.name=A');
  });
  it('proposes the type that a value looks like, and a key that may be meant', () => {
    const out = temporary('proposed.gguf');
    for (const [value, typed] of [
      ['-7', 'i32'],
      ['5000000000', 'u64'],
      ['0.5', 'f32'],
      ['true', 'bool'],
      ['a text', 'str'],
    ])
      refused([bundled, out, '--set', `my.key=${value}`], new RegExp(`as in my\\.key=${typed}:`));
    refused([bundled, out, '--set', 'general.nmae=A'], /did you mean general\.name\?/);
    refused([bundled, out, '--set', 'general.sampling.topk=4'], /did you mean general\.sampling/);
  });
  it('takes the model by -m, and --chat-template for --template', () => {
    const out = temporary('by-m.gguf');
    const file = temporary('by-m.jinja', 'A');
    edit('-m', bundled, out, '--chat-template', file);
    assert.equal(metadata(out)['tokenizer.chat_template'], 'A');
    refused(['-m', bundled, out, out, '--set', 'a=u8:1'], /one argument too many/);
    const none = sluice(['edit', bundled, out, '--template', 'none.jinja']);
    assert.match(none.err, /error: can't open the chat template none\.jinja/);
  });
  it('shows where long texts differ, and keys whole', () => {
    const out = temporary('long.gguf');
    const key = `${'long.'.repeat(8)}key`;
    edit(bundled, out, '--set', `${key}=str:${'x'.repeat(300)}old`);
    const told = edit(out, out, '--set', `${key}=str:${'x'.repeat(300)}new`).out;
    assert.ok(told.startsWith(`${key}: `), told);
    assert.match(told, /\.\.\."x{12}old" -> \.\.\."x{12}new"/);
  });
  it('edits files of no model, and shows odd keys safely', () => {
    const file = temporary('odd.gguf', gguf({ 'k\u001b[31m\u202e': kv.string('v\u001b[2J') }));
    const { out } = edit(file, file, '--remove', 'k\u001b[31m\u202e', '--set', 'n=i8:-128');
    assert.ok(!out.includes('\u001b') && !out.includes('\u202e'), out);
    assert.deepEqual(metadata(file), { n: -128 });
    edit(file, '--in-place', '--set', `s=str:${'x'.repeat(500)}`);
    assert.equal(metadata(file).s.length, 500);
  });
});

describe('sluice edit --in-place', () => {
  it('writes only the header, and fills its place', () => {
    const file = copy('place.gguf');
    const { dataOffset } = inspect(file);
    edit(file, '--in-place', '--set', 'general.name=Short', '--remove', 'general.license');
    assert.equal(inspect(file).dataOffset, dataOffset);
    assert.match(metadata(file)['edit.padding'], /^ *$/);
    assert.deepEqual(content(file), content(bundled));
    assert.equal(text([file]), text([bundled]));
    // The padding is room for the next edit.
    edit(
      file,
      '--in-place',
      '--set',
      'general.name=Sluice Stories',
      '--set',
      'general.license=MIT',
    );
    assert.equal(inspect(file).dataOffset, dataOffset);
    const before = readFileSync(file);
    refused(
      [file, '--in-place', '--set', `general.name=${'x'.repeat(200)}`],
      /doesn't fit in the place of the old one: \d+ bytes are missing.*give OUT/,
    );
    assert.ok(readFileSync(file).equals(before));
    const again = edit(file, '--in-place', '--set', 'general.license=MIT');
    assert.equal(again.out, '');
    assert.match(again.err, /says that already/);
    assert.ok(readFileSync(file).equals(before));
    assert.ok(!existsSync(`${file}.edit`));
  });

  const OLD = 'Sluice Stories';
  const NEW = 'Another';
  /** The two headers, and the file that keeps both. */
  const rewrite = () => {
    const file = copy('headers.gguf');
    const { dataOffset } = inspect(file);
    const before = readFileSync(file).subarray(0, dataOffset);
    edit(file, '--in-place', '--set', `general.name=${NEW}`);
    const after = readFileSync(file).subarray(0, dataOffset);
    const numbers = Buffer.alloc(16);
    numbers.writeBigUInt64LE(BigInt(readFileSync(file).length), 0);
    numbers.writeBigUInt64LE(BigInt(dataOffset), 8);
    const journal = Buffer.concat([Buffer.from('sluice edit 1\n'), numbers, before, after]);
    return { before, after, journal };
  };
  /** The bundled model with this beginning. */
  const beginning = (name, header) => {
    const bytes = readFileSync(bundled);
    header.copy(bytes);
    return temporary(name, bytes);
  };

  it('broken off anywhere is finished by the next command', () => {
    const { before, after, journal } = rewrite();
    const whole = beginning('whole.gguf', after);
    const torn = [before, after];
    for (const at of [1, 100, 4096, before.length - 1])
      torn.push(
        Buffer.concat([after.subarray(0, at), before.subarray(at)]),
        Buffer.concat([before.subarray(0, at), after.subarray(at)]),
      );
    const commands = [
      (file) => ['inspect', file],
      (file) => ['tokenize', file, '-p', 'a'],
      (file) => ['diff', file, whole],
      (file) => ['edit', file, '--in-place', '--set', `general.name=${NEW}`],
    ];
    torn.forEach((header, i) => {
      const file = beginning('torn.gguf', header);
      writeFileSync(`${file}.edit`, journal);
      const { status, err } = sluice(commands[i % commands.length](file));
      assert.equal(status, 0, err);
      assert.equal(
        /an edit of it that was broken off is finished\n/.test(err),
        !header.equals(after),
      );
      assert.ok(readFileSync(file).equals(readFileSync(whole)));
      assert.ok(!existsSync(`${file}.edit`));
    });
  });
  it('leaves what belongs to another file alone', () => {
    const { before, journal } = rewrite();
    const other = Buffer.from(before);
    other.write('Z', other.indexOf(OLD));
    for (const [header, kept] of [
      [other, journal],
      [before, journal.subarray(0, journal.length - 1)],
      [before, Buffer.from('notes of mine')],
      [before, Buffer.concat([journal.subarray(0, 22), Buffer.alloc(8, 255)])],
    ]) {
      const file = beginning('other.gguf', header);
      writeFileSync(`${file}.edit`, kept);
      const old = readFileSync(file);
      assert.equal(sluice(['inspect', file]).status, 0);
      assert.ok(readFileSync(file).equals(old));
      assert.ok(readFileSync(`${file}.edit`).equals(kept));
    }
    const file = beginning('other.gguf', before);
    writeFileSync(`${file}.edit`, 'notes of mine');
    refused([file, '--in-place', '--set', 'general.name=A'], /is another file; rename that/);
    assert.equal(readFileSync(`${file}.edit`, 'utf8'), 'notes of mine');
    // Whoever may write in the folder may not change the file.
    if (process.getuid?.() === 0) {
      const mine = beginning('mine.gguf', before);
      writeFileSync(`${mine}.edit`, journal);
      chownSync(`${mine}.edit`, 65534, 65534);
      assert.equal(metadata(mine)['general.name'], OLD);
      assert.ok(existsSync(`${mine}.edit`));
    }
    // A rest of an edit of a file that is gone is no hindrance.
    const replaced = beginning('replaced.gguf', other);
    writeFileSync(`${replaced}.edit`, journal);
    edit(replaced, '--in-place', '--set', 'general.name=A');
    assert.equal(metadata(replaced)['general.name'], 'A');
    assert.ok(!existsSync(`${replaced}.edit`));
  });
  const has_flock = shell('flock --version').status === 0;
  it('waits for nobody', { skip: !has_flock && "needs util-linux's flock" }, () => {
    const { before, journal } = rewrite();
    const file = beginning('locked.gguf', before);
    const locked = (args) => shell(`flock ${file} "$SLUICE" ${args} --json`);
    const change = `edit ${file} --in-place --set general.name=A`;
    const expect_busy = ({ status, out }) => {
      assert.equal(status, 1, out);
      assert.equal(events(out)[0].code, 'busy');
      assert.match(events(out)[0].message, /another program is editing it; try again/);
    };
    expect_busy(locked(change));
    assert.equal(locked(`inspect ${file}`).status, 0);
    // What is being written isn't read.
    writeFileSync(`${file}.edit`, journal);
    for (const args of [change, `inspect ${file}`, `diff ${bundled} ${file}`])
      expect_busy(locked(args));
    assert.ok(readFileSync(file).subarray(0, before.length).equals(before));
  });
  const root_user = process.getuid?.() === 0 && 'root may write everything';
  it('is told where it can not be finished', { skip: root_user }, () => {
    const { before, after, journal } = rewrite();
    const dir = temporaryDirectory();
    const half = Buffer.concat([after.subarray(0, 4096), before.subarray(4096)]);
    const file = beginning(join(dir, 'm.gguf'), half);
    writeFileSync(`${file}.edit`, journal);
    chmodSync(file, 0o444);
    const { status, err } = sluice(['inspect', file]);
    assert.equal(status, 3);
    assert.match(err, /an edit of it was broken off, and can't be finished here/);
  });
  // Root without its capabilities is stopped by a file's permissions, too.
  const bound = process.getuid?.() === 0 ? 'setpriv --bounding-set=-all --inh-caps=-all ' : '';
  const is_bound = shell(`${bound}true`).status === 0;
  it('has the status 1 without the permission', { skip: !is_bound && 'needs setpriv' }, () => {
    const file = join(temporaryDirectory(), 'm.gguf');
    copyFileSync(bundled, file);
    chmodSync(file, 0o444);
    const args = `edit ${file} --in-place --set general.name=A`;
    const { status, err } = shell(`${bound}"$SLUICE" ${args}`);
    assert.equal(status, 1, err);
    assert.match(err, /can't edit .*m\.gguf: Permission denied/);
    assert.ok(readFileSync(file).equals(readFileSync(bundled)));
  });
  it('killed at any moment leaves the old or the new file', async () => {
    const dir = temporaryDirectory();
    const file = join(dir, 'm.gguf');
    copyFileSync(bundled, file);
    const data = content(bundled);
    const names = [OLD, NEW];
    let name = OLD;
    for (let i = 0; i < 12; ++i) {
      const next = names[1 - names.indexOf(name)];
      const { child, ended } = start(['edit', file, '--in-place', '--set', `general.name=${next}`]);
      // It is killed as soon as both headers are kept, or a little later, or before.
      const running = () => child.exitCode === null && child.signalCode === null;
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      while (running() && i % 6 !== 5 && !existsSync(`${file}.edit`)) await turn();
      for (let more = i % 6; running() && more > 0; --more) await turn();
      child.kill('SIGKILL');
      await ended;
      const found = metadata(file)['general.name'];
      assert.ok([name, next].includes(found), found);
      name = found;
      assert.ok(!existsSync(`${file}.edit`));
    }
    assert.deepEqual(content(file), data);
  });
});

describe('work on large files', () => {
  // A file of up to 16 GB, of which the disk has only the header. For a copy there must be room.
  const large = (dir) => {
    const file = join(dir, 'large.gguf');
    const { bavail, bsize } = statfsSync(dir);
    const size = 2 ** Math.min(34, Math.floor(Math.log2((bavail * bsize) / 2)));
    writeFileSync(file, gguf({}, [{ name: 't', type: 0, shape: [size / 4], bytes: 0 }]));
    truncateSync(file, size + 4096);
    return file;
  };
  const skip = process.platform !== 'linux' && 'needs /proc';
  it('is ended by Ctrl-C, and leaves nothing', { skip }, async () => {
    const dir = temporaryDirectory();
    const file = large(dir);
    for (const args of [
      ['edit', file, join(dir, 'out.gguf'), '--set', 'a=u8:1'],
      ['diff', file, file],
      ['inspect', file, '--tensor', 't'],
    ]) {
      const { child, ended } = start(args);
      const opened = () => {
        const fds = `/proc/${child.pid}/fd`;
        try {
          return readdirSync(fds).some((fd) => readlinkSync(join(fds, fd)) === file);
        } catch {
          return false; // a descriptor that was closed meanwhile
        }
      };
      while (child.exitCode === null && !opened())
        await new Promise((resolve) => setImmediate(resolve));
      child.kill('SIGINT');
      const { status, out } = await ended;
      assert.equal(status, 130, args[0]);
      assert.equal(out, '');
      assert.deepEqual(readdirSync(dir), ['large.gguf']);
    }
  });
});

describe('a model of the cache', () => {
  it('is read by its address, and not edited in place', async () => {
    const env = fresh_cache();
    const file = hub.add('m.gguf', model);
    const out = temporary('of-cache.gguf');
    const made = await run(['edit', file.url, out, '--set', 'general.name=Mine'], env);
    assert.equal(made.status, 0, made.err);
    assert.deepEqual(content(out), content(bundled));
    const { requests } = file.counts;
    const same = await run(['diff', file.url, bundled], env);
    assert.equal(same.status, 0, same.err);
    const shown = await run(['inspect', file.url, '--tensor', 'output_norm.weight'], env);
    assert.match(shown.out, /^output_norm\.weight: F32, 192/);
    const [{ path }] = entries(env);
    for (const name of [file.url, path]) {
      const { status, err } = await run(['edit', name, '--in-place', '--set', 'a=u8:1'], env);
      assert.equal(status, 2);
      assert.match(err, /is a model of the cache.*give OUT instead of --in-place/);
    }
    assert.equal(file.counts.requests, requests);
  });
});

describe('sluice edit of a split model', () => {
  const N = 3;
  const paths = (dir) => [1, 2, 3].map((i) => join(dir, `m-0000${i}-of-0000${N}.gguf`));
  const make = () => {
    const files = paths(temporaryDirectory());
    files.forEach((file, i) => {
      const own = i === 0 ? { 'general.name': kv.string('Old name') } : {};
      const split = {
        'split.no': kv.u32(i),
        'split.count': kv.u32(N),
        'split.tensors.count': kv.u32(N),
      };
      const bytes = gguf({ ...own, ...split }, [{ name: `t${i}`, type: 0, shape: [8], bytes: 32 }]);
      writeFileSync(file, bytes.fill(i + 1, bytes.length - 32));
    });
    return files;
  };
  const bytes = (files) => files.map((file) => readFileSync(file));
  it('changes the first file, and copies the others', () => {
    const files = make();
    const before = bytes(files);
    const to = paths(temporaryDirectory());
    edit(files[1], to[0], '--set', 'general.name=A longer name than the one before');
    assert.deepEqual(bytes(files), before);
    assert.deepEqual(bytes(to.slice(1)), before.slice(1));
    const { metadata: found, tensors } = inspect(to[2]);
    assert.equal(found['general.name'], 'A longer name than the one before');
    assert.equal(tensors.length, N);
    assert.equal(
      sluice(['diff', files[0], to[0], '--json']).out.match(/"tensorsEqual":(\d)/)[1],
      '3',
    );
    edit(to[2], to[0], '--set', 'general.name=Itself');
    assert.equal(metadata(to[1])['general.name'], 'Itself');
  });
  it('in place changes the first file alone', () => {
    const files = make();
    const before = bytes(files);
    edit(files[2], '--in-place', '--set', 'general.name=New name');
    assert.equal(metadata(files[0])['general.name'], 'New name');
    assert.deepEqual(bytes(files.slice(1)), before.slice(1));
  });
  it('takes no name that would not fit', () => {
    const files = make();
    const set = ['--set', 'general.name=A'];
    refused([files[0], temporary('one.gguf'), ...set], /ends with -00001-of-00003\.gguf/);
    refused([files[0], paths(temporaryDirectory())[1], ...set], /the name of the first/);
    refused([bundled, paths(temporaryDirectory())[0], ...set], /the model is one file/);
  });
});

describe('sluice edit of a vocabulary', () => {
  it('keeps what tokens mean', () => {
    const file = temporary(
      'words.gguf',
      gguf({ 'general.architecture': kv.string('mamba'), ...smallVocabulary() }),
    );
    const out = temporary('words-out.gguf');
    edit(file, out, '--set', 'tokenizer.ggml.bos_token_id=2');
    assert.equal(sluice(['tokenize', out, '-p', 'hi', '--bos']).out, '2 263\n');
    const frame = (path) => sluice(['tokenize', path, '-p', 'hi', '--bos', '--eos']).out;
    assert.equal(frame(out), '2 263\n', 'the file asks for no end');
    const ended = temporary('words-ended.gguf');
    edit(file, ended, '--set', 'tokenizer.ggml.add_eos_token=true');
    assert.equal(frame(ended), '1 263 2\n');
  });
});
