// Hostile text in every place that shows text from outside: nothing runs, nothing is fetched, the page stays usable.
import type { Locator, Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { HUGE, LINE, MARKDOWN, MARKUP, SIGNS, expectUsable, watch } from './hostile';
import { overflow } from './looks';
import { scriptedModel } from './scripted-model';

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

interface Part {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  reasoning?: string;
  attachments?: { name: string; text: string }[];
  model?: string;
}

/** A file of one conversation, as the page exports it. */
function conversationFile(title: string, system: string, parts: Part[]): Buffer {
  const messages = parts.map(
    ({ role, content, reasoning = '', attachments = [], model = '' }, i) => ({
      id: id(i + 1),
      parent: i === 0 ? null : id(i),
      role,
      content,
      reasoning,
      attachments,
      created: 1000 + i,
      finish: 'stop',
      dropped: 1,
      figures:
        role === 'user'
          ? null
          : {
              promptTokens: 1,
              cachedTokens: 0,
              tokens: 1,
              tokensPerSecond: 1,
              ttftMs: 1,
              seed: 1,
              model,
            },
    }),
  );
  const conversation = {
    version: 1,
    id: id(0),
    title,
    named: true,
    system,
    created: 1000,
    changed: 2000,
    messages: Object.fromEntries(messages.map((one) => [one.id, one])),
    chosen: {},
    leaf: id(parts.length),
    model: title,
  };
  const file = { format: 'sluice-conversations', version: 1, conversations: [conversation] };
  return Buffer.from(JSON.stringify(file));
}

async function bring(page: Page, buffer: Buffer): Promise<Locator> {
  const file = { name: '<img src=x onerror=alert(1)>.json', mimeType: 'application/json', buffer };
  await page.locator('.list input[type=file]').setInputFiles(file);
  const item = page.locator('.item-open').first();
  await expect(item).toBeVisible();
  return item;
}

async function unfoldAll(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) details.open = true;
  });
}

test('an imported conversation', async ({ page, site }) => {
  const guard = await watch(page, site.url);
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  await guard.begin();
  const markup = MARKUP.join('\n\n');
  const markdown = MARKDOWN.join('\n\n');
  const name = `${MARKUP[4]} ${SIGNS}`;
  const item = await bring(
    page,
    conversationFile(`${MARKUP[0]}${MARKUP[8]} ${SIGNS} title`, `${markup}${SIGNS}`, [
      {
        role: 'user',
        content: `${markup}\n${markdown}\n${SIGNS}`,
        attachments: [
          { name, text: markup },
          { name: `../${name}`, text: SIGNS },
        ],
      },
      { role: 'assistant', content: markup, reasoning: `${markup}\n\n${markdown}`, model: name },
      { role: 'tool', content: `${markup}${SIGNS}`, model: name },
      { role: 'assistant', content: `${markdown}\n\n${SIGNS}`, reasoning: SIGNS, model: name },
    ]),
  );
  await item.click();
  await expect(page.locator('.message')).toHaveCount(4);
  await unfoldAll(page);
  await expect(page.locator('.message .maths').first()).toBeVisible();
  await guard.expectNothing();
  await expectUsable(page, '#draft');

  // Where the words of a search were found; the question and the field for the title.
  await page.locator('#search').fill('onerror');
  await expect(page.locator('.item-excerpt')).toContainText('onerror');
  await page.locator('#search').fill('');
  await page.locator('.item [aria-haspopup=menu]').click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await expect(page.locator('.renaming input')).toHaveValue(/<script>/);
  await page.locator('.renaming input').press('Enter');
  await guard.expectNothing();

  // It comes back after a reload.
  await guard.begin([site.url]);
  await page.reload();
  await expect(page.locator('.message')).toHaveCount(4);
  await unfoldAll(page);
  await guard.expectNothing();
});

test('deep, wide and long texts', async ({ page, site }) => {
  const guard = await watch(page, site.url);
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  await guard.begin();
  const parts: Part[] = [
    { role: 'user', content: `${LINE}\n${HUGE.join('\n\n')}` },
    ...HUGE.map((content): Part => ({ role: 'assistant', content, reasoning: content })),
    { role: 'assistant', content: LINE, reasoning: LINE },
    { role: 'tool', content: LINE },
  ];
  await (await bring(page, conversationFile('x'.repeat(1000), LINE, parts))).click();
  await expect(page.locator('.message')).toHaveCount(parts.length);
  await guard.expectNothing();
  await expectUsable(page, '#draft');
  // Nothing is wider than the window.
  expect(await overflow(page)).toBe(0);
});

test('files that can not be used', async ({ page, site }) => {
  const guard = await watch(page, site.url);
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  await guard.begin();
  const refusal = page.locator('.list [role=alert]');
  const good = conversationFile('A title', '', [{ role: 'user', content: 'text' }]).toString();
  const bad: [text: string, refused: string][] = [
    ['['.repeat(1 << 20), 'is not JSON'],
    [good.replace('"named":true', `"named":"<img src=x onerror=alert(1)>"`), 'named: '],
    [good.replace('"parent":null', '"parent":"__proto__"'), 'parent: '],
    [good.replace('"messages":{', '"messages":{"__proto__":{"onerror":1},'), 'messages[0]: '],
    [good.replace(id(1), '<script>alert(1)</script>'), 'messages[0]: '],
    ['{"format":"<script>alert(1)</script>"}', 'has no conversations'],
    [LINE, 'is not JSON'],
  ];
  const give = (name: string, text: string): Promise<void> =>
    page.locator('.list input[type=file]').setInputFiles({
      name,
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    });
  for (const [text, refused] of bad) {
    await give(`${MARKUP[4]}.json`, text);
    await expect(refusal).toContainText(refused);
    await expect(page.locator('.item')).toHaveCount(0);
    // What is said of the next file is not what was said of this one.
    await give('other.json', '[]');
    await expect(refusal).toContainText('has no messages');
  }
  await guard.expectNothing();
  await expectUsable(page, '#draft');
});

test("a model's name and answers, and the reader's messages", async ({ page, site, models }) => {
  const name = `${MARKUP[4]} ${MARKUP[8]} \u202egnp`;
  const answers = [
    `${MARKUP.join('\n\n')}`,
    `${MARKDOWN.join('\n\n')}\n\na\u202egnp.exe\u202c \`\u202ecode\``,
    `<think>\n${MARKUP.slice(0, 8).join('\n')}\n${MARKDOWN.slice(0, 8).join('\n')}\n</think>\n\n> > > - ${HUGE[0]?.slice(0, 300)}`,
  ];
  const file = scriptedModel({ name, scripts: answers, thinking: true, contextLength: 32_768 });
  models.models.set('hostile.gguf', file);
  const guard = await watch(page, site.url);
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  await guard.begin([models.url]);
  await page.locator('.chip').click();
  const sheet = page.locator('dialog[open]');
  await sheet.getByLabel('Address').fill(models.good('hostile.gguf'));
  await sheet.locator('.by-address button').click();
  await expect(page.locator('.chip-name')).toContainText('onerror');
  await expect(page.locator('.loading')).toHaveCount(0);
  // A sheet closes when its model is there.
  await expect(sheet).toHaveCount(0);
  await page.locator('.chip').click();
  await unfoldAll(page);
  await expect(sheet).toContainText('onerror');
  await guard.expectNothing();
  await page.keyboard.press('Escape');
  await expect(page.locator('dialog[open]')).toHaveCount(0);

  const field = page.locator('#draft');
  for (const i of answers.keys()) {
    await field.fill(`${MARKUP[i]} ${MARKUP[i + 8]} [a](javascript:alert(1)) ${SIGNS} ${i}`);
    await field.press('Enter');
    const last = page.locator('.message.assistant').nth(i);
    await expect(last.locator('.message-figures')).toBeVisible({ timeout: 150_000 });
    await unfoldAll(page);
    expect((await last.locator('.markdown').last().textContent())?.length).toBeGreaterThan(100);
    await guard.expectNothing();
  }
  await expectUsable(page, '#draft');
});

const LINKS = [
  `prompt=${encodeURIComponent(`${MARKUP.join('\n')}${MARKDOWN.join('\n')}`)}`,
  `prompt=${encodeURIComponent('x<svg onload=alert(1)>\u202e\ufffd')}&view=${encodeURIComponent(MARKUP[0] ?? '')}`,
  `model=${encodeURIComponent("javascript:globalThis.pwned=1;alert('1')")}`,
  `model=${encodeURIComponent('data:text/html,<script>alert(1)</script>')}&temperature=<img src=x onerror=alert(1)>`,
  `model=${encodeURIComponent('https://evil.example/<img src=x onerror=alert(1)>.gguf')}`,
  `model=${encodeURIComponent('hf:evil/../../<script>alert(1)</script>')}`,
  `stop=${encodeURIComponent(MARKUP[4] ?? '')}&__proto__=x&constructor=x&prompt=%ff%d800`,
];

for (const view of ['talk', 'write']) {
  test(`links that open the ${view} view`, async ({ page, site }) => {
    const guard = await watch(page, site.url);
    await page.goto(`${site.url}#view=${view}`);
    await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
    for (const link of LINKS) {
      await test.step(link.slice(0, 60), async () => {
        await page.goto('about:blank');
        await page.goto(`${site.url}#${link.includes('view=') ? '' : `view=${view}&`}${link}`);
        await expect(page.locator('.chip')).toBeVisible();
        await guard.begin([site.url]);
        await guard.expectNothing();
        await expectUsable(page, '#draft, #prompt');
      });
    }
  });
}
