// Tests what bash, zsh and fish complete, in the shells themselves, and the manual page.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { program, shell, sluice, temporaryDirectory } from './helpers.mjs';
import { fresh_cache, hub, model, pulls } from './pull-helpers.mjs';

const PATIENCE_MS = 60_000;
const there = (name) => shell(`command -v ${name}`).status === 0;
const lacks = (...names) => {
  const missing = names.find((name) => !there(name));
  return missing !== undefined && `needs ${missing}: node scripts/setup.mjs shells installs it`;
};

/** A directory with files to complete, the completion script, and the shell's start file. */
function prepared(name, first) {
  const dir = temporaryDirectory();
  fs.writeFileSync(path.join(dir, 'tiny model.gguf'), '');
  fs.writeFileSync(path.join(dir, 'prompt.txt'), '');
  fs.writeFileSync(path.join(dir, 'completion'), sluice(['completion', name]).out);
  fs.writeFileSync(path.join(dir, 'first'), first);
  return dir;
}

/**
 * Types into an interactive shell on a pseudo-terminal. `keys`: pairs [pattern, text]: when the terminal shows the
 * pattern, types the text, or ends if the text is null. Resolves with all that the terminal has shown.
 */
function type(command, dir, keys) {
  return new Promise((resolve, reject) => {
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: dir,
      env: {
        ...process.env,
        PATH: `${path.dirname(program)}:${process.env.PATH}`,
        HOME: dir,
        XDG_CACHE_HOME: path.join(dir, 'cache'),
        TERM: 'xterm',
      },
    });
    let shown = '';
    let looked = 0;
    const give_up = setTimeout(() => terminal.kill('SIGKILL'), PATIENCE_MS);
    terminal.stdout.on('data', (bytes) => {
      shown += bytes;
      while (keys.length > 0) {
        const [until, text] = keys[0];
        const at = shown.slice(looked).search(until);
        if (at < 0) return;
        looked = shown.length;
        keys.shift();
        if (text === null) terminal.kill('SIGKILL');
        else terminal.stdin.write(text);
      }
    });
    terminal.on('error', reject);
    terminal.on('close', () => {
      clearTimeout(give_up);
      if (keys.length === 0) resolve(shown);
      else reject(new Error(`${keys[0][0]} was never shown, but:\n${shown}`));
    });
  });
}

/** A cache with a model of a plain name, and one whose name is a trap. */
const cached = fresh_cache();
const EVIL = 'evil $(touch pwned) `touch pwned` ;touch pwned\'q"uoted.gguf';
const TOKENS = sluice(['tokenize', '-p', 'Once upon']).out.trim();
before(async () => {
  for (const name of [
    'Kept-Q8_0.gguf',
    'spaced%20name.gguf',
    encodeURIComponent(EVIL),
    'new%0Aline.gguf',
    '--all.gguf',
    '%2Fetc%2Fpasswd.gguf',
  ])
    await pulls(hub.add(name, model).url, cached, model);
});

const SHELLS = {
  bash: {
    first: 'bind "set enable-bracketed-paste off"; PS1="ready> "; source ./completion\n',
    command: 'bash --noprofile --rcfile ./first -i',
  },
  zsh: {
    first:
      'PS1="ready> "; unsetopt zle_bracketed_paste 2> /dev/null; autoload -U compinit; compinit -u -D; source ./completion\n',
    command: 'ZDOTDIR=. zsh -i',
  },
};

for (const [name, { first, command }] of Object.entries(SHELLS)) {
  describe(`${name} completes`, { skip: lacks('script', name) }, () => {
    const with_cache = () => {
      const dir = prepared(name, first);
      fs.cpSync(cached.XDG_CACHE_HOME, path.join(dir, 'cache'), { recursive: true });
      if (name === 'zsh') fs.renameSync(path.join(dir, 'first'), path.join(dir, '.zshrc'));
      return dir;
    };
    it('commands, options, values, models, files and names of the cache', async () => {
      const lines = [
        ['sluice tok', /enize/],
        ['sluice run --repeat-p', /enalty/],
        ['sluice run --kv-type q', /8_0/],
        ['sluice run ti', /ny\\ model\.gguf/],
        ['sluice run -f pro', /mpt\.txt/],
        ['sluice convert pro', /mpt\.txt/],
        ['sluice completion fi', /sh/],
        ['sluice cache ver', /ify/],
        ['sluice chat --context-full dr', /op/],
        ['sluice run kep', /t-Q8_0/],
        ['sluice chat smollm2-1', /35m/],
        ['sluice run -m kep', /t-Q8_0/],
        ['sluice cache delete kep', /t-Q8_0/],
        ['sluice rm kep', /t-Q8_0/],
        ['sluice pull kep', /t-Q8_0/],
      ];
      // A shell takes long to start: an empty line gives the next prompt.
      const erase = '\x15\n';
      const keys = lines.flatMap(([typed, found], i) => [
        [/ready> /, `${typed}\t`],
        [found, i < lines.length - 1 ? erase : null],
      ]);
      await type(command, with_cache(), keys);
    });
    it('names that could run something, as words', async () => {
      const dir = with_cache();
      const ask = ' -p "Once upon"\n';
      await type(command, dir, [
        [/ready> /, 'sluice tokenize spa\t'],
        [/ced\\ name/, ask],
        [new RegExp(`${TOKENS}[^]*ready> `), 'sluice tokenize evi\t'],
        // bash completes none that it wouldn't quote; its beginning means it, too.
        [name === 'zsh' ? /uoted/ : /evi/, ask],
        [TOKENS, null],
      ]);
      assert.ok(!fs.existsSync(path.join(dir, 'pwned')));
    });
  });
}

describe('fish completes', { skip: lacks('fish') }, () => {
  const completed = (line) => {
    const dir = prepared('fish', '');
    const { out, err, status } = shell(
      `cd '${dir}'; PATH='${path.dirname(program)}':"$PATH" XDG_CACHE_HOME='${cached.XDG_CACHE_HOME}' HOME='${dir}' fish --no-config -c 'source ./completion; complete -C "${line}"'`,
    );
    assert.equal(status, 0, err);
    return out
      .split('\n')
      .map((row) => row.split('\t')[0])
      .filter((row) => row !== '');
  };
  it('commands', () => assert.deepEqual(completed('sluice tok'), ['tokenize']));
  it('options', () => assert.deepEqual(completed('sluice run --repeat-p'), ['--repeat-penalty']));
  it('the values of an option', () =>
    assert.deepEqual(completed('sluice run --kv-type '), ['f16', 'f32', 'q8_0']));
  it('models', () => assert.deepEqual(completed('sluice run ti'), ['tiny model.gguf']));
  it('files', () => {
    for (const typed of ['run -f pro', 'convert pro'])
      assert.deepEqual(completed(`sluice ${typed}`), ['prompt.txt'], typed);
  });
  it('names of the cache', () => {
    for (const typed of ['run', 'run -m', 'cache delete', 'rm', 'pull'])
      assert.deepEqual(completed(`sluice ${typed} Kep`), ['Kept-Q8_0'], typed);
    assert.deepEqual(completed('sluice chat --context-full dr'), ['drop']);
  });
  it('names of the shelf, where a model may be fetched', () => {
    for (const typed of ['chat', 'run -m', 'pull'])
      assert.deepEqual(completed(`sluice ${typed} smollm2-1`), ['smollm2-135m'], typed);
    assert.deepEqual(completed('sluice cache delete smollm2-1'), []);
  });
  it('shells', () => assert.deepEqual(completed('sluice completion '), ['bash', 'fish', 'zsh']));
  it('actions', () => assert.deepEqual(completed('sluice cache '), ['delete', 'list', 'verify']));
});

describe('sluice cache list --names', () => {
  it('prints what a line can hold, and what names the model', () => {
    const { out } = sluice(['cache', 'list', '--names'], { env: cached });
    const lines = out.trim().split('\n');
    assert.deepEqual(lines.length, 6);
    assert.ok(lines.includes('Kept-Q8_0') && lines.includes(EVIL.replace('.gguf', '')), out);
    // Names that a terminal, an option or a path would be made of are left to the address.
    for (const name of ['new%0Aline', '--all', '%2Fetc%2Fpasswd'])
      assert.ok(
        lines.some((line) => line.startsWith(hub.url) && line.endsWith(`/${name}.gguf`)),
        out,
      );
    for (const line of lines)
      assert.equal(
        sluice(['tokenize', line, '-p', 'Once upon'], { env: cached }).out,
        `${TOKENS}\n`,
      );
  });
});

describe('sluice completion and sluice man', () => {
  it('name every option of every command', () => {
    const texts = ['bash', 'zsh', 'fish'].map((name) => sluice(['completion', name]).out);
    const page = sluice(['man']).out.replaceAll('\\-', '-');
    for (const command of [
      'run',
      'convert',
      'inspect',
      'tokenize',
      'template',
      'logits',
      'probe',
      'imatrix',
      'bench',
      'edit',
      'diff',
      'pull',
      'cache',
    ]) {
      const names = sluice([command, '--help']).out.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm);
      for (const [, name] of names) {
        for (const text of [...texts, page]) assert.ok(text.includes(name), `${command} --${name}`);
      }
    }
  });
  it('refuse what is no shell', () => {
    const { status, err } = sluice(['completion', 'tcsh']);
    assert.equal(status, 2);
    assert.match(err, /tcsh not in \{bash,zsh,fish\}/);
  });
  it('the page is well-formed', { skip: lacks('mandoc') }, () => {
    const dir = temporaryDirectory();
    fs.writeFileSync(path.join(dir, 'sluice.1'), sluice(['man']).out);
    const { status, out } = shell(`mandoc -T lint -W error '${dir}/sluice.1'`);
    assert.equal(status, 0, out);
    const page = shell(`mandoc -T utf8 -O width=80 '${dir}/sluice.1' | col -bx`).out;
    for (const part of [
      'NAME',
      'SYNOPSIS',
      'COMMANDS',
      'EXIT STATUS',
      'ENVIRONMENT',
      'NO_COLOR',
      'FILES',
      'chat_history',
      '.chat.json',
      '/system [TEXT]',
      '/retry',
      '--kv-type TYPE',
      'sluice run model.gguf "Once upon a time"',
    ])
      assert.ok(page.includes(part), part);
    for (const line of page.split('\n')) assert.ok(line.length <= 80, line);
  });
});
