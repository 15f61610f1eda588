// sluice quantize: what it writes, prints and refuses, and that no half file appears.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { bert } from './bert-folder.mjs';
import {
  bundled,
  gguf,
  kv,
  optional,
  shell,
  sluice,
  start,
  temporary,
  temporaryDirectory,
} from './helpers.mjs';
import { error_of, inspect, quantize, sha256 } from './quantize-helpers.mjs';

/** A model with a matrix of 256 rows of 256 values; `value` is the bytes of one of them. */
function small(name, value) {
  const file = gguf({ 'general.architecture': kv.string('llama') }, [
    { name: 'blk.0.attn_q.weight', type: 0, shape: [256, 256], bytes: 256 * 256 * 4 },
    { name: 'output_norm.weight', type: 0, shape: [256], bytes: 1024 },
  ]);
  if (value) value.copy(file, file.length - 1024 - 4000);
  return temporary(name, file);
}

describe('sluice quantize', () => {
  it('names a command that fits what the model makes', () => {
    for (const [head, command] of [
      [true, 'fill-mask'],
      [false, 'embed'],
    ]) {
      const { status, out, err, out_path } = quantize(bert({ head }), '--type', 'Q8_0');
      assert.equal(status, 0, err);
      assert.ok(out.endsWith(`; try: sluice ${command} ${out_path} -p TEXT\n`), out);
    }
  });
  it('writes a model that runs, and prints its types', () => {
    const { status, out, err, out_path, files } = quantize(
      bundled,
      '--type',
      'q4_0',
      '--allow-requantize',
    );
    assert.equal(status, 0, err);
    assert.deepEqual(files, ['out.gguf']);
    assert.match(out, /as Q4_0: [\d.]+ MB -> [\d.]+ MB, [\d.]+ -> [\d.]+ bits a weight/);
    assert.match(out, /^ {2}ffn_down\.weight +5 {2}Q8_0 +-> Q4_0 +[\d.]+ kB +[\d.]+ kB$/m);
    const [end] = out.trim().split('\n').slice(-1);
    const figures = String.raw`[\d.]+ MB, Q4_0, [\d.]+ bits a weight`;
    assert.match(end, new RegExp(`^wrote ${out_path}: ${figures}; try: sluice run ${out_path}$`));
    for (const line of out.split('\n').slice(1)) assert.ok(line === end || line.length <= 80, line);
    const dry = sluice(['quantize', bundled, '--type', 'q4_0', '--dry-run']).out;
    assert.match(dry, new RegExp(`^would write ${figures}; nothing is written$`, 'm'));
    assert.equal(sluice(['run', out_path, '-p', 'Once', '-n', '2']).status, 0);
    assert.ok(fs.statSync(out_path).size < fs.statSync(bundled).size);
    const { metadata } = inspect(out_path);
    assert.equal(metadata['general.file_type'], 2);
  });
  it('writes files whose names are as long as names may be, and refuses longer ones at once', () => {
    const model = small('small.gguf');
    const folder = temporaryDirectory();
    const longest = 'n'.repeat(255);
    const write = (name) =>
      sluice(['quantize', model, path.join(folder, name), '--type', 'Q8_0', '--json']);
    for (const time of ['new', 'replaced']) assert.equal(write(longest).status, 0, time);
    assert.deepEqual(fs.readdirSync(folder), [longest]);
    const longer = write(`${longest}n`);
    assert.match(error_of(longer).message, /^can't write .*File name too long$/);
    assert.equal(longer.status, 1);
    const dash = sluice(['quantize', model, '-', '--type', 'Q8_0'], { cwd: folder });
    assert.match(dash.err, /can't write -: standard output can't take it; name a file/);
    assert.deepEqual(fs.readdirSync(folder), [longest]);
  });
  it('--json and --dry-run tell the same, and a dry run writes nothing', () => {
    const model = small('small.gguf');
    const real = quantize(model, '--type', 'Q4_K_M', '--json', '-t', '1');
    assert.equal(real.status, 0, real.err);
    const told = JSON.parse(real.out);
    assert.deepEqual(Object.keys(told), [
      'file',
      'type',
      'fileType',
      'bytesBefore',
      'bytesAfter',
      'tensors',
    ]);
    assert.equal(told.file, real.out_path);
    assert.equal(told.type, 'Q4_K_M');
    assert.equal(told.fileType, 15);
    assert.equal(told.bytesBefore, fs.statSync(model).size);
    assert.equal(told.bytesAfter, fs.statSync(real.out_path).size);
    assert.deepEqual(told.tensors, [
      { name: 'output_norm.weight', from: 'F32', to: 'F32', bytes: 1024 },
      { name: 'blk.0.attn_q.weight', from: 'F32', to: 'Q4_K', bytes: 256 * 144 },
    ]);
    const folder = temporaryDirectory();
    const args = ['quantize', model, '--type', 'Q4_K_M', '--json', '--dry-run'];
    const dry = sluice([...args, '--imatrix', ''], { cwd: folder });
    assert.equal(dry.status, 0, dry.err);
    delete told.file;
    assert.deepEqual(JSON.parse(dry.out), told);
    assert.deepEqual(fs.readdirSync(folder), []);
  });
  it('plans what it can not write', () => {
    const model = small('small.gguf');
    const dry = sluice(['quantize', model, '--type', 'IQ2_XS', '--dry-run']);
    assert.equal(dry.status, 0);
    assert.match(dry.out, /F32 +-> IQ2_XS/);
    assert.match(dry.err, /can be planned but not done: .*IQ2_XS/);
    const real = quantize(model, '--type', 'IQ2_XS', '--json');
    assert.equal(real.status, 3);
    assert.equal(error_of(real).code, 'unsupported_type');
    assert.equal(error_of(real).facts.tensor, 'blk.0.attn_q.weight');
    assert.deepEqual(real.files, []);
  });
  it('takes patterns of names, a pure type, and leaves the output', () => {
    const model = temporary(
      'layers.gguf',
      gguf(
        { 'general.architecture': kv.string('llama'), 'llama.block_count': kv.u32(2) },
        ['output', 'token_embd', 'blk.0.attn_v', 'blk.1.attn_v'].map((name) => ({
          name: `${name}.weight`,
          type: 0,
          shape: [256, 2],
          bytes: 2048,
        })),
      ),
    );
    const types = (...args) => {
      const done = sluice(['quantize', model, '--dry-run', '--json', ...args]);
      assert.equal(done.status, 0, done.err);
      return JSON.parse(done.out)
        .tensors.map(({ to }) => to)
        .join(' ');
    };
    assert.equal(types('--type', 'Q3_K_L'), 'Q6_K Q3_K Q5_K Q5_K');
    assert.equal(types('--type', 'Q3_K_L', '--pure'), 'Q3_K Q3_K Q3_K Q3_K');
    assert.equal(types('--type', 'Q3_K_L', '--leave-output-tensor'), 'F32 Q3_K Q5_K Q5_K');
    assert.equal(
      types('--type', 'Q3_K_L', '--tensor-type', '^blk.1=q8_0', '--tensor-type', 'blk|emb=F16'),
      'Q6_K F16 F16 Q8_0',
    );
  });
  it('marks what got a larger type, and says why', () => {
    const tensor = (layer, columns) => ({
      name: `blk.${layer}.ffn_up.weight`,
      type: 0,
      shape: [columns, 2],
      bytes: columns * 8,
    });
    const file = gguf({ 'general.architecture': kv.string('llama') }, [
      tensor(0, 640),
      tensor(1, 640),
      tensor(2, 512),
    ]);
    const plan = (type, ...more) =>
      sluice([
        'quantize',
        temporary('rows.gguf', file),
        '--type',
        type,
        '--pure',
        '--dry-run',
        ...more,
      ]);
    const { out } = plan('IQ4_XS');
    assert.match(out, /^ {2}\* rows of 640 are no multiple of 256: 2 tensors got a larger type$/m);
    assert.match(out, /^ {6}in layers 0, 1$/m);
    assert.match(out, /^ {6}in layer 2$/m);
    // A marked type shifts no column.
    const ends = out.split('\n').filter((line) => line.includes('->') && line.includes('F32'));
    assert.equal(ends.length, 2);
    assert.equal(ends[0].length, ends[1].length);
    const { tensors } = JSON.parse(plan('IQ4_XS', '--json').out);
    assert.deepEqual(
      tensors.map(({ to, insteadOf }) => [to, insteadOf]),
      [
        ['IQ4_NL', 'IQ4_XS'],
        ['IQ4_NL', 'IQ4_XS'],
        ['IQ4_XS', undefined],
      ],
    );
    assert.match(plan('Q4_K').out, /rows\.gguf as Q4_K for all: /);
  });
  it('says what does not run here, and what changes nothing', () => {
    const model = small('small.gguf');
    for (const [type, name] of [
      ['TQ1_0', 'TQ1_0'],
      ['TQ2_0', 'TQ2_0'],
      ['Q1_0', 'Q1_0'],
      ['Q2_0', 'Q2_0'],
    ]) {
      const { status, out, err } = quantize(model, '--type', type);
      assert.equal(status, 0, err);
      assert.match(err, new RegExp(`doesn't run files with ${name} yet; other programs do`));
      assert.doesNotMatch(out, /try: sluice run/);
    }
    assert.equal(quantize(model, '--type', 'Q4_K_M').err, '');
    assert.match(quantize(model, '--type', 'F32').err, /no tensor changes its type/);
    const matrix = temporary('i.gguf', gguf({ 'general.type': kv.string('imatrix') }));
    for (const more of [[], ['--dry-run']]) {
      const { status, err } = quantize(matrix, '--type', 'Q8_0', ...more);
      assert.equal(status, 2);
      assert.match(err, /it is an importance matrix and no model/);
    }
  });
  it('takes MODEL behind -m and OUT behind -o', () => {
    const model = small('small.gguf');
    const folder = temporaryDirectory();
    const written = (...args) => {
      const { status, err } = sluice(['quantize', ...args, '--type', 'Q8_0'], { cwd: folder });
      assert.equal(status, 0, err);
      const [name] = fs.readdirSync(folder);
      fs.rmSync(path.join(folder, name));
      return name;
    };
    assert.equal(written('-m', model, 'a.gguf'), 'a.gguf');
    assert.equal(written(model, '-o', 'b.gguf'), 'b.gguf');
    assert.equal(written('-m', model, '--output', 'c.gguf'), 'c.gguf');
    const twice = sluice(['quantize', model, 'a', '-o', 'b', '--type', 'Q8_0']);
    assert.equal(twice.status, 2);
    assert.match(twice.err, /the new file is named twice, a and b/);
    assert.match(sluice(['quantize', '--help']).out, /^usage: sluice quantize MODEL OUT \[-m/m);
  });
  it('refuses rules for tensors without effect', () => {
    const model = small('small.gguf');
    const rule = (type, text) => {
      const { status, err } = quantize(model, '--type', type, '--tensor-type', text);
      assert.equal(status, 2);
      return err;
    };
    assert.match(rule('Q4_K', 'atn_q=Q8_0'), /the pattern 'atn_q' fits no tensor/);
    assert.match(
      rule('Q4_K', 'norm=Q8_0'),
      /'norm' fits only tensors that stay as they are, such as output_norm\.weight/,
    );
    assert.match(rule('BF16', 'attn_q=Q8_0'), /with BF16 all tensors get that type/);
  });
  it('tells what to write in place of what llama-quantize takes', () => {
    const model = small('small.gguf');
    const told = (...args) => {
      const { status, err } = sluice(['quantize', model, ...args], { cwd: temporaryDirectory() });
      assert.equal(status, 2);
      return err;
    };
    assert.match(told('out.gguf', 'Q4_K_M'), /one argument too many; write --type Q4_K_M/);
    assert.match(told('q4_k_m'), /'q4_k_m' is a type: write --type q4_k_m/);
    assert.match(told('out.gguf', 'COPY'), /COPY is no type: cp copies a file/);
    for (const [type, meant] of [
      ['Q4_KM', 'Q4_K_M'],
      ['q4', 'Q4_K_M'],
      ['int4', 'Q4_K_M'],
      ['int8', 'Q8_0'],
      ['fp16', 'F16'],
    ])
      assert.match(told('o', '--type', type), new RegExp(`did you mean ${meant}\\?`));
    // Only what can be written is listed.
    assert.doesNotMatch(told('o', '--type', 'Q9'), /IQ2_XS/);
    assert.match(
      told('o', '--type', 'Q4_K', '--output-tensor-type', 'Q8_0'),
      /write --tensor-type '\^output\.weight=TYPE'/,
    );
    assert.match(
      told('o', '--type', 'Q4_K', '--token-embedding-type', 'Q8_0'),
      /write --tensor-type '\^token_embd=TYPE'/,
    );
  });
  it('refuses wrong arguments', () => {
    const model = small('small.gguf');
    const wrong = (text, ...args) => {
      const { status, err, files } = quantize(model, ...args);
      assert.equal(status, 2, err);
      assert.match(err, text);
      assert.deepEqual(files, []);
    };
    wrong(/no type; give one with --type: F32, F16/);
    wrong(/'Q9' is no type; expected F32/, '--type', 'Q9');
    wrong(/--tensor-type: expected PATTERN=TYPE/, '--type', 'Q8_0', '--tensor-type', 'x');
    wrong(
      /the pattern '\(' is wrong at byte 2: a \) is missing/,
      '--type',
      'Q8_0',
      '--tensor-type',
      '(=Q8_0',
    );
    wrong(/'q9' is no type for tensors/, '--type', 'Q8_0', '--tensor-type', 'x=q9');
    wrong(
      /'Q8_0,attn_k=Q8_0' is no type .* give the option several times/,
      ...['--type', 'Q8_0', '--tensor-type', 'attn_q=Q8_0,attn_k=Q8_0'],
    );
    wrong(/Q2_K_S is of no use without an importance matrix/, '--type', 'Q2_K_S');
    assert.match(sluice(['quantize', model, '--type', 'Q8_0']).err, /no output; name the new file/);
    assert.match(sluice(['quantize', '--type', 'Q8_0']).err, /no model to quantize/);
    const again = quantize(bundled, '--type', 'F16', '--json');
    assert.equal(again.status, 2);
    assert.match(again.err, /is quantized already, as Q8_0.*--allow-requantize/);
    assert.deepEqual(again.files, []);
  });
  it('refuses to write over the file that it reads', () => {
    const folder = temporaryDirectory();
    const model = path.join(folder, 'model.gguf');
    fs.copyFileSync(small('small.gguf'), model);
    fs.symlinkSync('model.gguf', path.join(folder, 'link.gguf'));
    fs.linkSync(model, path.join(folder, 'hard.gguf'));
    const before = sha256(model);
    for (const name of ['model.gguf', 'link.gguf', 'hard.gguf']) {
      const done = sluice(['quantize', model, path.join(folder, name), '--type', 'F16']);
      assert.equal(done.status, 2, done.err);
      assert.match(done.err, /is the file that is read/);
    }
    assert.equal(sha256(model), before);
    const matrix = path.join(folder, 'm.imatrix');
    const keys = { 'general.type': kv.string('imatrix') };
    fs.writeFileSync(
      matrix,
      gguf(keys, [
        { name: 'blk.0.attn_q.weight.in_sum2', type: 0, shape: [256], bytes: 1024 },
        { name: 'blk.0.attn_q.weight.counts', type: 0, shape: [1], bytes: 32 },
      ]),
    );
    const measured = sha256(matrix);
    const args = ['--type', 'F16', '--imatrix', matrix];
    const over = sluice(['quantize', model, matrix, ...args]);
    assert.match(over.err, /is the file that is read/);
    assert.equal(sha256(matrix), measured);
    assert.equal(sluice(['quantize', model, path.join(folder, 'new.gguf'), ...args]).status, 0);
  });
  it('says which file is wrong, and leaves nothing', () => {
    const damaged = small('nan.gguf', Buffer.from([0, 0, 0xc0, 0x7f]));
    const nan = quantize(damaged, '--type', 'Q8_0', '--json');
    assert.equal(nan.status, 3);
    assert.equal(error_of(nan).code, 'bad_file');
    assert.match(nan.err, /tensor blk\.0\.attn_q\.weight: /);
    assert.deepEqual(nan.files, []);
    const text = temporary('text.gguf', 'no model');
    assert.equal(quantize(text, '--type', 'Q8_0').status, 3);
    const matrix = quantize(small('small.gguf'), '--type', 'Q8_0', '--imatrix', text);
    assert.equal(matrix.status, 3);
    assert.match(matrix.err, /text\.gguf/);
    const nowhere = sluice(['quantize', bundled, '/nowhere/o.gguf', '--type', 'Q8_0']);
    assert.equal(nowhere.status, 1);
    assert.match(nowhere.err, /can't write \/nowhere\/o\.gguf: the folder \/nowhere isn't there/);
    const folder = temporaryDirectory();
    assert.equal(sluice(['quantize', bundled, folder, '--type', 'Q8_0']).status, 2);
  });
  it('says that a folder is read-only', () => {
    const folder = temporaryDirectory();
    fs.chmodSync(folder, 0o555);
    const out = path.join(folder, 'out.gguf');
    const done = sluice(['quantize', bundled, out, '--type', 'Q8_0']);
    fs.chmodSync(folder, 0o755);
    // The superuser may write everywhere.
    if (process.getuid() === 0) return;
    assert.equal(done.status, 1);
    assert.match(done.err, /can't write .*Permission denied/);
  });
});

const stories = optional('models/stories-f16.gguf');
const answers = optional('models/quantize.json');
const skip = stories.skip || answers.skip;

describe('llama-quantize', { skip }, () => {
  it('writes the same file', () => {
    const all = JSON.parse(fs.readFileSync(answers.path, 'utf8'))['stories-f16.gguf'];
    const mix = quantize(stories.path, '--type', 'Q4_K_M');
    assert.equal(sha256(mix.out_path), all.mix.Q4_K_M.file_sha256);
    const pure = quantize(stories.path, '--type', 'q6_k', '--pure', '-t', '3');
    assert.equal(sha256(pure.out_path), all.pure.Q6_K.file_sha256);
  });
  const matrix = optional('models/quantize/stories.imatrix.gguf');
  // The hash is of the file that llama-quantize b11669 writes.
  it('writes the same file with an importance matrix', { skip: matrix.skip }, () => {
    const folder = temporaryDirectory();
    fs.copyFileSync(matrix.path, path.join(folder, 'stories.imatrix.gguf'));
    const done = sluice(
      [
        ...['quantize', stories.path, 'o.gguf', '--type', 'Q4_K_M'],
        ...['--imatrix', 'stories.imatrix.gguf'],
      ],
      { cwd: folder },
    );
    assert.equal(done.status, 0, done.err);
    assert.match(done.out, /^importance matrix: it has 35 of the 36 tensors that are quantized$/m);
    assert.equal(
      sha256(path.join(folder, 'o.gguf')),
      'ec0a14ede194d2904dd61c8b4faeafce84461547c32dd2eac6d54de9f9c7af6d',
    );
  });
});

describe('however it ends', () => {
  // A model that takes a while: 16 MiB, of zeros, so that it takes little room on the disk.
  const large = temporary('large.gguf');
  const rows = 4096;
  const header = gguf({ 'general.architecture': kv.string('llama') }, [
    { name: 'blk.0.attn_q.weight', type: 0, shape: [1024, rows], bytes: 0 },
  ]);
  fs.writeFileSync(large, header);
  fs.truncateSync(large, header.length + 1024 * rows * 4);

  it('the new file is there whole or not at all', async () => {
    const folder = temporaryDirectory();
    const out = path.join(folder, 'o.gguf');
    const args = ['quantize', large, out, '--type', 'Q4_1', '-t', '2'];
    const before = performance.now();
    assert.equal(sluice(args).status, 0);
    const took = performance.now() - before;
    const whole = sha256(out);
    const ends = { SIGKILL: 0, SIGINT: 0 };
    for (let i = 0; i < 24; ++i) {
      fs.rmSync(out, { force: true });
      const sent = i % 4 === 0 ? 'SIGINT' : 'SIGKILL';
      const { child, ended } = start(args);
      const timer = setTimeout(() => child.kill(sent), (took * i) / 24);
      const { status, signal } = await ended;
      clearTimeout(timer);
      if (signal === sent || status === 130) ++ends[sent];
      else assert.equal(status, 0);
      if (fs.existsSync(out)) assert.equal(sha256(out), whole);
      else assert.ok(signal === sent || status === 130);
      // Ctrl-C leaves no other file, either.
      if (sent === 'SIGINT')
        assert.deepEqual(fs.readdirSync(folder), status === 0 ? ['o.gguf'] : []);
      for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name));
    }
    assert.ok(ends.SIGKILL > 0 && ends.SIGINT > 0);
  });
  it('an older file of that name stays until then', () => {
    const out = temporary('older.gguf', 'GGUF older');
    const damaged = small('nan.gguf', Buffer.from([0, 0, 0xc0, 0x7f]));
    assert.equal(sluice(['quantize', damaged, out, '--type', 'Q8_0']).status, 3);
    assert.equal(fs.readFileSync(out, 'utf8'), 'GGUF older');
    assert.equal(sluice(['quantize', small('small.gguf'), out, '--type', 'Q8_0']).status, 0);
    assert.equal(inspect(out).tensors.length, 2);
  });
  it('a full disk leaves nothing', () => {
    const folder = temporaryDirectory();
    const line = (limit) =>
      `cd '${folder}'; ulimit -f ${limit}; "$SLUICE" quantize '${large}' o.gguf --type F32 --json; ` +
      `echo $? $(ls)`;
    const done = shell(`trap '' XFSZ; ${line(100)}`);
    assert.match(done.err, /can't write o\.gguf: File too large/);
    assert.match(done.out, /\n1\s*$/);
    const mounted = shell(
      `mkdir '${folder}/m' && mount -t tmpfs -o size=4m none '${folder}/m' 2> /dev/null`,
    );
    if (mounted.status !== 0) return;
    try {
      const full = sluice(['quantize', large, `${folder}/m/o.gguf`, '--type', 'F32', '--json']);
      assert.equal(full.status, 1);
      const { code, facts } = error_of(full);
      assert.equal(code, 'storage_full');
      assert.ok(facts.neededBytes > facts.availableBytes && facts.directory.endsWith('/m'));
      assert.deepEqual(fs.readdirSync(`${folder}/m`), []);
    } finally {
      shell(`umount '${folder}/m'`);
    }
  });
});
