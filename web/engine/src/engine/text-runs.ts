// The calls that compute texts as they are, embed() and fillMask(), one after the other, in a session of their own. The texts of
// a call are encoded in slices, then computed by a run beside those of the other sessions, in groups, so that a long list takes
// no more memory than a group.
import type {
  EncodingHandle,
  EngineHandle,
  SessionHandle,
  SluiceModule,
} from '../../../../wasm/module.js';
import { check, parseAnswer } from './module-answers.js';
import type { EngineCalls, VectorsItem } from '../shared/calls.js';
import { SluiceError, toErrorData, type ErrorData } from '../shared/errors.js';
import type { Reply } from '../shared/replies.js';
import type { RunReport, RunSession, Runs } from './runs.js';
import type { Logits, ModelInfo } from '../shared/types.js';
import { finishVector } from '../shared/vectors.js';
import type { FilledMask } from '../shared/vector-types.js';

/** The number of the session. That of chats is -1, the page's own are numbered from 0 on. */
const TEXTS_SESSION = -2;
/** A group of texts has so many texts or tokens, or a few more. */
const GROUP = { texts: 512, tokens: 32768 };
/** How often the page gets news. */
const NEWS_MS = 100;
/** The core's numbers of poolings. */
const POOLINGS = { file: 0, mean: 1, cls: 2, last: 3 } as const;

/** A call that waits or is worked on. */
type TextCall =
  | { name: 'embed'; args: EngineCalls['embed']['args']; reply: Reply<number, VectorsItem> }
  | { name: 'fillMask'; args: EngineCalls['fillMask']['args']; reply: Reply<FilledMask[]> };

/** The call that is worked on. */
interface Job {
  call: TextCall;
  texts: EngineCalls['embed']['args']['texts'];
  truncate: boolean;
  /** The next text to encode, and that text while it is encoded, with its ids so far. */
  next: number;
  encoding: EncodingHandle | null;
  ids: number[];
  /** The ids of the group's texts. */
  group: ArrayLike<number>[];
  groupTokens: number;
  session: RunSession | null;
  /** The group is being computed. */
  running: boolean;
  /** Of the group's vectors, those that the page has. */
  sent: number;
  /** Of fillMask: the places of the masks. */
  masks: number[];
  /** Tokens of the groups that are done. */
  tokens: number;
  lastNews: number;
}

export class TextRuns {
  readonly #calls: TextCall[] = [];
  #job: Job | null = null;

  constructor(
    readonly module: SluiceModule,
    readonly engine: EngineHandle,
    readonly info: ModelInfo,
    readonly runs: Runs,
    /** There is work, or a session has advanced. */
    readonly moved: () => void,
    /** The worker's own error from this script's. */
    readonly told: (data: ErrorData) => SluiceError,
  ) {}

  /** Whether slice() has something to do. */
  get busy(): boolean {
    return this.#calls.length > 0 && this.#job?.running !== true;
  }

  embed(args: EngineCalls['embed']['args'], reply: Reply<number, VectorsItem>): void {
    this.#add({ name: 'embed', args, reply });
  }

  fillMask(args: EngineCalls['fillMask']['args'], reply: Reply<FilledMask[]>): void {
    this.#add({ name: 'fillMask', args, reply });
  }

  #add(call: TextCall): void {
    call.reply.oncancel = () => {
      this.#end(call);
      this.moved();
    };
    this.#calls.push(call);
    this.moved();
  }

  /** Encodes texts until that time, or until their run begins. */
  slice(until: number): void {
    do this.#step();
    while (this.busy && performance.now() < until);
  }

  #step(): void {
    const [call] = this.#calls;
    if (call === undefined || this.#job?.running === true) return;
    this.#work(call, () => {
      this.#job ??= newJob(call);
      if (this.#encode(this.#job)) this.#start(this.#job);
    });
  }

  /** Works on a call; an error is the call's. */
  #work(call: TextCall, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.#fail(call, this.told(toErrorData(error)));
    }
  }

  #fail(call: TextCall, error: SluiceError): void {
    this.#end(call);
    call.reply.fail(error);
  }

  /** Encodes a piece of the next text. True: the group is complete. */
  #encode(job: Job): boolean {
    const { call, group } = job;
    const given = job.texts[job.next];
    if (given === undefined || group.length >= GROUP.texts || job.groupTokens >= GROUP.tokens)
      return true;
    if (typeof given !== 'string') {
      this.#addText(job, this.#fitting(job, given));
      return false;
    }
    job.encoding ??= new this.module.Encoding(
      this.engine,
      this.#prefix(call) + given,
      call.name === 'fillMask',
    );
    const more = job.encoding.step();
    for (const id of job.encoding.take()) job.ids.push(id);
    if (more) return false;
    job.encoding.delete();
    job.encoding = null;
    const ids = job.ids.splice(0);
    this.#addText(job, this.engine.textIds(ids, job.truncate ? this.#most : 0));
    return false;
  }

  /** The most tokens of a text. */
  get #most(): number {
    return this.info.memory?.contextSize ?? Infinity;
  }

  #prefix(call: TextCall): string {
    if (call.name === 'fillMask') return '';
    const { prefix, kind } = call.args;
    if (prefix !== null) return prefix;
    return kind === '' ? '' : this.engine.textPrefix(kind === 'query');
  }

  #fitting({ truncate }: Job, ids: readonly number[]): readonly number[] {
    return truncate ? ids.slice(0, this.#most) : ids;
  }

  #addText(job: Job, ids: ArrayLike<number>): void {
    const { length } = ids;
    const one = job.texts.length === 1;
    const what = one ? 'the text' : `text ${job.next} of the list (counted from 0)`;
    if (length === 0)
      throw new SluiceError('invalid_argument', `${what} is empty; give at least one token`);
    if (length > this.#most)
      throw new SluiceError(
        'context_full',
        `${what} has ${length} tokens; the context takes ${this.#most}: give a shorter text, or call engine.embed with truncate: true`,
        { facts: { tokens: length, room: this.#most } },
      );
    job.group.push(ids);
    job.groupTokens += length;
    job.next += 1;
  }

  /** Starts the run of a group. */
  #start(job: Job): void {
    const { call, group } = job;
    job.session ??= this.runs.add(TEXTS_SESSION, new this.module.Session(this.engine));
    const { handle } = job.session;
    if (call.name === 'fillMask') {
      const ids = Int32Array.from(group[0] ?? []);
      job.masks = this.#masks(ids);
      check(handle.startLogits(ids, 0, job.masks));
    } else {
      const lengths = Int32Array.from(group, ({ length }) => length);
      const ids = new Int32Array(job.groupTokens);
      let at = 0;
      for (const one of group) {
        ids.set(one, at);
        at += one.length;
      }
      check(handle.startVectors(ids, lengths, POOLINGS[call.args.pooling]));
    }
    job.running = true;
    job.sent = 0;
    const report: RunReport = {
      held: false,
      item: null,
      done: () => this.#work(call, () => this.#done(job, handle)),
      failed: (error) => this.#fail(call, error),
    };
    this.runs.begin(job.session, report, { advanced: () => this.#tell(job, handle, false) });
  }

  /** The places of the masks. Throws if there is none. */
  #masks(ids: Int32Array): number[] {
    const mask = this.engine.mask();
    const masks = Array.from(ids.keys()).filter((i) => ids[i] === mask);
    if (masks.length > 0) return masks;
    throw new SluiceError(
      'invalid_argument',
      mask < 0
        ? "the model's vocabulary has no mask token, so no word can be left open"
        : `the text has no mask; write ${this.engine.tokenText(mask)} in place of the word to be found`,
    );
  }

  /** Sends the vectors that are new. They are not sent one by one. */
  #tell(job: Job, handle: SessionHandle, all: boolean): void {
    const { call } = job;
    if (call.name !== 'embed') return;
    if (!all && performance.now() - job.lastNews < NEWS_MS) return;
    job.lastNews = performance.now();
    const width = this.info.dimensions ?? 1;
    const { dimensions, normalize } = call.args;
    const size = dimensions || width;
    const rows = handle.vectors(job.sent * width);
    const vectors: Float32Array<ArrayBuffer>[] = [];
    for (let at = 0; at < rows.length; at += width)
      vectors.push(finishVector(rows.subarray(at, at + width), size, normalize));
    const done = job.sent + vectors.length;
    const lengths = job.group.slice(job.sent, done).map(({ length }) => length);
    const computed = job.tokens + (all ? job.groupTokens : handle.promptProgress().computed);
    job.sent = done;
    const transfer = vectors.map(({ buffer }) => buffer);
    call.reply.item({ vectors, lengths, computed }, undefined, transfer);
  }

  /** A group is computed. */
  #done(job: Job, handle: SessionHandle): void {
    const { call } = job;
    if (call.name === 'fillMask') {
      const masks = job.masks.map((position, row): FilledMask => {
        const { top } = parseAnswer<Logits>(handle.logits(call.args.top, row));
        const token = (id: number): string => this.engine.tokenText(id);
        return {
          position,
          top: top.map(([id, logprob]) => ({ id, token: token(id), logprob })),
        };
      });
      this.#end(call);
      return call.reply.end(masks);
    }
    this.#tell(job, handle, true);
    job.running = false;
    job.tokens += job.groupTokens;
    job.groupTokens = 0;
    job.group.length = 0;
    if (job.next < job.texts.length) return;
    this.#end(call);
    call.reply.end(job.tokens);
  }

  /** The call has ended: frees what it had. The next one may begin. */
  #end(call: TextCall): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
    if (this.#job?.call !== call) return;
    this.#job.encoding?.delete();
    this.#job = null;
    this.runs.remove(TEXTS_SESSION)?.delete();
  }

  /** Frees what is not a session's. */
  end(): void {
    this.#job?.encoding?.delete();
  }
}

function newJob(call: TextCall): Job {
  return {
    call,
    texts: call.name === 'embed' ? call.args.texts : [call.args.text],
    truncate: call.name === 'embed' && call.args.truncate,
    next: 0,
    encoding: null,
    ids: [],
    group: [],
    groupTokens: 0,
    session: null,
    running: false,
    sent: 0,
    masks: [],
    tokens: 0,
    lastNews: -Infinity,
  };
}
