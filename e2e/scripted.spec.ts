// Models that follow a script: the page's other tests rely on their answers.
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { scriptedModel } from './scripted-model';

declare const window: LibraryWindow;

/** Many pieces occur several times, also of one byte; the third is long. */
const SCRIPTS = [
  'the the the the, **the**! A first script, the default.',
  '# Title\n\n```js\nalert("<img src=x onerror=alert(1)>");\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
  Array.from({ length: 150 }, (_, i) => `${i}. Item ${i % 7}: grün 日本 🎉 e\u0301\n`).join(''),
  '<think>\nLet me think, and think.\n\nYes.\n</think>\n\nThe answer is **42**.',
  'x'.repeat(1000),
  '',
  '\n  <|im_end|> <|end|> [EOT] _<EOT> </s> <|script-1|> \u202eabc\u0000 </think>\r\n\t ',
];

/** Runs in the page: asks for every script, whole at temperature 0 and streamed at a high one. */
async function ask({ url, said }: { url: string; said: string[] }): Promise<
  {
    whole: { content: string; reasoning: string; finish: string | null };
    streamed: { content: string; reasoning: string; parts: number };
  }[]
> {
  const engine = await window.library.Engine.load(url, { contextSize: 8192, threads: 1 });
  const answers = [];
  for (const content of said) {
    const messages = [{ role: 'user', content }];
    const { choices } = await engine.chat.completions.create({ messages, temperature: 0 });
    const [choice] = choices;
    const streamed = { content: '', reasoning: '', parts: 0 };
    const free = { temperature: 100, top_k: 0, top_p: 1, min_p: 0 };
    for await (const chunk of await engine.chat.completions.create({
      ...{ messages, ...free, stream: true },
    })) {
      const { content = '', reasoning_content: reasoning = '' } = chunk.choices[0]?.delta ?? {};
      streamed.content += content;
      streamed.reasoning += reasoning;
      if (`${content}${reasoning}` !== '') ++streamed.parts;
    }
    const whole = {
      content: choice?.message.content ?? '',
      reasoning: choice?.message.reasoning_content ?? '',
      finish: choice?.finish_reason ?? null,
    };
    answers.push({ whole, streamed });
  }
  await engine.close();
  return answers;
}

for (const thinking of [false, true]) {
  test(`answers are the scripts${thinking ? ', with reasoning apart' : ''}`, async ({
    page,
    site,
    models,
  }) => {
    await harness(page, site);
    models.models.set(
      'scripted.gguf',
      scriptedModel({ name: 'Scripted', scripts: SCRIPTS, thinking }),
    );
    // The last one has no number.
    const said = [...SCRIPTS.map((_, i) => `Grüße, number ${i}`), 'Hello'];
    const answers = await page.evaluate(ask, { url: models.good('scripted.gguf'), said });
    const expected = [...SCRIPTS, SCRIPTS[0] ?? ''].map((script, i) =>
      thinking && i === 3
        ? { content: 'The answer is **42**.', reasoning: 'Let me think, and think.\n\nYes.' }
        : { content: script, reasoning: '' },
    );
    expect(answers.map(({ whole }) => whole)).toEqual(
      expected.map((answer) => ({ ...answer, finish: 'stop' })),
    );
    expect(answers.map(({ streamed: { content, reasoning } }) => ({ content, reasoning }))).toEqual(
      expected,
    );
    // No token has more than 8 characters.
    for (const { streamed } of answers)
      expect(streamed.parts).toBeGreaterThanOrEqual(streamed.content.length / 8);
  });
}

test('a conversation goes on, and an answer can do without reasoning', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const file = scriptedModel({ name: 'Scripted', scripts: SCRIPTS, thinking: true });
  models.models.set('talk.gguf', file);
  const found = await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url, { contextSize: 8192, threads: 1 });
    const messages = [
      { role: 'system', content: 'Follow the script.' },
      { role: 'user', content: '1' },
    ];
    const create = engine.chat.completions.create.bind(engine.chat.completions);
    const first = await create({ messages, temperature: 0 });
    const text = first.choices[0]?.message.content ?? '';
    messages.push({ role: 'assistant', content: text }, { role: 'user', content: '3' });
    const second = await create({ messages, temperature: 0 });
    const without = await create({ messages, temperature: 0, reasoning_effort: 'none' });
    await engine.close();
    return { first, second, without };
  }, models.good('talk.gguf'));
  expect(found.first.choices[0]?.message.content).toBe(SCRIPTS[1]);
  expect(found.second.choices[0]?.message).toMatchObject({
    content: 'The answer is **42**.',
    reasoning_content: 'Let me think, and think.\n\nYes.',
  });
  // What was written is taken as it is.
  const { usage } = found.first;
  expect(found.second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(
    usage.prompt_tokens + usage.completion_tokens - 1,
  );
  const alone = found.without.choices[0]?.message;
  expect(alone?.content).toBe('The answer is **42**.');
  expect(alone).not.toHaveProperty('reasoning_content');
});
