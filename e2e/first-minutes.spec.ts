// The first visit besides the roles (roles.spec.ts): the card, what is typed too early, and a story.
import { overflow } from './looks';
import { BUNDLED, COME } from './models';
import { expect, test } from './visitor';

test('the card shows the download in place, and ends it', async ({ visitor, shelf, page }) => {
  await shelf.play({ files: { 'qwen3-0.6b': BUNDLED }, plan: () => ({ stall: 400_000 }) });
  await visitor.arrive();
  const { card, field } = visitor;
  const label = card.locator('.first-label');
  const before = await label.boundingBox();
  // There is nobody yet whom a system prompt would instruct.
  await expect(page.getByText('System prompt')).toBeHidden();
  await visitor.press(visitor.download);
  await expect(card.getByRole('progressbar')).toBeVisible();
  await expect(card).toContainText('Qwen3 0.6B');
  await expect(card).toContainText('KB of 2.58 MB');
  expect((await label.boundingBox())?.y).toBe(before?.y);
  await field.fill('kept');
  await card.getByRole('button', { name: 'Cancel' }).click();
  await expect(visitor.download).toBeVisible();
  await expect(field).toHaveValue('kept');
});

test('what is typed before the script has come stays, with the focus and the selection', async ({
  visitor,
  page,
}) => {
  let release = (): void => undefined;
  const held = new Promise<void>((go) => (release = go));
  await page.route(/\/later-(?!settings|writing)[^/]*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(visitor.site.url);
  const { field } = visitor;
  await expect(field).toBeFocused();
  await page.keyboard.type('Once upon');
  await page.keyboard.press('ArrowLeft');
  await expect(page.locator('.talk')).toHaveAttribute('aria-busy', 'true');
  release();
  await expect(page.locator('.talk')).not.toHaveAttribute('aria-busy', 'true');
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('Once upon');
  expect(await field.evaluate((at: HTMLTextAreaElement) => at.selectionStart)).toBe(8);
});

test('a story that is asked for while its model comes is written when that is here', async ({
  app,
  page,
}) => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/stories-q8_0.gguf', async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(`${app.site.url}#length=8&seed=1`);
  await page.getByRole('button', { name: 'Let it tell a story' }).click();
  await expect(app.button).toHaveText('Stop');
  await expect(app.text).toHaveText('');
  release();
  await expect(app.ending).toBeVisible();
  await expect(app.text).not.toHaveText('');
});

test('one press has the story model tell a story', async ({ visitor, shelf }) => {
  await shelf.play();
  await visitor.arrive();
  await visitor.press(visitor.page.getByRole('button', { name: 'Let it tell a story' }));
  await expect(visitor.page.locator('#written')).not.toBeEmpty();
  await visitor.page.keyboard.press('Control+/');
  const shortcuts = visitor.page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(shortcuts).toContainText('Write the text');
  await expect(shortcuts).not.toContainText('Send the message');
});

const QUESTION = 'Why is the sky blue?';

/** A download that stops after so many bytes, until the hub drops its connections. */
function stalling(stall: number): { stalls: boolean; plan: () => { stall?: number } } {
  const download = { stalls: true, plan: () => (download.stalls ? { stall } : {}) };
  return download;
}

test('a story for an answer says why, and one press has the question answered', async ({
  visitor,
  shelf,
  hub,
  page,
}) => {
  const download = stalling(100_000);
  await shelf.play({ plan: download.plan });
  await visitor.arrive();
  await visitor.field.fill(QUESTION);
  await visitor.press(visitor.send);
  await visitor.answered('Once upon a time');
  const line = page.locator('.next-answer');
  await expect(line).toContainText('Sluice Stories only tells stories.');
  await expect(line).toContainText('Qwen3 0.6B can');
  await expect(line).toBeInViewport({ ratio: 1 });
  await visitor.press(line.getByRole('button', { name: /^Download \d+ MB and start$/ }));
  await expect(visitor.facts).toHaveText(/^Waiting for /);
  await expect(visitor.field).toBeFocused();
  download.stalls = false;
  hub.drop_connections();
  await visitor.answered();
  await expect(page.locator('.message.user')).toHaveCount(1);
  await expect(line).toHaveCount(0);
  expect(visitor.presses).toBe(2);
});

test('where the site offers no model, a story for an answer leads to the sheet', async ({
  visitor,
  page,
}) => {
  await page.route('**/models/shelf.json', (route) => route.fulfill({ json: { models: [] } }));
  await page.goto(visitor.site.url);
  await visitor.field.fill(QUESTION);
  await visitor.send.click();
  await visitor.answered('Once upon a time');
  await page.locator('.next-answer').getByRole('button', { name: 'Choose a model' }).click();
  await expect(visitor.sheet).toBeVisible();
});

test('a question waits through a pause, and is offered anew when the download is discarded', async ({
  visitor,
  shelf,
  hub,
  page,
}) => {
  const download = stalling(100_000);
  await shelf.play({ plan: download.plan });
  await visitor.arrive();
  await visitor.download.click();
  const asks = async (): Promise<void> => {
    await expect(visitor.facts).toHaveText(/^Waiting for /);
    await visitor.loading.getByRole('button', { name: 'Pause' }).click();
    await expect(visitor.facts).toHaveText('Waits until the download goes on');
  };
  await visitor.field.fill(QUESTION);
  await visitor.send.click();
  await asks();
  await visitor.loading.getByRole('button', { name: /^Discard/ }).click();
  const line = page.locator('.next-answer');
  await expect(line).toContainText('Nobody has answered this yet. Sluice Stories only tells');
  await expect(line.getByRole('button')).toHaveText([
    /^Download .* and start$/,
    'Let Sluice Stories tell a story',
  ]);
  await line.getByRole('button', { name: /^Download .* and start$/ }).click();
  await asks();
  // Stopped, it is asked again by what goes on with the download.
  await visitor.send.click();
  await line.getByRole('button', { name: 'Go on with the download of Qwen3 0.6B' }).click();
  await asks();
  download.stalls = false;
  await visitor.loading.getByRole('button', { name: 'Go on' }).click();
  await visitor.answered();
  hub.drop_connections();
  await expect(page.locator('.message.user')).toHaveCount(1);
});

test('a paused download says its name, how far it is and what its buttons do, also after a reload', async ({
  visitor,
  shelf,
  page,
}) => {
  const download = stalling(1_400_000);
  await shelf.play({ files: { 'qwen3-0.6b': BUNDLED }, plan: download.plan });
  await visitor.arrive();
  const { card } = visitor;
  await visitor.download.click();
  await expect(card).toContainText(COME);
  await card.getByRole('button', { name: 'Pause' }).click();
  const isPaused = async (): Promise<void> => {
    await expect(card).toContainText('Your download is paused');
    await expect(card.locator('.first-name')).toHaveText('Qwen3 0.6B');
    await expect(card.getByRole('progressbar', { name: 'Paused: Qwen3 0.6B' })).toBeVisible();
    await expect(card).toContainText('1.31 MB of 2.58 MB');
    await expect(card.getByRole('button')).toHaveText(['Go on', 'Discard']);
  };
  await isPaused();
  await expect(page).toHaveURL(/model=hf/);
  visitor.elsewhere.length = 0;
  await page.reload();
  await isPaused();
  await expect(page.locator('.notice')).toHaveCount(0);
  await expect(visitor.modelName).toHaveText('Sluice Stories');
  expect(visitor.elsewhere).toEqual([]);

  // It has no chat template.
  download.stalls = false;
  await visitor.openSheet();
  await expect(visitor.sheet.getByText('Qwen3', { exact: false }).first()).toHaveText(/^Paused/);
  await expect(visitor.sheet.locator('.kept li')).toHaveCount(0);
  await visitor.closeSheet();
  await card.getByRole('button', { name: 'Go on' }).click();
  await expect(visitor.field).toBeFocused();
  await expect(card).toContainText('Qwen3 0.6B is here.');
  await expect(card).toContainText('can’t hold a conversation');
  await expect(visitor.modelName).toHaveText('Qwen3 0.6B');
  await card.getByRole('button', { name: 'Write with Qwen3 0.6B' }).click();
  await expect(visitor.prompt).toBeVisible();
});

test('a paused download that is discarded leaves nothing, and its model is offered again', async ({
  visitor,
  shelf,
  page,
}) => {
  await shelf.play({ files: { 'qwen3-0.6b': BUNDLED }, plan: () => ({ stall: 1_400_000 }) });
  await visitor.arrive();
  await visitor.download.click();
  await expect(visitor.card).toContainText(COME);
  await visitor.card.getByRole('button', { name: 'Pause' }).click();
  await page.setViewportSize({ width: 360, height: 740 });
  const discard = visitor.card.getByRole('button', { name: 'Discard' });
  await discard.click();
  await expect(visitor.card).toContainText('Discard the 1.31 MB that have come?');
  const keep = visitor.card.getByRole('button', { name: 'Keep it' });
  await expect(keep).toBeFocused();
  for (const button of [discard, keep]) await expect(button).toBeInViewport({ ratio: 1 });
  expect(await overflow(page)).toBe(0);
  await discard.click();
  await expect(visitor.download).toBeVisible();
  await expect(page).not.toHaveURL(/model=/);
  await visitor.openSheet();
  await expect(visitor.sheet.locator('.kept')).toContainText('come only once');
});

test('Write begins at its top, wherever the conversation was', async ({ visitor, shelf, page }) => {
  await shelf.play({ plan: () => ({ stall: 100_000 }) });
  await page.setViewportSize({ width: 360, height: 480 });
  await visitor.arrive();
  await visitor.field.fill(QUESTION);
  await visitor.send.click();
  await visitor.answered('Once upon a time');
  await page.locator('.next-answer .primary').click();
  await expect(visitor.loading).toBeVisible();
  await visitor.send.click();
  await expect(page.locator('.next-answer')).toBeInViewport();
  expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(100);
  await page.getByRole('button', { name: 'Write', exact: true }).click();
  await expect(visitor.prompt).toBeInViewport();
  expect(await page.evaluate(() => window.scrollY)).toBe(0);
  // What the line says is not cut off beside the chip.
  const cut = await visitor.loading
    .locator('.load-text')
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  expect(cut).toBe(0);
});

test('a download that waits for the network says so', async ({
  visitor,
  shelf,
  hub,
  context,
  allowed,
}) => {
  allowed.push(/net::ERR_/);
  const download = stalling(100_000);
  await shelf.play({ plan: download.plan });
  await visitor.arrive();
  await visitor.download.click();
  await expect(visitor.card).toContainText(/(65\.5|100) KB of/);
  await context.setOffline(true);
  hub.drop_connections();
  await expect(visitor.card).toContainText('you are offline; it goes on by itself');
  download.stalls = false;
  await context.setOffline(false);
  await visitor.uses('Qwen3 0.6B');
});
