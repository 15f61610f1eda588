// sluice chat at a terminal: editing, history, commands, Ctrl-C, other widths, wide characters, a terminal that goes.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { shell, sluice, temporary, temporaryDirectory } from './helpers.mjs';
import { TerminalProgram, lacksScript } from './terminal-screen.mjs';

const short = ['chat', '-n', '4', '--temp', '0', '-q'];
const large = ['chat', '-c', '1048576', '--temp', '0'];
const LEFT = '\u001b[D';
const UP = '\u001b[A';
const CTRL = Object.fromEntries(
  [...'ABCDEKLRUWZ'].map((letter) => [letter, String.fromCharCode(letter.charCodeAt(0) - 64)]),
);

/** The messages that the program has, by /save. */
async function saved(chat) {
  const file = join(temporaryDirectory(), 'saved.json');
  await chat.line(`/save ${file}`);
  return JSON.parse(readFileSync(file, 'utf8'));
}
const said = (messages) =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => content);

async function quit(chat) {
  await chat.prompt();
  chat.type(CTRL.D);
  assert.equal(await chat.ended, 0, chat.screen.text());
}

describe('chat at a terminal', { skip: lacksScript }, () => {
  it('edits the line', async () => {
    const chat = new TerminalProgram(short);
    await chat.prompt();
    chat.type('little dog');
    await chat.row('> little dog');
    chat.type(`${CTRL.A}The ${CTRL.E} ran`);
    await chat.row('> The little dog ran');
    chat.type(`${LEFT.repeat(4)}${CTRL.K}s`);
    await chat.row('> The little dogs');
    chat.type(`\u007f\u007f\u007f\u007f${CTRL.W}big cat`);
    await chat.row('> The big cat');
    chat.type(`${CTRL.A}\u001b[3~\u001b[3~\u001b[3~\u001b[3~A \u001b[F!`);
    await chat.row('> A big cat!');
    await chat.enter('');
    assert.deepEqual(said(await saved(chat)), ['A big cat!']);
    await quit(chat);
  });

  it('says why it does not answer in the place of the line of progress', async () => {
    const template = temporary('plain.jinja', '{% for m in messages %}{{ m.content }}{% endfor %}');
    const text = 'Once upon a time '.repeat(20);
    const chat = new TerminalProgram(['chat', '-c', '32', '-p', text, '--chat-template', template]);
    assert.equal(await chat.ended, 1, chat.screen.text());
    assert.match(chat.screen.text(), /^sluice: error: the prompt has \d+ tokens/);
    assert.doesNotMatch(chat.raw.split('error:')[1], /loading/);
  });

  it('edits wide and combined characters, whatever the locale', async () => {
    for (const locale of ['C', 'C.UTF-8', 'no_SUCH']) {
      const chat = new TerminalProgram(short, { LC_ALL: locale });
      await chat.prompt();
      chat.type('caf\u00e9 \u65e5\u672c\u8a9e');
      await chat.row('> caf\u00e9 \u65e5\u672c\u8a9e');
      assert.equal(chat.screen.column, 2 + 5 + 6);
      chat.type('\u007f');
      await chat.row('> caf\u00e9 \u65e5\u672c');
      chat.type(`${LEFT}\u007f\u{1f436}`);
      await chat.row('> caf\u00e9 \u{1f436}\u672c');
      await chat.enter('');
      assert.deepEqual(said(await saved(chat)), ['caf\u00e9 \u{1f436}\u672c']);
      await quit(chat);
    }
  });

  it('follows the width of the terminal', async () => {
    const chat = new TerminalProgram(short);
    await chat.prompt();
    chat.type('one two three');
    await chat.row('> one two three');
    chat.resize(30);
    const words = ' four five six seven eight nine';
    chat.type(words);
    await chat.shows(
      (screen) =>
        screen.rows().slice(-2).join('|').trimEnd() ===
        '> one two three four five six |seven eight nine',
    );
    chat.resize(60);
    await chat.enter(`${CTRL.A}zero ${CTRL.E} ten`);
    assert.deepEqual(said(await saved(chat)), [`zero one two three${words} ten`]);
    await quit(chat);
  });

  it('takes messages of several lines', async () => {
    const chat = new TerminalProgram(short);
    await chat.prompt();
    chat.type('one\\\r');
    await chat.prompt('. ');
    await chat.enter('two');
    chat.type('"""\r');
    await chat.prompt('. ');
    chat.type('/help\r');
    await chat.row('.'); // the next line
    await chat.enter('"""');
    chat.type('\u001b[200~pasted\rin two lines\r\u001b[201~ and typed');
    await chat.row('in two lines and typed');
    await chat.enter('');
    await chat.line('//etc/passwd');
    // Ctrl-D leaves out a text that was begun; a second one would end the program.
    chat.type('"""lost\r');
    await chat.prompt('. ');
    chat.type('\u0004');
    await chat.prompt();
    assert.deepEqual(said(await saved(chat)), [
      'one\ntwo',
      '/help',
      'pasted\nin two lines and typed',
      '/etc/passwd',
    ]);
    await quit(chat);
  });

  it('goes on after a paste of more than it takes', async () => {
    const chat = new TerminalProgram(short);
    await chat.prompt();
    chat.type(`\u001b[200~${'a word '.repeat(700_000)}\u001b[201~`);
    await chat.shows((screen) => screen.current().trimEnd().endsWith('a w')); // all that fits
    chat.type(CTRL.U);
    await chat.line('after it');
    assert.deepEqual(said(await saved(chat)), ['after it']);
    await quit(chat);
  });

  it('keeps a private history, also for the next program', async () => {
    const state = temporaryDirectory();
    const env = { XDG_STATE_HOME: state };
    const first = new TerminalProgram(short, env);
    await first.line('The dog');
    await first.line('The cat');
    first.type(UP);
    await first.row('> The cat');
    first.type(UP);
    await first.row('> The dog');
    first.type(CTRL.C);
    await quit(first);
    const file = join(state, 'sluice', 'chat_history');
    assert.equal(readFileSync(file, 'utf8'), 'The dog\nThe cat\n');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(state, 'sluice')).mode & 0o777, 0o700);

    const next = new TerminalProgram(short, env);
    await next.prompt();
    next.type(`${UP}${UP}`);
    await next.row('> The dog');
    await next.enter(' ran');
    await quit(next);
    assert.equal(readFileSync(file, 'utf8'), 'The dog\nThe cat\nThe dog ran\n');

    const without = new TerminalProgram([...short, '--no-history'], env);
    await without.prompt();
    without.type(`${UP}nothing before`);
    await without.row('> nothing before');
    await without.enter('');
    await quit(without);
    assert.equal(readFileSync(file, 'utf8'), 'The dog\nThe cat\nThe dog ran\n');
  });

  it('Ctrl-C clears the line; twice in an empty one it ends the program', async () => {
    const chat = new TerminalProgram(['chat', '-n', '4']);
    await chat.prompt();
    chat.type('not this');
    await chat.row('> not this');
    chat.type(CTRL.C);
    await chat.prompt();
    chat.type('one\\\r');
    await chat.prompt('. ');
    chat.type(CTRL.C);
    await chat.prompt();
    chat.type(CTRL.C);
    await chat.shows(/Ctrl-C again, or Ctrl-D, ends the program/);
    await chat.line('A dog');
    chat.type(CTRL.C);
    await chat.shows(/(Ctrl-C again[^]*){2}> $/);
    chat.type(CTRL.C);
    assert.equal(await chat.ended, 0);
    assert.doesNotMatch(chat.screen.text(), /not this\n[^>]/);
  });

  it('Ctrl-C stops an answer and not the program; what was written stays', async () => {
    const chat = new TerminalProgram([...large, '--ignore-eos']);
    await chat.prompt();
    chat.type('A dog\r');
    await chat.shows((screen) => screen.row > 15);
    chat.type(`typed meanwhile${CTRL.C}`);
    await chat.shows(/; stopped\]/);
    await chat.shows((screen) => screen.current().startsWith('> '));
    chat.type(CTRL.U);
    const messages = await saved(chat);
    assert.equal(messages.length, 2);
    assert.ok(messages[1].content.length > 100);
    await chat.line('/set n 3');
    chat.type('And then?\r');
    await chat.shows(/\[3 tokens at/);
    await chat.prompt();
    assert.equal((await saved(chat)).length, 4);
    await quit(chat);
  });

  it('Ctrl-C stops a template that runs for long; the message is taken back', async () => {
    const stopped = 'stopped before a word was written; the message is taken back';
    const endless = temporary(
      'endless.jinja',
      '{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}',
    );
    const chat = new TerminalProgram(['chat', '--chat-template', endless]);
    for (let times = 1; times <= 2; ++times) {
      await chat.prompt();
      chat.type('A dog\r');
      await chat.answers();
      chat.type(CTRL.C);
      await chat.shows(new RegExp(`(${stopped}[^]*){${times}}> $`));
    }
    assert.doesNotMatch(chat.screen.text(), /error/);
    assert.deepEqual(await saved(chat), []);
    await quit(chat);
  });

  it('/edit puts a message into the line', async () => {
    const chat = new TerminalProgram(short);
    await chat.line('The dog');
    await chat.line('The cat');
    chat.type('/edit\r');
    await chat.row('> The cat');
    await chat.enter('s ran');
    assert.deepEqual(said(await saved(chat)), ['The dog', 'The cats ran']);
    chat.type('/edit 1\r');
    await chat.row('> The dog');
    chat.type(CTRL.C); // changes nothing
    await chat.prompt();
    assert.deepEqual(said(await saved(chat)), ['The dog', 'The cats ran']);
    chat.type('/edit 1\r');
    await chat.row('> The dog');
    chat.type(CTRL.U);
    await chat.line('//path');
    assert.deepEqual(said(await saved(chat)), ['/path']);
    chat.type('/edit\r');
    await chat.row('> //path');
    chat.type(CTRL.C);
    await chat.line('/edit 2');
    await chat.shows(/expected a number from 1 to 1/);
    await quit(chat);
  });

  it('/retry answers again with another seed', async () => {
    const args = ['chat', '-n', '12', '--seed', '5', '--temp', '1.5', '--top-k', '0', '-q'];
    const chat = new TerminalProgram(args);
    await chat.line('/retry');
    await chat.shows(/There is no message to answer/);
    await chat.line('The dog');
    const [, first] = await saved(chat);
    await chat.line('/retry');
    const again = await saved(chat);
    assert.equal(again.length, 2);
    assert.notEqual(again[1].content, first.content);
    await quit(chat);
  });

  it('/save and /load keep a conversation, and refuse other files', async () => {
    const file = temporary('conversation.json');
    const chat = new TerminalProgram([...short, '--system', 'Be kind.']);
    await chat.line('The dog');
    await chat.line(`/save ${file}`);
    await chat.shows(/3 messages saved in /);
    const messages = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant'],
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(sluice(['template', '-f', file]).out, /Be kind\.[^]*The dog/);
    await chat.line('/reset');
    assert.deepEqual(await saved(chat), [messages[0]]);
    await chat.line(`/load ${file}`);
    await chat.shows(/3 messages loaded/);
    assert.deepEqual(await saved(chat), messages);
    const text = temporary('text.txt', 'not JSON');
    await chat.line(`/save ${text}`);
    await chat.shows(/text.txt is there already; choose another name/);
    const other = temporary('other.json', '[{"role":"user","content":"x"}]');
    await chat.line(`/save ${other}`);
    await chat.shows(/other.json is there already/);
    assert.equal(readFileSync(text, 'utf8'), 'not JSON');
    await chat.line(`/load ${text}`);
    await chat.shows(/holds no conversation: it is no JSON/);
    const tools = temporary('tools.json', '[{"role":"tool","content":"x"}]');
    await chat.line(`/load ${tools}`);
    await chat.shows(/message 1 has the role 'tool'/);
    await chat.line('/load /no/such/file');
    await chat.shows(/can't open \/no\/such\/file/);
    assert.deepEqual(await saved(chat), messages);
    await quit(chat);
  });

  it('/system, /set, /tokens, /stats, /help and what is none of them', async () => {
    const chat = new TerminalProgram(['chat', '-n', '4', '--temp', '0']);
    await chat.line('/stats');
    await chat.shows(/There is no answer yet/);
    await chat.line('/system Be kind.');
    await chat.line('/system');
    await chat.shows(/\nBe kind\.\n/);
    await chat.line('/set n 7');
    await chat.line('/set --top-k 3');
    await chat.line('/set ignore-eos on');
    await chat.line('/set think off');
    await chat.line('/set stop zebra');
    await chat.line('/set logit-bias 300-1.5 301+2');
    await chat.line('/set');
    await chat.shows(/\n {2}n +7\n/);
    await chat.shows(/\n {2}top-k +3\n/);
    await chat.shows(/\n {2}temp +0\n/);
    await chat.shows(/\n {2}ignore-eos +on\n/);
    await chat.shows(/\n {2}think +off\n/);
    await chat.shows(/\n {2}stop +'zebra'\n/);
    await chat.shows(/\n {2}logit-bias +300-1.5 301\+2\n/);
    await chat.shows(/\n {2}dry-sequence-breaker +'\\n', ':', '"', '\*'\n/);
    await chat.line('The dog');
    await chat.shows(/\[7 tokens at /);
    await chat.line('/set logit-bias none');
    await chat.line('/set');
    await chat.shows(/\n {2}logit-bias +none\n/);
    await chat.line('/set n default');
    await chat.line('/set temp hot');
    await chat.shows(/expected .* found 'hot'/);
    await chat.line('/set temq 1');
    await chat.shows(/no option 'temq'; did you mean temp\?/);
    await chat.line('/set n');
    await chat.shows(/> \/set n\n {2}n +4\n/);
    await chat.line('/set frob');
    await chat.shows(/no option 'frob'/);
    await chat.line('/retry');
    await chat.shows(/\[4 tokens at /);
    await chat.line('/tokens');
    await chat.shows(/3 messages, \d+ of \d+ tokens of the context; \d+ are computed/);
    await chat.line('/stats');
    await chat.shows(/first token after .* seed \d+/);
    await chat.line('/help');
    await chat.shows(/\/tokens +the size/);
    await chat.line('/halp');
    await chat.shows(/there is no command \/halp; \/help lists them/);
    await chat.line('/quit now');
    await chat.shows(/\/quit takes no argument/);
    chat.type('/quit\r');
    assert.equal(await chat.ended, 0);
  });

  it('shows figures dimmed, and no escapes where they are not wanted', async () => {
    const chat = new TerminalProgram(['chat', '-n', '4', '--temp', '0']);
    await chat.line('The dog');
    assert.match(chat.raw, /\u001b\[2m\[4 tokens at [^\u001b]*\]\u001b\[0m/);
    await quit(chat);
    const plain = new TerminalProgram(['chat', '-n', '4', '--temp', '0'], { NO_COLOR: '1' });
    await plain.line('The dog');
    assert.doesNotMatch(plain.raw, /\u001b\[\d*m/);
    await quit(plain);
    const dumb = new TerminalProgram(['chat', '-n', '4', '--temp', '0'], { TERM: 'dumb' });
    await dumb.prompt();
    dumb.type('The dog\r');
    await dumb.shows(/\[4 tokens at/);
    await dumb.prompt();
    assert.ok(!dumb.raw.includes('\u001b'));
    dumb.type(CTRL.D);
    assert.equal(await dumb.ended, 0);
  });

  it('shows thinking dimmed, between marks', async () => {
    const template = temporary(
      'think.jinja',
      "{% for m in messages %}{{ m.role }}: {{ m.content.split('</think>')[-1] }}\n\n{% endfor %}" +
        '{% if add_generation_prompt %}assistant:<think>\n{% endif %}',
    );
    const thinks = ['--chat-template', template, '--think-tokens', '3'];
    const chat = new TerminalProgram(['chat', '-n', '40', '--temp', '0', ...thinks]);
    await chat.line('The dog');
    await chat.shows(/\(thinking\)\n[^]+\n\(end of thinking\)\n\n[^]+ of them thinking;/);
    assert.match(chat.raw, /\u001b\[2m\(thinking\)\u001b\[0m/);
    const [, answer] = await saved(chat);
    assert.ok(answer.reasoning_content.length > 0 && answer.content.length > 0);
    await quit(chat);
  });

  it('shows the last turns of a conversation that goes on, and all with /show', async () => {
    const long = Array.from({ length: 9 }, (_, i) => `line ${i}`).join('\n');
    const said = ['One', '**two**', 'Three', long, 'Five', '\u001b[2Jsix'];
    const file = temporary(
      'said.json',
      JSON.stringify(
        said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
      ),
    );
    const session = join(temporaryDirectory(), 'talk.sluice');
    const chat = new TerminalProgram(['chat', '-n', '4', '--session', session]);
    await chat.line('/show');
    await chat.shows(/There are no messages\./);
    await chat.line(`/load ${file}`);
    await chat.shows(/6 messages loaded\n\(2 earlier messages; \/show shows all\)\n/);
    const last =
      /user:\nThree\n\nassistant:\nline 0\n[^]*line 4 \.\.\.\n\nuser:\nFive\n\nassistant:\n\?\[2Jsix\n/;
    await chat.shows(last);
    assert.match(chat.raw, /\u001b\[2muser:\u001b\[0m/);
    await chat.line('/show');
    await chat.shows(/user:\nOne\n\nassistant:\ntwo\n\nuser:\nThree\n[^]*line 8\n\nuser:\nFive/);
    assert.match(chat.raw, /\u001b\[0;1mtwo\u001b\[0m/);
    await chat.line('/help');
    await chat.shows(/\/show +all messages so far/);
    await quit(chat);
    const next = new TerminalProgram(['chat', '--session', session]);
    await next.prompt();
    await next.shows(/6 messages so far\n\(2 earlier messages/);
    await next.shows(last);
    const second = new TerminalProgram(['chat', '--session', session]);
    assert.equal(await second.ended, 1);
    assert.match(second.screen.text(), /is in use by process \d+; end that one first/);
    await quit(next);
  });

  it('keeps what was typed when the memory ends', async (t) => {
    const limit = 'ulimit -v 250000';
    if (shell(`${limit} && "$SLUICE" --version`).status !== 0)
      return t.skip('the limit can not be set here');
    const session = join(temporaryDirectory(), 'talk.sluice');
    const template = temporary('large.jinja', "{{ 'x' * 260000000 }}");
    const args = ['chat', '-t', '1', '--session', session, '--chat-template', template];
    const chat = new TerminalProgram(args, {}, limit);
    await chat.prompt();
    chat.type('A dog\r');
    assert.equal(await chat.ended, 4, chat.screen.text());
    assert.match(chat.screen.text(), /sluice: error: out of memory\n/);
    const next = new TerminalProgram([...short, '--session', session]);
    await next.line('/retry');
    assert.deepEqual(
      (await saved(next)).map(({ role }) => role),
      ['user', 'assistant'],
    );
    await quit(next);
    return undefined;
  });

  it('Ctrl-\\ ends it, and what was written is saved', async () => {
    const session = join(temporaryDirectory(), 'talk.sluice');
    const chat = new TerminalProgram([...large, '--ignore-eos', '--session', session]);
    await chat.prompt();
    chat.type('A dog\r');
    await chat.shows((screen) => screen.row > 15);
    chat.type('\u001c');
    assert.equal(await chat.ended, 131, chat.screen.text());
    assert.equal(JSON.parse(readFileSync(`${session}.chat.json`, 'utf8')).length, 2);
    assert.ok(existsSync(session));
  });

  it('a terminal that goes ends it quietly, and the session is saved', async () => {
    for (const args of [['--ignore-eos'], ['-n', '4']]) {
      const session = join(temporaryDirectory(), 'talk.sluice');
      const chat = new TerminalProgram([...large, ...args, '--session', session]);
      await chat.prompt();
      chat.type('A dog\r');
      if (args[0] === '--ignore-eos')
        await chat.shows((screen) => screen.row > 15); // in an answer
      else {
        await chat.shows(/\[4 tokens at/);
        await chat.prompt();
      }
      await chat.close();
      assert.ok(existsSync(session));
      const messages = JSON.parse(readFileSync(`${session}.chat.json`, 'utf8'));
      assert.deepEqual(said(messages), ['A dog']);
      assert.equal(messages.length, 2);
      const next = new TerminalProgram([...large, '-n', '3', '--session', session]);
      await next.shows(/2 messages so far/);
      await next.line('And then?');
      const [, reused, computed] = /(\d+) reused, (\d+) computed/.exec(next.screen.text());
      // (Where the model went on after its end, the prompt is other than what it wrote.)
      assert.ok(Number(reused) > 10, reused);
      if (args[0] === '-n') assert.ok(Number(computed) < 20, computed);
      await quit(next);
    }
  });

  it('a file of history that cannot be used is none', async () => {
    const state = temporary('state', 'a file');
    const chat = new TerminalProgram(short, { XDG_STATE_HOME: state });
    await chat.line('The dog');
    assert.deepEqual(said(await saved(chat)), ['The dog']);
    await quit(chat);
    assert.equal(readFileSync(state, 'utf8'), 'a file');
  });
});
