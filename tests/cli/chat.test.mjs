// sluice chat without a terminal: -p, pipes, --json, --session, thinking, a full context, and what is refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { events, shell, sluice, start, temporary, temporaryDirectory } from './helpers.mjs';

const greedy = ['--temp', '0'];
const chat = (args, options) => sluice(['chat', ...greedy, ...args], options);
const done = (out) => events(out).find(({ event }) => event === 'done');
const messages = (session) => JSON.parse(readFileSync(`${session}.chat.json`, 'utf8'));

// The bundled model has no template of its own; this one is like the built-in one for it.
const marked = temporary(
  'marked.jinja',
  `{% for message in messages %}{{ message.role }}: {{ message.content }}\n\n{% endfor %}` +
    `{% if add_generation_prompt %}assistant:{% endif %}`,
);

// It would end by its budget of steps.
const endless =
  '{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}';

// Waits until the program has a handler for a signal: of SIGWINCH, until an answer is all that is left to do.
async function catches({ pid }, signal) {
  const bit = 1n << BigInt(constants.signals[signal] - 1);
  for (;;) {
    const [, caught] = /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    assert.ok(caught !== undefined, 'the program has ended');
    if ((BigInt(`0x${caught}`) & bit) !== 0n) return;
    await new Promise(setImmediate);
  }
}

describe('chat -p', () => {
  it('prints the answer of the rendered prompt, and nothing else', () => {
    const given = temporary('given.json', '[{"role":"user","content":"The dog"}]');
    const prompt = sluice(['template', '-f', given]).out;
    const { status, out, err } = chat(['-p', 'The dog', '-n', '9']);
    assert.equal(status, 0);
    assert.equal(out, sluice(['run', ...greedy, '-p', prompt, '-n', '9']).out);
    assert.match(err, /\[9 tokens at .* prompt of \d+ tokens, 0 reused, .*limit of tokens\]\n$/);
    assert.equal(chat(['-p', 'The dog', '-n', '9', '-q']).err, '');
    const file = temporary('message.txt', 'The dog\n');
    assert.equal(chat(['-f', file, '-n', '9']).out, out);
  });

  it('takes a pipe as one message', () => {
    const lines = 'The dog\n/help\n\nand the cat';
    const file = temporary('lines.txt', `${lines}\n`);
    const piped = shell(`"$SLUICE" chat --temp 0 -n 5 < ${file}`);
    assert.equal(piped.status, 0, piped.err);
    assert.equal(piped.out, chat(['-n', '5', '-p', lines]).out);
  });

  it('--system, --chat-template and --kwargs are the template', () => {
    const template = temporary('loud.jinja', '{{ word }} {{ messages | length }}:');
    const { out } = chat([
      ...['-p', 'Hi', '--system', 'Be kind.', '--chat-template', template],
      ...['--kwargs', '{"word":"Once"}', '-n', '6'],
    ]);
    assert.equal(out, sluice(['run', ...greedy, '-p', 'Once 2:', '-n', '6']).out);
  });

  it('--json gives events as run does', () => {
    const { out } = chat(['-p', 'The dog', '-n', '5', '--json']);
    const all = events(out);
    assert.deepEqual(
      all.map(({ event }) => event),
      [...Array(5).fill('token'), 'done'],
    );
    const text = all.map((each) => each.text ?? '').join('');
    assert.equal(text, chat(['-p', 'The dog', '-n', '5']).out);
    assert.equal(all.at(-1).finish, 'length');
    assert.equal(all.at(-1).stats.tokens, 5);
  });

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ]) {
    it(`${signal} ends it with what was written`, async () => {
      const session = join(temporaryDirectory(), 'stopped.sluice');
      const args = ['--json', '--ignore-eos', '-c', '1048576', '--session', session];
      const { child, ended } = start(['chat', '-p', 'The dog', ...args]);
      child.stdout.once('data', () => child.kill(signal));
      const { status, out } = await ended;
      assert.equal(status, expected);
      assert.equal(done(out).finish, 'aborted');
      assert.equal(messages(session).length, 2);
      assert.deepEqual(readdirSync(dirname(session)), [
        'stopped.sluice',
        'stopped.sluice.chat.json',
      ]);
    });
  }

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    it(`${signal} ends a template that runs for long`, async () => {
      const template = temporary('endless.jinja', endless);
      const args = ['-p', 'The dog', '--json', '--chat-template', template];
      const { child, ended } = start(['chat', ...args]);
      await catches(child, 'SIGWINCH');
      child.kill(signal);
      const { status, out, err } = await ended;
      assert.equal(status, expected);
      assert.deepEqual(
        events(out).map(({ event, finish }) => [event, finish]),
        [['done', 'aborted']],
      );
      assert.equal(err, '');
    });
  }

  it('figures stand on a line of their own, also behind a text in the same file', () => {
    const figures = /[^\n]\n(\[|sluice: prompt of )\d+ tokens/;
    for (const command of ['run', 'chat']) {
      const { out } = shell(`"$SLUICE" ${command} -p Once -n 3 --temp 0 2>&1`);
      assert.match(out, figures);
    }
  });

  it('a reader that goes away ends it, and the session is saved', async () => {
    const session = join(temporaryDirectory(), 'gone.sluice');
    const args = ['--ignore-eos', '-c', '1048576', '--session', session];
    const { child, ended } = start(['chat', '-p', 'The dog', ...args]);
    child.stdout.once('data', () => child.stdout.destroy());
    assert.equal((await ended).status, 0);
    assert.equal(messages(session).length, 2);
  });
});

describe('chat --session', () => {
  it('goes on with messages and state, and computes only what is new', () => {
    const session = join(temporaryDirectory(), 'talk.sluice');
    const options = ['--session', session, '-n', '8', '--json'];
    const first = chat(['-p', 'The dog', '--system', 'Be kind.', ...options]);
    assert.equal(first.status, 0, first.err);
    assert.equal(done(first.out).stats.reusedTokens, 0);
    assert.deepEqual(
      messages(session).map(({ role }) => role),
      ['system', 'user', 'assistant'],
    );
    assert.equal(statSync(`${session}.chat.json`).mode & 0o777, 0o600);
    const second = chat(['-p', 'The cat', ...options]);
    const { promptTokens, reusedTokens } = done(second.out).stats;
    const written = done(first.out).stats.promptTokens + 8;
    assert.ok(reusedTokens >= written - 1, `${reusedTokens} of ${written}`);
    // The same as without the session's state.
    const all = temporary('all.json', JSON.stringify(messages(session).slice(0, 4)));
    const prompt = sluice(['template', '-f', all]).out;
    const fresh = sluice(['run', ...greedy, '-p', prompt, '-n', '8']).out;
    assert.equal(messages(session)[4].content, fresh);
    assert.ok(promptTokens > written);
  });

  it('says that one of its two files is missing, and refuses damaged ones', () => {
    const session = join(temporaryDirectory(), 'talk.sluice');
    const options = ['--session', session, '-n', '4'];
    sluice(['run', '-p', 'The dog', ...options]);
    const before = readFileSync(session);
    const without = chat(['-p', 'The dog', ...options]);
    assert.equal(without.status, 2);
    assert.match(without.err, /has no messages beside it \(.*talk\.sluice\.chat\.json\)/);
    assert.deepEqual(readFileSync(session), before);
    rmSync(session);
    chat(['-p', 'The dog', ...options]);
    assert.equal(messages(session).length, 2);
    const other = join(temporaryDirectory(), 'other.sluice');
    writeFileSync(`${other}.chat.json`, readFileSync(`${session}.chat.json`));
    const anew = chat(['-p', 'The cat', '--session', other, '-n', '4']);
    assert.match(anew.err, /no session in .*other\.sluice: they are computed anew/);
    assert.equal(messages(other).length, 4);
    assert.ok(existsSync(other));
    writeFileSync(`${session}.chat.json`, '{');
    const damaged = chat(['-p', 'The dog', '--json', ...options]);
    assert.equal(damaged.status, 3);
    assert.match(events(damaged.out).pop().message, /talk\.sluice\.chat\.json holds no conver/);
    assert.equal(readFileSync(`${session}.chat.json`, 'utf8'), '{');
    writeFileSync(session, 'no session');
    writeFileSync(`${session}.chat.json`, '[]');
    assert.equal(chat(['-p', 'The dog', ...options]).status, 3);
  });
});

describe('chat --session and other programs', () => {
  it('is refused while another chat has the file', async () => {
    const session = join(temporaryDirectory(), 'talk.sluice');
    const options = ['--ignore-eos', '-c', '1048576', '--session', session];
    const { child, ended } = start(['chat', '-p', 'The dog', ...options]);
    await once(child.stdout, 'data');
    const second = chat(['-p', 'The cat', '--json', '--session', session]);
    assert.equal(second.status, 1);
    const { code, message } = events(second.out).pop();
    assert.equal(code, 'busy');
    assert.match(
      message,
      new RegExp(`in use by process ${child.pid}; .* \\("kill ${child.pid}" has`),
    );
    child.kill('SIGTERM');
    assert.equal((await ended).status, 143);
    assert.equal(chat(['-p', 'The cat', '-n', '2', '--session', session]).status, 0);
    assert.deepEqual(
      messages(session)
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content),
      ['The dog', 'The cat'],
    );
  });

  it('has one file of messages, also through a link', () => {
    const folder = temporaryDirectory();
    symlinkSync('a.sluice', join(folder, 'link.sluice'));
    const session = join(folder, 'a.sluice');
    assert.equal(chat(['-p', 'The dog', '-n', '2', '--session', session]).status, 0);
    const link = join(folder, 'link.sluice');
    assert.equal(chat(['-p', 'The cat', '-n', '2', '--session', link]).status, 0);
    assert.equal(messages(session).length, 4);
    assert.deepEqual(readdirSync(folder).sort(), ['a.sluice', 'a.sluice.chat.json', 'link.sluice']);
  });

  it('is whole, and nothing is left beside it, wherever the memory ends', (t) => {
    if (shell('ulimit -v 40000 && "$SLUICE" --version').status !== 0)
      return t.skip('the limit can not be set here');
    const folder = temporaryDirectory();
    const session = join(folder, 'a.sluice');
    const args = ['--temp', '0', '-n', '2', '-t', '1', '--chat-template', marked];
    assert.equal(chat(['-p', 'The dog', ...args, '--session', session]).status, 0);
    const [ask, go_on] = [`-p 'The cat'`, `--session '${session}'`];
    const { out } = shell(
      `for limit in $(seq 42000 800 68000); do
        (ulimit -v $limit; "$SLUICE" chat ${ask} ${args.join(' ')} ${go_on} > /dev/null 2>&1); echo $?
      done`,
    );
    for (const status of out.trim().split('\n')) assert.match(status, /^[04]$/);
    assert.deepEqual(readdirSync(folder).sort(), ['a.sluice', 'a.sluice.chat.json']);
    const last = chat(['-p', 'The end', ...args, '--session', session, '-c', '512']);
    assert.equal(last.status, 0, last.err);
    return undefined;
  });

  it('is saved when the memory ends', (t) => {
    const session = join(temporaryDirectory(), 'memory.sluice');
    const template = temporary('large.jinja', "{{ 'x' * 260000000 }}");
    const limited = (args) => shell(`ulimit -v 250000 || exit 99; "$SLUICE" ${args}`);
    if (limited('--version').status !== 0) return t.skip('the limit can not be set here');
    const { status, err } = limited(
      `chat -t 1 -p Hi --system 'Be kind.' --session '${session}' --chat-template '${template}'`,
    );
    assert.equal(status, 4, err);
    assert.match(err, /error: out of memory\n/);
    assert.deepEqual(messages(session), [{ role: 'system', content: 'Be kind.' }]);
    return undefined;
  });
});

describe('chat with a model that thinks', () => {
  const template = temporary(
    'think.jinja',
    '{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n{% endfor %}assistant:' +
      '{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}',
  );
  const think = (...args) => chat(['-p', 'The dog', '--chat-template', template, ...args]);

  it('tells thinking from the answer, and ends it after --think-tokens', () => {
    const all = events(think('-n', '20', '--think-tokens', '3', '--json').out);
    const tokens = all.filter(({ event }) => event === 'token');
    const text = (of) => of.map((each) => each.text).join('');
    const thought = tokens.filter(({ reasoning }) => reasoning);
    // Three at most, and the marks, which have no text.
    const shown = thought.filter((each) => each.text !== '').length;
    assert.ok(shown >= 1 && shown <= 3, `${shown}`);
    assert.equal(all.at(-1).stats.reasoningTokens, thought.length);
    const answer = text(tokens.filter(({ reasoning }) => !reasoning));
    assert.notEqual(answer, '');
    // Without a terminal the thinking is left out.
    assert.equal(think('-n', '20', '--think-tokens', '3').out, answer);
  });

  it('--no-think has the template say so', () => {
    const all = events(think('-n', '5', '--no-think', '--json').out);
    assert.equal(all.at(-1).stats.reasoningTokens, 0);
    assert.ok(all.every(({ reasoning }) => reasoning !== true));
  });
});

describe('chat with a full context', () => {
  const long = (n) => `The little dog ran home. ${'It was a good day. '.repeat(n)}`;

  it('fails, or drops the oldest turns and says so', () => {
    const session = join(temporaryDirectory(), 'full.sluice');
    const options = ['--session', session, '-c', '128', '-n', '4'];
    chat(['-p', long(3), '--system', 'Be kind.', ...options]);
    chat(['-p', long(3), ...options, '--context-full', 'drop']);
    let result;
    for (let i = 0; i < 3 && result?.status !== 1; ++i)
      result = chat(['-p', long(3), '--json', ...options]);
    assert.equal(result.status, 1, result.out);
    assert.equal(events(result.out).pop().code, 'context_full');
    const before = messages(session).length;
    const dropped = chat(['-p', long(3), '--json', ...options, '--context-full', 'drop']);
    assert.equal(dropped.status, 0, dropped.out);
    const [first] = events(dropped.out);
    assert.equal(first.event, 'dropped');
    assert.ok(first.messages >= 2);
    // What the prompt has no room for stays in the conversation.
    assert.equal(messages(session).length, before + 2);
    const said = chat(['-p', long(3), ...options, '--context-full', 'drop']);
    assert.match(said.err, /; the \d+ oldest messages left out, because the context is full/);
    // What helps: fewer turns, or else a shorter message.
    const larger = ' or give a larger context with -c N (this model was trained for up to';
    const { message: advice } = events(result.out).pop();
    const turns =
      /; \/set context-full drop \(or --context-full drop\) leaves out the oldest turns, \/reset begins anew/;
    assert.match(advice, turns);
    assert.ok(advice.includes(`anew${larger}`), advice);
    assert.doesNotMatch(advice, /shorten/);
    for (const more of [[], ['--context-full', 'drop']]) {
      const alone = chat(['-p', long(20), '--json', ...options, ...more]);
      const { code, message } = events(alone.out).pop();
      assert.equal(code, 'context_full');
      assert.match(message, /has \d+ tokens with the last turn alone, but there is room for \d+;/);
      assert.ok(message.includes(`; shorten the message${larger}`), message);
      assert.doesNotMatch(message, /--context-full|\/reset/);
    }
    const hopeless = chat(['-p', long(200), '--json', '-c', '64']);
    assert.ok(
      events(hopeless.out)
        .pop()
        .message.endsWith(
          "; shorten the message (a larger context doesn't help: this model was trained for 512)",
        ),
    );
    const { err } = sluice(['run', '-p', long(20), '-c', '64']);
    assert.match(err, /; shorten the prompt or give a larger context with -c N \(this model was/);
    const logits = sluice(['logits', '-p', long(20), '-c', '64']);
    assert.match(
      logits.err,
      /holds 64; shorten the text or give a larger context with -c N \(this/,
    );
  });
});

describe('chat refuses', () => {
  const refused = (args, message, status = 2) => {
    const result = chat([...args, '--json']);
    assert.equal(result.status, status);
    assert.match(events(result.out).pop().message, message);
  };

  it('messages that are none, and options that do not fit', () => {
    refused([], /there is no message; give one with -p/);
    refused(['-p', ''], /the message is empty/);
    assert.match(shell(`printf '\\n\\n' | "$SLUICE" chat`).err, /the message is empty/);
    refused(['-p', 'Hi', '--think', '--no-think'], /--think|--no-think/);
    refused(['-p', 'Hi', '--context-full', 'explode'], /expected stop or drop, found 'explode'/);
    refused(['-p', 'Hi', '--think-tokens', '-2'], /expected a whole number from -1/);
    refused(['-p', 'Hi', '--chat-template', '/no/such'], /can't open/, 3);
    refused(['-p', 'Hi', '--kwargs', '['], /kwargs|JSON/i);
    const template = temporary('wrong.jinja', "{{ raise_exception('no such thing') }}");
    refused(['-p', 'Hi', '--chat-template', template], /no such thing/);
    const plain = sluice(['chat', '-p', 'Hi', '--top-logprobs', '3']);
    assert.match(plain.err, /--top-logprobs shows nothing without --json/);
  });

  it('sessions that cannot be written', () => {
    refused(['-p', 'Hi', '--session', temporaryDirectory()], /is no regular file/);
    refused(['-p', 'Hi', '--session', '/no/such/session'], /No such file/, 1);
  });

  it('nothing of an ordinary template', () => {
    assert.equal(chat(['-p', 'Hi', '-n', '2', '--chat-template', marked]).status, 0);
  });
});
