// engine.chat.completions and engine.completions: requests, and the order in which they are answered.
import { deferred } from '../promises.js';
import { ReadQueue, type Reader } from '../read-queue.js';
import { ChatChunks, TextChunks, WholeChat, WholeText, headOf, type Sink } from './answers.js';
import { Figures } from './figures.js';
import { Line } from './line.js';
import { Reply, type ChatHooks, type Ending } from './reply.js';
import { checkSignals, takeRequestOptions, watchLimits, type Limits } from './request-options.js';
import { takeChatRequest, takeTextRequest, type TakenRequest } from './request.js';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletions,
  Completions,
  TextCompletion,
  TextCompletionChunk,
} from './types.js';

/** The reader of a streamed answer. */
interface Reading {
  /** An answer begins. */
  begun(): void;
  /** See ReadQueue. */
  room(): Promise<void> | null;
}

/** For an answer that is not streamed: there is always room. */
const AT_ONCE: Reading = { begun: () => {}, room: () => null };

/** A request with its signals and its timeout. */
type Limited = TakenRequest & { limits: Limits };

const limited = (taken: TakenRequest, options: unknown): Limited => ({
  ...taken,
  limits: takeRequestOptions(options, taken.signal),
});

export class Chat {
  readonly #line: Line;
  /** The answer that is being written. */
  #reply: Reply | null = null;

  readonly chat: { readonly completions: ChatCompletions };
  readonly completions: Completions;

  constructor(
    readonly hooks: ChatHooks,
    queueLimit: number,
  ) {
    this.#line = new Line(queueLimit);
    const chat = (body: unknown, options?: unknown): Promise<unknown> =>
      this.#createChat(body, options);
    const text = (body: unknown, options?: unknown): Promise<unknown> =>
      this.#createText(body, options);
    this.chat = { completions: { create: chat as ChatCompletions['create'] } };
    this.completions = { create: text as Completions['create'] };
  }

  /** The engine has ended. */
  end(error: unknown): void {
    this.#line.end(error);
    this.#reply?.end(error);
  }

  async #createChat(
    body: unknown,
    options: unknown,
  ): Promise<ChatCompletion | Reader<ChatCompletionChunk>> {
    const taken = limited(takeChatRequest(body), options);
    const head = headOf('chatcmpl', this.hooks.info());
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
    const taken = limited(takeTextRequest(body), options);
    const head = headOf('cmpl', this.hooks.info());
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
    const stop = new AbortController();
    const chunks = new ReadQueue<Chunk>(() => stop.abort());
    const reader = chunks.reader();
    const { release, inTime } = watchLimits(taken.limits, (error) => {
      stop.abort(error);
      chunks.end({ error }, true);
    });
    const begun = deferred();
    begun.promise.then(inTime, () => {});
    const sink = sinkFor((chunk) => chunks.push(chunk));
    const reading = { begun: begun.resolve, room: () => chunks.room() };
    this.#answer(taken, sink, stop.signal, reading)
      .then(
        () => chunks.end(),
        (error: unknown) => {
          begun.reject(error);
          chunks.end({ error });
        },
      )
      .finally(release);
    await begun.promise;
    return reader;
  }

  async #answer(
    taken: Limited,
    sink: Sink,
    signal: AbortSignal,
    reading: Reading = AT_ONCE,
  ): Promise<void> {
    checkSignals(taken.limits);
    this.hooks.admit();
    const leave = await this.#line.enter(signal);
    try {
      const figures = new Figures();
      const { prompts, n } = taken;
      const last = prompts.length * n - 1;
      for (let index = 0; index <= last; ++index) {
        await reading.room();
        const { finish, stats } = await this.#write(taken, index, sink, signal, reading);
        figures.add(stats, index % n === 0);
        sink.ended(index, finish, index === last ? figures : null);
      }
    } finally {
      leave();
    }
  }

  async #write(
    taken: TakenRequest,
    index: number,
    sink: Sink,
    signal: AbortSignal,
    { begun: onBegun, room }: Reading,
  ): Promise<Ending> {
    this.hooks.admit();
    const { maxTokens, thinkingTokens, logprobs, onPromptProgress, state } = taken;
    const prompt = taken.prompts[Math.floor(index / taken.n)] as TakenRequest['prompts'][number];
    const reply = new Reply(this.hooks, {
      begun: (begun) => (sink.begun(index, begun), onBegun()),
      tokens: (tokens) => sink.tokens(index, tokens),
      progress: onPromptProgress,
      room,
    });
    this.#reply = reply;
    return reply.run(
      (id) => ({
        ...{ type: 'chat', id, prompt, maxTokens, thinkingTokens, bytes: logprobs, state },
        options: taken.options(index % taken.n),
        progress: onPromptProgress !== undefined,
      }),
      signal,
    );
  }
}
