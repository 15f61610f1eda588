// A page with much in it keeps its memory and its place. (How long things take is measured by bench/page.mjs.)
import { counts } from './bench/page_memory.mjs';
import { code, conversations, long_talk, markdown } from './bench/page_texts.mjs';
import { expect, test } from './fixtures';
import { shiftsSeen, watchShifts } from './in-page';

const json = (name: string, text: string): { name: string; mimeType: string; buffer: Buffer } => ({
  name,
  mimeType: 'application/json',
  buffer: Buffer.from(text),
});

test('memory stays flat while conversations are switched, and nothing shifts', async ({
  page,
  site,
}) => {
  await page.addInitScript(watchShifts);
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  const input = page.locator('.list input[type=file]');
  const item = (title: string) => page.locator('.item-open').filter({ hasText: title });
  const other = [
    { role: 'user', content: 'Other' },
    { role: 'assistant', content: code(20) },
  ];
  await input.setInputFiles(json('long.json', long_talk()));
  await expect(item('Long')).toBeVisible();
  const more = { title: 'Other', messages: [...other, { role: 'tool', content: markdown(2000) }] };
  await input.setInputFiles(json('other.json', JSON.stringify(more)));
  await expect(item('Other')).toBeVisible();

  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  const switchOver = async (): Promise<void> => {
    await item('Long').click();
    await expect(page.locator('.message')).toHaveCount(200);
    // All of it is drawn, the beginning last.
    await expect(page.locator('.message .markdown:empty')).toHaveCount(0);
    await expect(page.locator('.message').last()).toBeInViewport();
    await item('Other').click();
    await expect(page.locator('.message')).toHaveCount(3);
  };
  // The browser itself may keep what it drew last for some moments; a conversation that the page keeps would be 25,000
  // nodes.
  const left = async (): Promise<Awaited<ReturnType<typeof counts>>> => {
    await expect
      .poll(async () => (await counts(cdp)).nodes, { timeout: 30_000 })
      .toBeLessThan(1000);
    return counts(cdp);
  };
  // Once to fetch what draws them.
  await switchOver();
  const first = await left();
  for (let i = 0; i < 8; ++i) await switchOver();
  const last = await left();
  expect(last.nodes).toBeLessThan(first.nodes + 200);
  expect(last.listeners).toBeLessThan(first.listeners + 20);
  expect(last.heap).toBeLessThan(first.heap + 4e6);
  const { sum, what } = await page.evaluate(shiftsSeen);
  expect(sum, what.join('; ')).toBeLessThan(0.01);
});

test('of 1,000 conversations a hundred are drawn at first', async ({ page, site }) => {
  await page.goto(`${site.url}#view=talk`);
  await expect(page.locator('.chip-name')).toHaveText('Sluice Stories');
  await page
    .locator('.list input[type=file]')
    .setInputFiles(json('many.json', conversations(1000)));
  await expect(page.locator('.item-title').first()).toHaveText('Talk 999');
  await expect(page.locator('.item')).toHaveCount(100);
  await page.getByRole('button', { name: 'Show more (900 left)' }).click();
  await expect(page.locator('.item')).toHaveCount(200);
  await page.locator('#search').fill('talk quote');
  await expect(page.locator('.list .label')).toHaveText('1000 conversations found');
  await expect(page.locator('.item')).toHaveCount(100);
  await page.locator('#search').fill('nowhere');
  await expect(page.locator('.list .label')).toHaveText('Nothing found');
});
