// Uses the published types as strictly as a site may: an `any` among them, or a type that is missing, is an error here.
import {
  Engine,
  SluiceError,
  cache,
  configure,
  createOpenAIFetch,
  foldParts,
  states,
  type Answer,
  type AnswerMessage,
  type AnswerPart,
  type ChatCompletion,
  type ChatCompletionChunk,
  type Completion,
  type ModelInfo,
  type Session,
  type Token,
} from '@sluice/engine';

/** An error unless T is exactly U. */
type Same<T, U> =
  (<X>() => X extends T ? 1 : 2) extends <X>() => X extends U ? 1 : 2 ? true : false;
const same = <T, U>(..._: Same<T, U> extends true ? [] : [never]): void => {};

export async function use(source: File, signal: AbortSignal): Promise<string> {
  configure({
    baseUrl: new URL('https://cdn.example/sluice/'),
    wasmUrl: (file) => `/wasm/${file}`,
    workerUrl: '/workers/',
  });
  const engine = await Engine.load(source, { signal, onProgress: (p) => console.log(p.loaded) });
  same<typeof engine.info, ModelInfo>();

  const session: Session = engine.session();
  for await (const token of session.generate('Once')) same<typeof token, Token>();
  for await (const token of session.resume()) same<typeof token, Token>();
  const tokens = engine.generate([1, 2], { maxTokens: 3 });
  const first = await tokens.next();
  same<typeof first, IteratorResult<Token, undefined>>();
  const { text } = first.value ?? { text: '' };
  same<typeof text, string>();
  await tokens.return?.();

  same<Awaited<typeof tokens.ending>, Completion>();

  const messages = [{ role: 'user', content: 'Why?' }];
  const parts = engine.answer({ messages, thinking: true, signal });
  let message = foldParts([]);
  for await (const part of parts) {
    same<typeof part, AnswerPart>();
    message = foldParts([part], message);
  }
  same<typeof message, AnswerMessage>();
  const whole = await parts.ending;
  same<typeof whole, Answer>();
  for await (const part of session.answer({ messages: [...messages, message] }))
    same<typeof part, AnswerPart>();
  const answer = await engine.chat.completions.create({ messages });
  same<typeof answer, ChatCompletion>();
  const stream = await engine.chat.completions.create({ messages, stream: true });
  for await (const chunk of stream) same<typeof chunk, ChatCompletionChunk>();

  const kept = await cache.list();
  const all = await states.list();
  same<(typeof kept)[number]['bytes'], number>();
  same<(typeof all)[number]['id'], string>();
  const fetcher: typeof fetch = createOpenAIFetch(engine);
  await fetcher('/v1/models');
  try {
    await engine.ready;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'aborted') return error.message;
  }
  await engine[Symbol.asyncDispose]();
  return text;
}
