// Chats in the page: what a conversation computes, that it is right, and requests that come together.
import type { ChatCompletion, ChatCompletionRequest } from '@sluice/engine';
import { expect, test } from './fixtures';
import { PLAIN_TEMPLATE as TEMPLATE, harness, type LibraryWindow } from './library';

declare const window: LibraryWindow;

const TURNS = 40;

interface Message {
  role: string;
  content: string;
}

/** The turn number `i` of the user. */
function said(i: number): string {
  const names = ['Tom', 'Lily', 'Ben', 'the cat', 'Mom', 'a bird', 'the dog'];
  return `\n${i}. Then ${names[i % names.length]} said "`;
}

/** Runs in the page: answers one request after the other, each with a new engine if `fresh`. */
async function talk({
  url,
  load,
  bodies,
  fresh = false,
}: {
  url: string;
  load: object;
  bodies: Omit<ChatCompletionRequest, 'stream'>[];
  fresh?: boolean;
}): Promise<ChatCompletion[]> {
  const { Engine } = window.library;
  const answers: ChatCompletion[] = [];
  let engine = await Engine.load(url, load);
  for (const [i, body] of bodies.entries()) {
    if (fresh && i > 0) {
      await engine.close();
      engine = await Engine.load(url, load);
    }
    answers.push(await engine.chat.completions.create(body));
  }
  await engine.close();
  return answers;
}

function body(messages: Message[], seed: number): Omit<ChatCompletionRequest, 'stream'> {
  return {
    messages: [...messages],
    seed,
    max_tokens: 12,
    chat_template: TEMPLATE,
    logprobs: true,
    top_logprobs: 5,
  };
}

/** What must not depend on what was there before: the text, and every log-probability to its last bit. */
function written({ choices, usage }: ChatCompletion): object {
  return { choices, prompt: usage.prompt_tokens, completion: usage.completion_tokens };
}

test('a conversation computes only what is new, and so does an edit', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  const load = { threads: 1, contextSize: 2048 };
  const found = await page.evaluate(
    async ({ url, load, texts, template }) => {
      const engine = await window.library.Engine.load(url, load);
      const messages: { role: string; content: string }[] = [];
      const ask = (seed: number): Promise<ChatCompletion> =>
        engine.chat.completions.create({
          messages: [...messages],
          seed,
          max_tokens: 12,
          chat_template: template,
          logprobs: true,
          top_logprobs: 5,
        });
      const answers: ChatCompletion[] = [];
      const last = texts.pop() ?? '';
      for (const [i, content] of texts.entries()) {
        messages.push({ role: 'user', content });
        const answer = await ask(i);
        answers.push(answer);
        messages.push({ role: 'assistant', content: answer.choices[0]?.message.content ?? '' });
      }
      const all = [...messages];
      // Another third message, the second one of the user: all that follows is gone.
      messages.splice(2, messages.length, { role: 'user', content: '\nBut then it rained, and' });
      const edited = await ask(99);
      // The conversation as it was goes on.
      messages.splice(0, messages.length, ...all, { role: 'user', content: last });
      const goesOn = await ask(texts.length);
      await engine.close();
      return { answers, edited, goesOn, all };
    },
    { url, load, texts: Array.from({ length: TURNS + 1 }, (_, i) => said(i)), template: TEMPLATE },
  );
  const { answers, edited, goesOn, all } = found;
  expect(answers).toHaveLength(TURNS);
  /** Tokens of the prompt that were computed. */
  const computed = ({ usage }: ChatCompletion): number =>
    usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  /** Tokens whose state the session has after an answer: without the last one of an answer that was cut. */
  const had = ({ usage }: ChatCompletion): number => usage.prompt_tokens + usage.completion_tokens;
  for (const [i, answer] of [...answers, goesOn].entries()) {
    const before = answers[i - 1];
    if (before === undefined) continue;
    const cached = answer.usage.prompt_tokens_details.cached_tokens;
    expect(cached, `turn ${i}`).toBeGreaterThanOrEqual(had(before) - 1);
    expect(answer.timings.prompt_n).toBe(computed(answer));
  }
  // An edit of the third message computes what follows the second one.
  const [first] = answers as [ChatCompletion];
  expect(edited.usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(had(first) - 1);
  expect(edited.usage.prompt_tokens).toBeLessThan(had(first) + 30);

  const turns = [7, TURNS - 1];
  const fresh = await page.evaluate(talk, {
    url,
    load,
    fresh: true,
    bodies: [
      ...turns.map((i) => body([...all.slice(0, 2 * i), { role: 'user', content: said(i) }], i)),
      body([...all.slice(0, 2), { role: 'user', content: '\nBut then it rained, and' }], 99),
      body([...all, { role: 'user', content: said(TURNS) }], TURNS),
    ],
  });
  expect(fresh.map(({ usage }) => usage.prompt_tokens_details.cached_tokens)).toEqual(
    fresh.map(() => 0),
  );
  const expected = [...turns.map((i) => answers[i] as ChatCompletion), edited, goesOn];
  // With these seeds the model writes no text that would be cut into other tokens when it is encoded afresh.
  expect(fresh.map(written)).toEqual(expected.map(written));
});

test('ten requests at once are answered as one by one', async ({ page, site, models }) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  const load = { threads: 1 };
  const bodies = Array.from({ length: 10 }, (_, i) =>
    // Some begin alike.
    body([{ role: 'user', content: `Once upon a time there was ${i % 3} ${said(i)}` }], 1000 + i),
  );
  const alone = await page.evaluate(talk, { url, load, bodies });
  const together = await page.evaluate(
    async ({ url, load, bodies }) => {
      const engine = await window.library.Engine.load(url, load);
      const order: number[] = [];
      // A run of the page's own goes on meanwhile.
      const own = engine.complete('The sun', { maxTokens: 100, temperature: 0, ignoreEos: true });
      const answers = await Promise.all(
        bodies.map(async (body, i) => {
          if (i % 2 === 0) {
            const { choices } = await engine.chat.completions.create(body);
            order.push(i);
            return { text: choices[0]?.message.content, logprobs: choices[0]?.logprobs };
          }
          let text = '';
          const content = [];
          const stream = await engine.chat.completions.create({ ...body, stream: true });
          for await (const { choices } of stream) {
            text += choices[0]?.delta.content ?? '';
            content.push(...(choices[0]?.logprobs?.content ?? []));
          }
          order.push(i);
          return { text, logprobs: { content, refusal: null } };
        }),
      );
      const { text } = await own;
      const afterwards = await engine.complete('The sun', {
        maxTokens: 100,
        temperature: 0,
        ignoreEos: true,
      });
      await engine.close();
      return { answers, order, same: text === afterwards.text };
    },
    { url, load, bodies },
  );
  expect(together.answers).toEqual(
    alone.map(({ choices }) => ({
      text: choices[0]?.message.content,
      logprobs: choices[0]?.logprobs,
    })),
  );
  expect(together.order).toEqual(bodies.map((_, i) => i));
  expect(together.same).toBe(true);
});

test('a chat that is too long is refused, or loses its oldest turns', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(
    async ({ url, texts }) => {
      const engine = await window.library.Engine.load(url, { threads: 1, contextSize: 128 });
      const system = { role: 'system', content: 'Be brief.' };
      const messages = [system, ...texts.map((content) => ({ role: 'user', content }))];
      const refused = await engine.chat.completions.create({ messages }).then(
        () => null,
        ({ code, message }: { code: string; message: string }) => ({ code, message }),
      );
      const body = { messages, truncation: 'auto', max_tokens: 40, temperature: 0 } as const;
      const { choices, usage, dropped_messages } = await engine.chat.completions.create(body);
      // What is left, given by itself.
      const left = [system, ...messages.slice(1 + (dropped_messages ?? 0))];
      const same = await engine.chat.completions.create({ ...body, messages: left });
      const { notes } = engine.stats;
      await engine.close();
      return { refused, choices, usage, dropped_messages, same, notes };
    },
    { url: models.good('stories.gguf'), texts: Array.from({ length: 20 }, (_, i) => said(i)) },
  );
  expect(found.refused).toMatchObject({
    code: 'context_full',
    message: expect.stringContaining('there is room for 127'),
  });
  expect(found.dropped_messages).toBeGreaterThan(5);
  expect(found.dropped_messages).toBeLessThan(20);
  expect(found.usage.prompt_tokens).toBeLessThanOrEqual(128 - 40);
  expect(found.same.dropped_messages).toBe(0);
  expect(found.same.choices).toEqual(found.choices);
  expect(found.same.usage.prompt_tokens).toBe(found.usage.prompt_tokens);
  // The file has no template: the notes say so.
  expect(found.notes.map(({ code }) => code)).toContain('no_chat_template');
});

test('leaving a stream stops the work, and n answers have n seeds', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(
    async ({ url, template }) => {
      const engine = await window.library.Engine.load(url);
      const messages = [{ role: 'user', content: 'Once upon a time' }];
      const body = { messages, chat_template: template, seed: 7 };
      let text = '';
      for await (const { choices } of await engine.chat.completions.create({
        ...body,
        stream: true,
      })) {
        text += choices[0]?.delta.content ?? '';
        if (text.length > 10) break;
      }
      const short = { ...body, max_tokens: 20 };
      const three = await engine.chat.completions.create({ ...short, n: 3 });
      const single: (string | undefined)[] = [];
      for (const seed of [7, 8, 9]) {
        const { choices } = await engine.chat.completions.create({ ...short, seed });
        single.push(choices[0]?.message.content);
      }
      const texts = await engine.completions.create({
        prompt: 'Once upon a time',
        seed: 7,
        max_tokens: 20,
      });
      await engine.close();
      return { text, three, single, texts };
    },
    { url: models.good('stories.gguf'), template: TEMPLATE },
  );
  expect(found.three.choices.map(({ message }) => message.content)).toEqual(found.single);
  expect(new Set(found.single).size).toBe(3);
  expect(found.single[0]?.startsWith(found.text.slice(0, 10))).toBe(true);
  expect(found.three.usage.completion_tokens).toBe(60);
  // The template adds nothing, so the chat is the text.
  expect(found.texts.choices[0]?.text).toBe(found.single[0]);
});

test('reasoning is apart, has its budget, and can be switched off', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url, { threads: 1 });
    const template =
      '{% for m in messages %}{{ m.content }}{% endfor %}' +
      '{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}';
    const body = {
      messages: [{ role: 'user', content: 'Once upon a time there was a girl.' }],
      seed: 3,
      max_tokens: 30,
      chat_template: template,
      logprobs: true,
    };
    const limited = { ...body, reasoning: { max_tokens: 6 } };
    const whole = await engine.chat.completions.create(limited);
    const parts = { reasoning: '', content: '' };
    const order: string[] = [];
    for await (const { choices } of await engine.chat.completions.create({
      ...limited,
      stream: true,
    })) {
      const { content, reasoning_content: reasoning } = choices[0]?.delta ?? {};
      parts.reasoning += reasoning ?? '';
      parts.content += content ?? '';
      if (reasoning || content) order.push(reasoning ? 'reasoning' : 'content');
    }
    const off = await engine.chat.completions.create({ ...body, reasoning_effort: 'none' });
    const endless = await engine.chat.completions.create(body);
    await engine.close();
    return { whole, parts, order, off, endless };
  }, models.good('stories.gguf'));
  const message = found.whole.choices[0]?.message;
  expect(message?.reasoning_content?.length).toBeGreaterThan(5);
  expect(message?.content.length).toBeGreaterThan(5);
  expect(message?.reasoning_content + (message?.content ?? '')).not.toContain('think>');
  expect(found.parts).toEqual({
    reasoning: message?.reasoning_content,
    content: message?.content,
  });
  // All of the reasoning comes first.
  expect(found.order).toEqual([...found.order].sort().reverse());
  const { usage, choices } = found.whole;
  const reasoning = usage.completion_tokens_details.reasoning_tokens;
  expect(reasoning).toBeGreaterThanOrEqual(6);
  expect(reasoning).toBeLessThan(20);
  expect(choices[0]?.logprobs?.content).toHaveLength(usage.completion_tokens - reasoning);
  expect(found.off.choices[0]?.message).not.toHaveProperty('reasoning_content');
  expect(found.off.usage.completion_tokens_details.reasoning_tokens).toBe(0);
  // This model doesn't know the mark that ends reasoning.
  expect(found.endless.choices[0]?.message.content).toBe('');
  expect(found.endless.choices[0]?.finish_reason).toBe('length');
});
