// Brings an engine the bytes that it wants, as a source does that can be read again, with the faults that a source may
// have: in small pieces, in any order, late.
import { parse } from './module.mjs';

/** The same numbers from 0 to 1 at each run. */
export function random_from(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const FIELDS = 3;
const list_of = (wants, rows) =>
  Array.from({ length: wants.length / FIELDS }, (_, i) => {
    const [offset, ptr, length] = wants.subarray(FIELDS * i, FIELDS * i + FIELDS);
    return { offset, ptr, length, rows };
  });

export class Source {
  /** Wanted and not yet brought. */
  queue = [];
  /** Bytes that were brought, and those of them that came packed. */
  brought = 0;
  packed = 0;

  /**
   * `piece`: the most bytes that come at once. `shuffled`: in any order, otherwise as they are wanted. `late`: the share of
   * calls of serve() that bring nothing. `read(offset, length)`: the bytes of the file. `kept`: a Map of packed chunks by their
   * offset, which come from there, and to which those are added that come from the file.
   */
  constructor(
    opened,
    engine,
    read,
    { piece = Infinity, shuffled = false, late = 0, random = random_from(1), kept = null } = {},
  ) {
    Object.assign(this, { opened, engine, read, piece, shuffled, late, random, kept });
    engine.keepsPacked(kept !== null);
  }

  /** Takes what is wanted now. */
  ask() {
    this.queue.unshift(...list_of(this.engine.rowWants(), true));
    for (const want of list_of(this.engine.wants(Number.MAX_SAFE_INTEGER), false)) {
      for (let at = 0; at < want.length;) {
        const offset = want.offset + at;
        const chunk = this.kept?.get(offset);
        const length = chunk?.length ?? Math.min(this.piece, want.length - at);
        this.queue.push({ ...want, offset, ptr: want.ptr + at, length, chunk });
        at += length;
      }
    }
  }

  /** Brings one piece, if there is any and it isn't late. Returns false if nothing is wanted. */
  serve() {
    this.ask();
    if (this.queue.length === 0) return false;
    if (this.random() < this.late) return true;
    const chosen = this.shuffled ? Math.floor(this.random() * this.queue.length) : 0;
    const [{ offset, ptr, length, rows, chunk }] = this.queue.splice(chosen, 1);
    const { memory } = this.opened;
    new Uint8Array(memory.buffer, ptr, length).set(chunk ?? this.read(offset, length));
    this.brought += length;
    this.packed += chunk?.length ?? 0;
    const { engine } = this;
    parse(rows ? engine.rowsFilled(offset, length) : engine.filled(offset, length, !!chunk));
    for (const heard of list_of(engine.takePacked(), false))
      this.kept.set(heard.offset, new Uint8Array(memory.buffer, heard.ptr, heard.length).slice());
    return true;
  }
}

/** The header, in order. */
function bring_header({ memory }, engine, bytes) {
  while (!engine.hasLayout()) {
    const [offset, ptr, length] = engine.wants(1);
    const part = bytes.subarray(offset, offset + length);
    new Uint8Array(memory.buffer, ptr, part.length).set(part);
    parse(engine.filled(offset, part.length, false));
  }
  parse(engine.buildTokenizer());
}

/** An engine of which as much stays as `memoryBudget` allows, and its source. */
export function load_under(opened, bytes, options, faults = {}) {
  const engine = new opened.module.Engine();
  try {
    parse(engine.open(JSON.stringify(options), [bytes.length], 'rereadable'));
    bring_header(opened, engine, bytes);
  } catch (error) {
    engine.delete();
    throw error;
  }
  const read = (offset, length) => bytes.subarray(offset, offset + length);
  return { engine, source: new Source(opened, engine, faults.read ?? read, faults) };
}

/** Steps sessions in turn, a step each, to their ends. Returns the events of each. Throws if nobody can go on. */
export function run_with(source, sessions) {
  const all = sessions.map(() => []);
  const running = new Set(sessions.keys());
  while (running.size > 0) {
    let waiting = 0;
    for (const i of running) {
      const event = parse(sessions[i].step());
      if (event.event === 'waiting') ++waiting;
      else if (event.event !== 'working') all[i].push(event);
      if (event.event === 'done') running.delete(i);
    }
    if (!source.serve() && waiting > 0 && waiting === running.size)
      throw new Error('all sessions wait, and nothing is wanted');
  }
  return all;
}
