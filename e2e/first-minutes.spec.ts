// The first visit besides the roles (roles.spec.ts): the card, what is typed too early, and a story.
import { BUNDLED } from './models';
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
