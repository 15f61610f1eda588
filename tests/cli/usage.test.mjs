// Tests of help, wrong usage and exit status.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bundled, events, sluice } from './helpers.mjs';

const options = {
  run: [
    '-m',
    '-p',
    '-f',
    '-n',
    '-t',
    '-c',
    '--temp',
    '--top-k',
    '--top-p',
    '--min-p',
    '--repeat-penalty',
    '--seed',
    '--stop',
    '--ignore-eos',
    '--kv-type',
    '--memory-budget',
    '--tokens',
    '--special',
    '--top-logprobs',
    '--trace',
    '--watch',
    '--json',
    '-q',
  ],
  replay: ['FILE', '--top', '--speed', '--json', '--temp', '--top-k', '--seed'],
  chat: [
    ...[
      '-m',
      '-p',
      '-f',
      '-n',
      '-t',
      '-c',
      '--temp',
      '--seed',
      '--stop',
      '--kv-type',
      '--json',
      '-q',
    ],
    ...['--system', '--session', '--chat-template', '--kwargs', '--no-history', '--think'],
    ...['--no-think', '--think-tokens', '--context-full'],
  ],
  inspect: ['-m', '--json', '-c', '--memory-budget', '--tensor', '--all'],
  convert: ['FOLDER', 'OUT', '--type', '--name', '-t', '--json'],
  tokenize: ['-m', '-p', '-f', '--json', '--bos', '--eos', '--special', '--lines', '--pieces'],
  logits: [
    '-m',
    '-p',
    '--tokens',
    '--top',
    '--hash',
    '--npy',
    '--all',
    '--reference',
    '-t',
    '-c',
    '--batch',
    '--kv-type',
    '--memory-budget',
    '--json',
  ],
  probe: [
    ...['-m', '--stimuli', '--out', '--positions', '--layers', '--at', '--special', '--truncate'],
    ...['-c', '-t', '--memory-budget', '--json', '-q'],
  ],
  imatrix: [
    '-m',
    '-f',
    '-o',
    '-c',
    '--chunks',
    '--output-tensor',
    '-t',
    '--memory-budget',
    '--json',
  ],
  bench: ['-m', '-p', '-n', '-r', '-t', '--depth', '--profile', '--memory-budget', '--json'],
  edit: ['IN', 'OUT', '--set', '--remove', '--template', '--in-place', '--force', '--json'],
  diff: ['A', 'B', '-t', '--all', '--json'],
  pull: ['ADDRESS', '--json'],
  cache: ['ACTION', 'ADDRESS', '--all', '--json'],
  models: ['--json'],
};
for (const command of [
  ...['run', 'chat', 'inspect', 'tokenize', 'logits', 'probe', 'imatrix', 'bench', 'edit', 'diff'],
  'pull',
])
  options[command].push(
    ...['--sha256', '--refresh', '--accept-terms', '--retry-timeout', '--stall-timeout'],
  );
/** The first arguments of each command that takes no MODEL. */
const first = {
  replay: 'FILE \\[',
  edit: 'IN \\(OUT \\| --in-place\\) ',
  imatrix: 'MODEL OUT ',
  diff: 'A B ',
  convert: 'FOLDER OUT ',
  pull: 'ADDRESS \\[',
  cache: 'ACTION \\[ADDRESS\\]\\.\\.\\. ',
  models: '\\[--json\\]',
};

describe('help', () => {
  it('of the program names every command, the exit status and the environment', () => {
    for (const flag of ['--help', '-h']) {
      const { status, out, err } = sluice([flag]);
      assert.equal(status, 0);
      assert.equal(err, '');
      for (const word of [
        ...Object.keys(options),
        'Exit status',
        'SLUICE_KERNELS',
        'SLUICE_MODEL_DIR',
        'HF_ENDPOINT',
        'HF_TOKEN',
        'XDG_CACHE_HOME',
        'Examples',
      ]) {
        assert.ok(out.includes(word), word);
      }
    }
  });
  for (const [command, names] of Object.entries(options)) {
    it(`of ${command} names every option`, () => {
      const { status, out, err } = sluice([command, '--help']);
      assert.equal(status, 0);
      assert.equal(err, '');
      assert.match(
        out,
        new RegExp(
          `^sluice ${command} - .+\n\nusage: sluice ${command} ${first[command] ?? '\\[MODEL\\]'}`,
        ),
      );
      for (const name of names) assert.match(out, new RegExp(`^  ${name}\\b`, 'm'), name);
      for (const part of ['Examples:', 'Exit status:', 'Environment:'])
        assert.ok(out.includes(part), part);
    });
  }
  it('comes with --version', () => {
    for (const flag of ['--version', '-v']) {
      const { status, out } = sluice([flag]);
      assert.equal(status, 0);
      assert.match(out, /^sluice \d+\.\d+\.\d+\n$/);
    }
  });
  it('stays within 80 columns, as the manual does', () => {
    const { out } = sluice(['--help']);
    const commands = [...out.matchAll(/^ {2}(\w+) {6,}/gm)].map(([, name]) => [name]);
    assert.ok(commands.length >= 12, out);
    for (const command of [[], ...commands])
      for (const line of sluice([...command, '--help']).out.split('\n'))
        assert.ok(line.length <= 80, line);
  });
});

// Arguments, and what the message must match.
const wrong = [
  [['help', 'frob'], /unknown command 'frob'/],
  [[], /no command/],
  [['frob'], /unknown command 'frob'/],
  [['--frob'], /unknown option '--frob'/],
  [['run', '--frob'], /--frob/],
  [['run', bundled, 'Once', 'upon', 'a'], /'upon' is one argument too many; .* in quotes/],
  [['run', '-m', bundled, 'Once', 'upon'], /'upon' is one argument too many; .* in quotes/],
  [['inspect', bundled, 'more'], /'more' is one argument too many;/],
  [['inspect', bundled, '-m', bundled], /named twice/],
  [['run', bundled, '-m', bundled], /named twice, by -m and by the argument .* goes behind -p/],
  [['run', '-m', 'other', bundled], /named twice/],
  [['run', 'm', '-m', 'm'], /named twice/],
  [['run', '--', bundled, '-dash', '--seed', '2'], /'--seed' stands behind --, where all are arg/],
  [['run', '--', bundled, '-dash', 'more'], /'more' is one argument too many/],
  [['run', '--help=foo'], /--help: takes no value, found 'foo'/],
  [['run', '-h=foo'], /-h: takes no value/],
  [['bench', '-m', ''], /MODEL: expected the path/],
  [['run', ''], /MODEL: expected the path of a GGUF file, or an address, found ''/],
  [['run', '-f', ''], /-f: expected the path of a file, found ''/],
  [['run', '--json=5'], /--json: takes no value, found '5'/],
  [['run', '--ignore-eos=false'], /--ignore-eos: takes no value/],
  [['run', '--a\n\u001b[31m'], /unknown option '--a\?\?\[31m';/],
  [['run', '-p'], /: -p needs a value: -p TEXT;/],
  [['run', '--temp'], /: --temp needs a value: --temp T;/],
  [['run', '--prompt=', '-n', '1'], /--prompt: nothing stands behind the =/],
  [['run', '-p', ''], /prompt is empty \(-p\); give some text, or leave -p out/],
  [['run', bundled, ''], /prompt is empty \(the argument PROMPT\)/],
  [['run', '-f', '-'], /prompt is empty \(-f\)/],
  [['run', '-p', 'a', '-f', 'b'], /given twice, by -p and by -f; leave one of them out/],
  [['run', '-p', 'a', '--tokens', '1'], /by -p and by --tokens/],
  [['run', '-f', 'a', '--tokens', '1'], /by -f and by --tokens/],
  [['run', bundled, 'a', '-p', 'b'], /by the argument PROMPT and by -p/],
  [['run', bundled, 'a', '-f', 'b'], /by the argument PROMPT and by -f/],
  [['run', '-m', bundled, 'a', '--tokens', '1'], /by the argument PROMPT and by --tokens/],
  [['run', '-n', '-2'], /-n: expected a whole number/],
  [['run', '-n', '1.5'], /-n: expected a whole number/],
  [['run', '-n', '12abc'], /-n: expected a whole number/],
  [['run', '-n', ''], /-n: expected a whole number/],
  [['run', '-t', '0'], /from 1 to 64/],
  [['run', '-t', '65'], /from 1 to 64/],
  [['run', '-t', '99999999999999999999'], /from 1 to 64/],
  [['run', '-c', '99999999'], /-c: expected/],
  [['run', '--temp', 'nan'], /a number from 0 to 100, found 'nan'/],
  [['run', '--temp', 'inf'], /a number from 0 to 100/],
  [['run', '--temp', '-inf'], /a number from 0 to 100/],
  [['run', '--temp', '0x1p3'], /a number from 0 to 100/],
  [['run', '--temp', '1e31'], /a number from 0 to 100, found '1e31'/],
  [['run', '--temp', '1e400'], /a number from 0 to 100/],
  [['run', '--temp', '-0.5'], /--temp: expected/],
  [['run', '--top-k', '-2'], /--top-k/],
  [['run', '-c', '-1'], /-c: expected/],
  [['run', '-t', '-2'], /from 1 to 64/],
  [['run', '--top-p', '1.01'], /top-p/],
  [['run', '--top-p', '1.0000001'], /--top-p: .* found '1\.0000001'/],
  [['run', '--top-p', '1.00000001'], /--top-p: .* found '1\.00000001'/],
  [['run', '--min-p', '-1'], /min-p/],
  [['run', '--repeat-penalty', '0'], /repeat/],
  [['run', '--repeat-penalty', 'NaN'], /a number from 0\.01 to 100/],
  [['run', '--seed', '-2'], /--seed/],
  [['run', '--seed', '18446744073709551616'], /--seed/],
  [['run', '--stop', ''], /--stop/],
  [['run', '--kv-type', 'f64'], /--kv-type: f64 not in \{f32,f16,q8_0\}/],
  [['run', '--memory-budget', '5 apples'], /--memory-budget/],
  [
    ['run', '--memory-budget', '300 M'],
    /a size .* like 1500000, 300M.*units: B, k, M.*without spaces.*: 300M\), found '300 M'/,
  ],
  [['run', '--memory-budget', '300', 'M'], /--memory-budget: write 300M without a space;/],
  [['run', '--memory-budget', '1,5G'], /with a point: 1\.5G\), found '1,5G'/],
  [['run', '--memory-budget', '5X'], /or KiB, MiB, GiB, TiB\), found '5X'/],
  [['run', '--memory-budget', '0'], /--memory-budget/],
  [['run', '--memory-budget', '-1G'], /--memory-budget/],
  [['run', '--tokens', ''], /--tokens/],
  [['run', '--tokens', '1,,2'], /--tokens/],
  [['run', '--tokens', '1,x'], /--tokens: expected whole numbers .* found 'x' in '1,x'/],
  [['run', '--tokens', '1,99999999'], /99999999/],
  [['run', '--top-logprobs', '101'], /0 to 100/],
  [['run', '--top-logprobs', '3'], /--top-logprobs shows nothing without --json/],
  [['tokenize'], /-p or -f/],
  [['tokenize', '-p', 'a', '-f', 'b'], /given twice/],
  [['logits'], /-p or ids with --tokens/],
  [['logits', '-p', ''], /the text is empty \(-p\)/],
  [['logits', bundled, 'a', '--tokens', '1'], /given twice/],
  [['logits', '-p', 'a', '--batch', '0'], /--batch/],
  [['logits', '-p', 'a', '--top', '-1'], /--top/],
  [['bench', '-t', '1,0'], /-t: expected/],
  [['bench', '-r', '0'], /-r: expected/],
  [['bench', '--depth', '-1'], /--depth/],
  [['run', '--retry-timeout', '0'], /--retry-timeout: expected a whole number from 1/],
  [['run', 'hf:a/b', '--sha256', 'x'], /--sha256: expected 64 hexadecimal digits, found 'x'/],
  [['inspect', 'hf:a'], /names no OWNER\/REPO/],
];

describe('wrong usage is status 2 with a reason and no output', () => {
  for (const [args, reason] of wrong) {
    it(`sluice ${args
      .map((a) => (a === '' ? "''" : a))
      .join(' ')
      .replace(bundled, 'MODEL')}`, () => {
      const { status, out, err } = sluice(args);
      assert.equal(status, 2, err);
      assert.equal(out, '');
      assert.match(err, /^sluice: error: /);
      assert.match(err, reason);
    });
  }
  it('with --json it is an event, too', () => {
    for (const args of [
      ['frob'],
      ['run', '--temp', 'nan'],
      ['run', '-p', ''],
      ['bench', '-r', 'x'],
    ]) {
      const { status, out } = sluice([...args, '--json']);
      assert.equal(status, 2);
      const [event, ...others] = events(out);
      assert.deepEqual(others, []);
      assert.equal(event.event, 'error');
      assert.equal(event.code, 'invalid_argument');
      assert.ok(event.message.length > 0);
    }
  });
});

// Arguments, and what must be suggested; '' if nothing is near.
const near = [
  [['rnu'], 'run'],
  [['tokenise'], 'tokenize'],
  [['model.gguf', '-n', '1'], 'sluice run model.gguf'],
  [['--versoin'], '--version'],
  [['run', '--tepm', '0.5'], '--temp'],
  [['run', '-temp', '0.5'], '--temp'],
  [['run', '-prompt', 'a'], '--prompt'],
  [['run', '-json'], '--json'],
  [['run', '--promt=a'], '--prompt'],
  [['run', '--top_k', '1'], '--top-k'],
  [['run', '--memory', '1G'], '--memory-budget'],
  [['bench', '--dept', '1'], '--depth'],
  [['run', '--n', '3'], '-n'],
  [['run', '-x'], ''],
  [['run', '--x'], ''],
  [['run', '--frobnicate'], ''],
  [['tokenize', bundled, '-p', 'Hello', '--memory-budget', '3M'], ''],
  [['inspect', '--kv-type', 'f16', bundled, '-p', 'a', 'b'], ''],
  [['run', bundled, 'a', '--tepm', '0.5'], '--temp'],
  [['frob'], ''],
];

describe('an unknown name is answered with the nearest', () => {
  for (const [args, name] of near) {
    it(`sluice ${args.join(' ').replace(bundled, 'MODEL')}`, () => {
      const { status, err } = sluice(args);
      assert.equal(status, 2);
      assert.match(err, /^sluice: error: unknown (option|command) '/);
      assert.doesNotMatch(err, /\?[;,]/);
      const suggestion = /did you mean (.*?)\?/.exec(err);
      assert.equal(suggestion?.[1] ?? '', name, err);
    });
  }
  it('an option in front of the command, too', () => {
    const { status, err } = sluice(['--temp', '0', 'run']);
    assert.equal(status, 2);
    assert.match(err, /command is missing in front of --temp, like sluice run --temp;/);
    assert.match(sluice(['-hf', 'a/b']).err, /missing in front of -hf, like sluice run -hf;/);
  });
  it('help is given beside it', () => {
    assert.equal(sluice(['run', '--frob', '--help']).status, 0);
  });
  it('a value that looks like an option is none', () => {
    assert.equal(sluice(['run', '-p', '--frob', '-n1', '-q']).status, 0);
    assert.equal(sluice(['run', '-p', '-temp', '-n', '1']).status, 0);
    assert.equal(sluice(['run', '-n', '1', '--', bundled, '-temp']).status, 0);
  });
});

describe('SLUICE_KERNELS', () => {
  it('that names no kernels of this machine is refused with those that it has', () => {
    for (const command of [['run', '-n', '1'], ['logits', '-p', 'a'], ['bench']]) {
      const { status, err } = sluice(command, { env: { SLUICE_KERNELS: 'neon9' } });
      assert.equal(status, 2);
      assert.match(err, /neon9.*generic/s);
    }
  });
  it('forces a table, which the figures name', () => {
    const { status, err } = sluice(['run', '-n', '1'], { env: { SLUICE_KERNELS: 'generic' } });
    assert.equal(status, 0);
    assert.match(err, /generic kernels/);
  });
});
