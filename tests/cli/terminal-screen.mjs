// A small terminal for tests: programs run on a pseudo-terminal of util-linux's script, and what they write becomes a
// screen of characters.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM_MS, environment, keep, program, shell, temporaryDirectory } from './helpers.mjs';

const PATIENCE_MS = 60_000; // only a test that fails waits so long

export const lacksScript =
  !shell('script --version').out.includes('util-linux') && "needs util-linux's script";

/** How many columns a character takes. */
function width(char) {
  const code = char.codePointAt(0);
  if (/\p{Mn}|\u200d/u.test(char)) return 0;
  const wide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff);
  return wide ? 2 : 1;
}

/** The characters that a terminal like xterm would show. */
class Screen {
  columns = 80;
  lines = [[]]; // of cells; the second cell of a wide character is ''
  row = 0;
  column = 0;
  #rest = ''; // of an escape sequence that is not complete

  /** The rows. One that a long line went on in is joined with the row before. */
  text() {
    return this.lines
      .map((cells, row) => (cells.continued || row === 0 ? '' : '\n') + this.#line(cells))
      .join('');
  }
  /** The rows as they stand there. */
  rows() {
    return this.lines.map((cells) => this.#line(cells));
  }
  /** The row of the cursor. */
  current() {
    return this.#line(this.lines[this.row]);
  }
  #line(cells) {
    return Array.from(cells, (cell) => cell ?? ' ').join('');
  }

  /** Wraps the line of the cursor anew, as terminals do. */
  resize(columns) {
    let first = this.row;
    while (first > 0 && this.lines[first].continued) first -= 1;
    let last = this.row;
    while (this.lines[last + 1]?.continued) last += 1;
    const parts = this.lines.slice(first, last + 1);
    const cells = parts.flatMap((part, i) =>
      i + 1 < parts.length
        ? Array.from({ length: this.columns }, (_, at) => part[at] ?? ' ')
        : Array.from(part),
    );
    const at = (this.row - first) * this.columns + this.column;
    const rows = Array.from({ length: Math.floor(Math.max(at, cells.length - 1) / columns) + 1 });
    const wrapped = rows.map((_, i) => cells.slice(i * columns, (i + 1) * columns));
    wrapped.forEach((row, i) => (row.continued = i > 0));
    this.lines.splice(first, parts.length, ...wrapped);
    this.columns = columns;
    this.row = first + Math.floor(at / columns);
    this.column = at % columns;
  }

  write(bytes) {
    let text = this.#rest + bytes;
    this.#rest = '';
    while (text !== '') {
      const sequence = /^\u001b(\[([?=>]?)([\d;]*)([@-~])|\][^\u0007]*\u0007|[()].|[^[\]()])/.exec(
        text,
      );
      if (sequence !== null) {
        if (sequence[4] !== undefined && sequence[2] === '')
          this.#control(sequence[4], sequence[3].split(';').map(Number));
        text = text.slice(sequence[0].length);
      } else if (text[0] === '\u001b') {
        this.#rest = text;
        return;
      } else {
        const char = String.fromCodePoint(text.codePointAt(0));
        this.#put(char);
        text = text.slice(char.length);
      }
    }
  }

  #put(char) {
    if (char === '\r') this.column = 0;
    else if (char === '\n') this.#down();
    else if (char === '\b') this.column = Math.max(0, Math.min(this.column, this.columns - 1) - 1);
    else if (char === '\t') this.column = Math.min(this.columns - 1, (this.column | 7) + 1);
    else if (char >= ' ') this.#print(char);
  }
  #down() {
    this.row += 1;
    this.lines[this.row] ??= [];
    this.lines[this.row].continued = false;
  }
  #print(char) {
    const columns = width(char);
    if (this.column + columns > this.columns) {
      this.column = 0;
      this.#down();
      this.lines[this.row].continued = true;
    }
    const cells = this.lines[this.row];
    if (columns === 0) {
      if (this.column > 0) cells[this.column - 1] = (cells[this.column - 1] ?? ' ') + char;
      return;
    }
    // A character that covers one half of a wide one leaves a space in the other.
    if (cells[this.column] === '' && this.column > 0) cells[this.column - 1] = ' ';
    cells[this.column] = char;
    if (columns === 2) cells[this.column + 1] = '';
    else if (cells[this.column + 1] === '') cells[this.column + 1] = ' ';
    this.column += columns;
  }
  #control(letter, numbers) {
    const n = Math.max(1, numbers[0]);
    const cells = this.lines[this.row];
    const at = Math.min(this.column, this.columns - 1);
    switch (letter) {
      case 'A':
        this.row = Math.max(0, this.row - n);
        break;
      case 'B':
        for (let i = 0; i < n; ++i) this.#down();
        break;
      case 'C':
        this.column = Math.min(this.columns - 1, at + n);
        break;
      case 'D':
        this.column = Math.max(0, at - n);
        break;
      case 'G':
        this.column = n - 1;
        break;
      case 'J':
        cells.length = Math.min(cells.length, at);
        this.lines.length = this.row + 1;
        break;
      case 'K':
        cells.length = Math.min(cells.length, at);
        break;
      case 'P':
        cells.splice(at, n);
        break;
      case '@':
        cells.splice(at, 0, ...Array(n).fill(' '));
        break;
      case 'X':
        cells.fill(' ', at, at + n);
        break;
      case 'm':
        break;
      default:
        throw new Error(`the screen does not know CSI ${numbers.join(';')}${letter}`);
    }
  }
}

/** Whether a process runs. One that has ended stays as a zombie where nobody waits for it. */
function runs(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Starts `sluice ARGS` on a terminal of its own. */
export class TerminalProgram {
  screen = new Screen();
  raw = '';
  #child;
  #folder = temporaryDirectory();
  #waiting = new Set();
  ended;

  /** `before`: a line of shell that comes first, like ulimit. */
  constructor(args, env = {}, before = ':') {
    const quoted = args.map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
    const place = `stty cols 80 rows 24; tty > '${join(this.#folder, 'tty')}'; echo $$ > '${join(this.#folder, 'pid')}'`;
    const merged = { ...environment, TERM: 'xterm', HOME: this.#folder, LC_ALL: 'C' };
    delete merged.NO_COLOR;
    delete merged.XDG_STATE_HOME;
    Object.assign(merged, env, { SLUICE: program, SHELL: '/bin/sh' });
    this.#child = keep(
      spawn('script', ['-qec', `${place}; ${before}; exec "$SLUICE" ${quoted}`, '/dev/null'], {
        env: merged,
        timeout: PROGRAM_MS,
        killSignal: 'SIGKILL',
      }),
    );
    const decoder = new TextDecoder();
    this.#child.stdout.on('data', (bytes) => {
      const text = decoder.decode(bytes, { stream: true });
      this.raw += text;
      this.screen.write(text);
      for (const look of this.#waiting) look();
    });
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (status) => {
        for (const look of this.#waiting) look(true);
        resolve(status);
      }),
    );
    // A terminal whose program has ended takes nothing more.
    this.#child.stdin.on('error', () => {});
  }

  type(text) {
    this.#child.stdin.write(text);
  }

  /** Waits until the screen shows a pattern, or until `pattern(screen)` is true. */
  shows(pattern) {
    const found = () =>
      typeof pattern === 'function' ? pattern(this.screen) : pattern.test(this.screen.text());
    return new Promise((resolve, reject) => {
      const failed = (why) => {
        this.#waiting.delete(look);
        clearTimeout(timer);
        reject(new Error(`${pattern} was not shown ${why}:\n${this.screen.text()}`));
      };
      const look = (last = false) => {
        if (!found()) return last === true ? failed('before the end') : undefined;
        this.#waiting.delete(look);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => failed('in time'), PATIENCE_MS);
      this.#waiting.add(look);
      look();
    });
  }

  /** Waits for an empty prompt, in which the cursor stands. */
  prompt(mark = '> ') {
    return this.shows((screen) => screen.current() === mark && screen.column === mark.length);
  }
  /** Waits until the cursor's row is this one. */
  row(text) {
    return this.shows((screen) => screen.current().trimEnd() === text);
  }
  /** Types a line at an empty prompt, and waits for the next one. */
  async line(text) {
    await this.prompt();
    await this.enter(text);
  }
  /** Types the rest of a line, and waits for the prompt below it. */
  async enter(text) {
    const before = this.screen.row;
    this.type(`${text}\r`);
    await this.shows(
      (screen) => screen.row > before && screen.current() === '> ' && screen.column === 2,
    );
  }

  /** Waits until the program answers: what is typed isn't shown. */
  async answers() {
    const tty = readFileSync(join(this.#folder, 'tty'), 'utf8').trim();
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
      const { out } = shell(`stty -F ${tty} -a`);
      // The editor of lines has -iexten.
      if (/\bisig -icanon iexten -echo\b/.test(out)) return;
    }
    throw new Error('the program does not answer');
  }

  resize(columns) {
    this.screen.resize(columns);
    const tty = readFileSync(join(this.#folder, 'tty'), 'utf8').trim();
    const { status, err } = shell(`stty -F ${tty} cols ${columns}`);
    if (status !== 0) throw new Error(err);
  }

  /** Closes the terminal. Resolves when the program has ended. */
  async close() {
    const pid = readFileSync(join(this.#folder, 'pid'), 'utf8').trim();
    this.#child.kill('SIGKILL');
    await this.ended;
    const end = Date.now() + PATIENCE_MS;
    while (runs(pid)) {
      if (Date.now() > end) throw new Error('the program outlived its terminal');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
