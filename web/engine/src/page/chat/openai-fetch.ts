// A function like fetch for OpenAI's client, which an engine answers. Nothing goes to the network.
import { SluiceError, namedText } from '../../shared/errors.js';
import { invalid, show } from '../options.js';
import { unlessAborted } from '../../shared/promises.js';
import type { AsyncStream, ModelInfo } from '../../shared/types.js';
import { modelName } from './shapes.js';
import { wrong } from './body.js';
import type { Embeddings } from '../../shared/vector-types.js';
import type { ChatCompletions, Completions } from '../../shared/chat-types.js';

/** What answers: an Engine. */
export interface OpenAIEngine {
  readonly chat: { readonly completions: ChatCompletions };
  readonly completions: Completions;
  readonly embeddings: Embeddings;
  readonly info: ModelInfo;
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
/** Answers a request from the text of its body. */
type Respond = (
  engine: OpenAIEngine,
  body: string,
  signal: AbortSignal | null,
) => Promise<Response>;

interface Route {
  path: RegExp;
  method: 'GET' | 'POST';
  answer(match: RegExpExecArray): Respond;
}

/** An error as OpenAI's servers send it. */
interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

interface Failure {
  status: number;
  body: ErrorBody;
}

function failure(
  status: number,
  message: string,
  code: string | null,
  param: string | null = null,
): Failure {
  const type =
    status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  return { status, body: { error: { message, type, param, code } } };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof SluiceError)) return failure(500, namedText(error), null);
  const { code, message, param = null } = error;
  if (code === 'invalid_argument') return failure(400, message, code, param);
  if (code === 'unsupported_model') return failure(400, message, code);
  if (code === 'context_full') return failure(400, message, 'context_length_exceeded');
  return failure(code === 'busy' ? 429 : 500, message, code);
}

function json(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

function refusal({ status, body }: Failure, headers: Record<string, string> = {}): Response {
  // The client should retry only a full queue: any other failure would repeat.
  return json(body, status, { ...headers, 'x-should-retry': String(status === 429) });
}

/** What fetch throws after an abort. Older browsers have no reasons. */
function reasonOf(signal: AbortSignal): unknown {
  return (signal.reason as unknown) ?? new DOMException('the request was aborted', 'AbortError');
}

/** The chunks as server-sent events. Cancelling the stream ends the request; an error is sent as the last event. */
function eventsOf(
  chunks: AsyncStream<object>,
  signal: AbortSignal | null,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const send = (data: string): void =>
          controller.enqueue(encoder.encode(`data: ${data}\n\n`));
        try {
          const { done, value } = await chunks.next();
          if (done !== true) return send(JSON.stringify(value));
          send('[DONE]');
        } catch (error) {
          // After an abort the stream fails, as when a connection is cut.
          if (signal?.aborted) return controller.error(reasonOf(signal));
          send(JSON.stringify(failureOf(error).body));
        }
        controller.close();
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Fields whose values JSON can't hold. */
const OF_CODE = ['signal', 'on_prompt_progress'];

/** What `create` makes of a body. */
type Create = (engine: OpenAIEngine, body: object) => Promise<object | AsyncStream<object>>;

function create(of: Create): Respond {
  return async (engine, text, signal) => {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return refusal(failure(400, 'the body is not JSON; send an object', null));
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid(`the body is ${show(body)}; send an object`);
    for (const name of OF_CODE)
      if ((body as Record<string, unknown>)[name] != null)
        throw wrong(name, `unknown field '${name}': only code can give it`);
    const answer = await of(engine, { ...body, signal });
    if (!(Symbol.asyncIterator in answer)) return json(answer);
    return new Response(eventsOf(answer, signal), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    });
  };
}

/** The model's `created` in answers to the client: when this script was loaded. */
const CREATED = Math.floor(Date.now() / 1000);

function modelOf({ info }: OpenAIEngine): { id: string } & Record<string, unknown> {
  return { id: modelName(info), object: 'model', created: CREATED, owned_by: 'sluice' };
}

/** The decoded part, or the part itself if it can't be decoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const MODELS: Respond = async (engine) => json({ object: 'list', data: [modelOf(engine)] });

const ROUTES: readonly Route[] = [
  {
    path: /\/chat\/completions\/?$/,
    method: 'POST',
    answer: () => create((engine, body) => engine.chat.completions.create(body as never)),
  },
  {
    path: /\/completions\/?$/,
    method: 'POST',
    answer: () => create((engine, body) => engine.completions.create(body as never)),
  },
  {
    path: /\/embeddings\/?$/,
    method: 'POST',
    answer: () => create((engine, body) => engine.embeddings.create(body as never)),
  },
  { path: /\/models\/?$/, method: 'GET', answer: () => MODELS },
  {
    path: /\/models\/(.+)$/,
    method: 'GET',
    answer:
      ([, name = '']) =>
      async (engine) => {
        const model = modelOf(engine);
        if (decoded(name) === model.id) return json(model);
        const message = `there is no model ${show(name)}; this engine has ${show(model.id)}`;
        return refusal(failure(404, message, 'model_not_found', 'model'));
      },
  },
];

/**
 * A fetch function for OpenAI's client: `new OpenAI({ apiKey: 'none', baseURL: 'http://sluice.local/v1', fetch,
 * dangerouslyAllowBrowser: true })`. It answers POST /chat/completions, /completions and /embeddings, GET /models and /models/{id},
 * whatever the address before them is. `engine`: an Engine, or a function that is called for each request. Rejects only when the
 * request's signal fires; every other error is a response.
 */
export function createOpenAIFetch(
  engine: OpenAIEngine | (() => OpenAIEngine | Promise<OpenAIEngine>),
): Fetch {
  return async (input, init = {}) => {
    const request = input instanceof Request ? input : null;
    const signal = init.signal ?? request?.signal ?? null;
    if (signal?.aborted) throw reasonOf(signal);
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
    try {
      const { pathname } = new URL(request?.url ?? String(input), 'http://sluice.local');
      const found = ROUTES.map((route) => ({ route, match: route.path.exec(pathname) })).find(
        ({ match }) => match !== null,
      );
      if (found?.match == null)
        return refusal(failure(404, `there is no ${pathname} here`, 'unknown_url'));
      const { route, match } = found;
      if (route.method !== method) {
        const message = `${pathname} takes ${route.method}, not ${method}`;
        return refusal(failure(405, message, 'method_not_supported'), { allow: route.method });
      }
      const body = await (init.body == null && request !== null
        ? request.text()
        : new Response(init.body ?? '').text());
      const answering =
        typeof engine === 'function' ? await unlessAborted(engine(), signal ?? undefined) : engine;
      return await route.answer(match)(answering, body, signal);
    } catch (error) {
      // As fetch, rejects with the signal's reason.
      if (signal?.aborted) throw reasonOf(signal);
      return refusal(failureOf(error));
    }
  };
}
