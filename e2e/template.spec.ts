// Chats in the page: the text that the program shows.
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { BUNDLED, NO_NATIVE, nativeBuilt, sluice } from './models';
import { ROOT } from './servers';

declare const window: LibraryWindow;

const CHAT = [
  { role: 'system', content: 'Be brief. ' },
  { role: 'user', content: 'Grüße <|im_end|> 日本 🎉' },
  { role: 'assistant', content: '<think>\nHm.\n</think>\n\nYes.' },
  { role: 'user', content: 'And?' },
];
const TOOLS = [{ type: 'function', function: { name: 'f', description: '"é"', parameters: {} } }];
/** With what templates use: macros, namespaces, loops, filters. */
const TEMPLATE = `{%- macro shown(m) %}<|{{ m.role | upper }}|>{{ m.content | trim }}{% endmacro %}
{%- set ns = namespace(n=0) %}
{%- for m in messages %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ shown(m) }}{% endfor %}
{{ tools | tojson(indent=1) }}{{ 'prompt' if add_generation_prompt }}{{ enable_thinking }}`;

test('applyTemplate gives the text of the program', async ({ page, site, models }, testInfo) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  await harness(page, site);
  const file = testInfo.outputPath('messages.json');
  const chat = { messages: CHAT, tools: TOOLS, enable_thinking: false };
  fs.writeFileSync(file, JSON.stringify(chat));
  const own = testInfo.outputPath('own.jinja');
  fs.writeFileSync(own, TEMPLATE);
  const shared = path.join(ROOT, '../shared/data/templates');
  // Those that tell the date would differ at midnight.
  const others = fs.existsSync(shared)
    ? fs
        .readdirSync(shared)
        .filter((name) => name.endsWith('.jinja'))
        .map((name) => path.join(shared, name))
        .filter((name) => !fs.readFileSync(name, 'utf8').includes('strftime_now'))
    : [];
  const templates = ['', ...[own, ...others].map((name) => fs.readFileSync(name, 'utf8'))];
  const expected = [[], ...[own, ...others].map((name) => ['--chat-template', name])].map(
    (args) => {
      try {
        return sluice('template', BUNDLED, '-f', file, ...args);
      } catch (error) {
        // Some templates refuse a system's message. The program says before whose template it is.
        return String((error as { stderr: unknown }).stderr)
          .replace(/^sluice: error: (.*(?=line \d+ of the template: ))?/, '')
          .trim();
      }
    },
  );
  expect(expected[1]).toContain('2<|USER|>Grüße <|im_end|> 日本 🎉');
  const found = await page.evaluate(
    async ({ url, templates, chat, tools }) => {
      const engine = await window.library.Engine.load(url);
      const texts: string[] = [];
      for (const chatTemplate of templates) {
        const kwargs = { enable_thinking: false };
        const text = engine.applyTemplate(chat, { tools, kwargs, chatTemplate });
        texts.push(await text.catch((error: unknown) => (error as Error).message));
      }
      const { notes } = engine.stats;
      const failure = await engine
        .applyTemplate(chat, { chatTemplate: '\n{{ raise_exception("no") }}' })
        .catch((error: unknown) => String(error));
      await engine.close();
      return { texts, notes, failure };
    },
    { url: models.good('stories.gguf'), templates, chat: CHAT, tools: TOOLS },
  );
  expect(found.texts).toEqual(expected);
  expect(found.notes.map(({ code }) => code)).toContain('no_chat_template');
  expect(found.failure).toContain('line 2 of the template: raise_exception: no');
});
