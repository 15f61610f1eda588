// engine.chat.completions and engine.completions: requests and answers in OpenAI's shapes, written as all answers are (answers.ts).
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletions,
  Completions,
  TextCompletion,
  TextCompletionChunk,
} from '../../shared/chat-types.js';
import { deferred } from '../../shared/promises.js';
import { show } from '../options.js';
import { streamOf, type Reader } from '../read-queue.js';
import { PageSession } from '../session.js';
import { NO_STATE } from './answer-request.js';
import type { Answers } from './answers.js';
import { field, wrong } from './body.js';
import { Figures } from './figures.js';
import { checkSignals, takeRequestOptions, watchLimits, type Limits } from './request-options.js';
import { answerOf, takeChatRequest, takeTextRequest, type TakenRequest } from './request.js';
import { ChatChunks, TextChunks, WholeChat, WholeText, headOf, type Sink } from './shapes.js';

/** The reader of a streamed answer. */
interface Reading {
  /** An answer begins. */
  begun(): void;
  /** See ReadQueue. */
  room(): Promise<void> | null;
}

/** For an answer that is not streamed: there is always room. */
const AT_ONCE: Reading = { begun: () => {}, room: () => null };

/** A request with its signals, its timeout and its session. */
interface Limited extends TakenRequest {
  limits: Limits;
  /** Null: the engine chooses one. */
  session: PageSession | null;
}

export class Chat {
  readonly #answers: Answers;

  readonly chat: { readonly completions: ChatCompletions };
  readonly completions: Completions;

  constructor(answers: Answers) {
    this.#answers = answers;
    const chat = (body: unknown, options?: unknown): Promise<unknown> =>
      this.#createChat(body, options);
    const text = (body: unknown, options?: unknown): Promise<unknown> =>
      this.#createText(body, options);
    this.chat = { completions: { create: chat as ChatCompletions['create'] } };
    this.completions = { create: text as Completions['create'] };
  }

  #limited(taken: TakenRequest, options: unknown): Limited {
    const { session: given, ...limits } = takeRequestOptions(options, taken.signal);
    const session = this.#sessionOf(given);
    if (session !== null && taken.state !== null) throw wrong('state', NO_STATE);
    return { ...taken, limits, session };
  }

  #sessionOf(given: unknown): PageSession | null {
    if (given === undefined) return null;
    const { ask } = this.#answers.hooks;
    const own = field('session', () => given instanceof PageSession && given.asks(ask));
    if (own) return given as PageSession;
    throw wrong(
      'session',
      `session is ${show(given)}; give a session of this engine, as engine.session() makes them`,
    );
  }

  async #createChat(
    body: unknown,
    options: unknown,
  ): Promise<ChatCompletion | Reader<ChatCompletionChunk>> {
    const taken = this.#limited(takeChatRequest(body), options);
    const head = headOf('chatcmpl', this.#answers.hooks.info());
    if (taken.stream)
      return this.#stream<ChatCompletionChunk>(taken, (push) => new ChatChunks(head, taken, push));
    const sink = new WholeChat(head, taken);
    await this.#whole(taken, sink);
    return sink.whole;
  }

  async #createText(
    body: unknown,
    options: unknown,
  ): Promise<TextCompletion | Reader<TextCompletionChunk>> {
    const taken = this.#limited(takeTextRequest(body), options);
    const head = headOf('cmpl', this.#answers.hooks.info());
    if (taken.stream)
      return this.#stream<TextCompletionChunk>(taken, (push) => new TextChunks(head, taken, push));
    const sink = new WholeText(head, taken);
    await this.#whole(taken, sink);
    return sink.whole;
  }

  async #whole(taken: Limited, sink: Sink): Promise<void> {
    const stop = new AbortController();
    const { release } = watchLimits(taken.limits, (reason) => stop.abort(reason));
    try {
      await this.#answer(taken, sink, stop.signal);
    } finally {
      release();
    }
  }

  /** Resolves when the first answer begins. Earlier errors reject the promise, later ones are thrown by the stream. */
  async #stream<Chunk>(
    taken: Limited,
    sinkFor: (push: (chunk: Chunk) => void) => Sink,
  ): Promise<Reader<Chunk>> {
    const begun = deferred();
    const { queue, start } = streamOf<Chunk>(
      async (out, signal) => {
        const sink = sinkFor((chunk) => out.push(chunk));
        await this.#answer(taken, sink, signal, { begun: begun.resolve, room: () => out.room() });
      },
      (end) => {
        const { release, inTime } = watchLimits(taken.limits, end);
        begun.promise.then(inTime, () => {});
        return release;
      },
    );
    const reader = queue.reader();
    start().catch(begun.reject);
    await begun.promise;
    return reader;
  }

  async #answer(
    taken: Limited,
    sink: Sink,
    signal: AbortSignal,
    reader: Reading = AT_ONCE,
  ): Promise<void> {
    checkSignals(taken.limits);
    const leave = await this.#answers.enter(taken.session, signal);
    try {
      const figures = new Figures();
      const { prompts, n } = taken;
      const last = prompts.length * n - 1;
      for (let index = 0; index <= last; ++index) {
        await reader.room();
        const { finish, stats } = await this.#answers.write(
          answerOf(taken, index),
          taken.session,
          {
            begun: (begun) => {
              sink.begun(index, begun);
              reader.begun();
            },
            parts: (parts) => {
              sink.parts(index, parts);
              return reader.room();
            },
          },
          signal,
        );
        figures.add(stats, index % n === 0);
        sink.ended(index, finish, index === last ? figures : null);
      }
    } finally {
      leave();
    }
  }
}
