// Scripts that come later: fetched once, and again only after a failure.
import { expect, it, vi } from 'vitest';
import { Later } from '../src/ui/later';

it('fetches a script once, however often it is wanted', async () => {
  const bring = vi.fn(async () => ({ name: 'it' }));
  const arrived = vi.fn();
  const script = new Later(bring, arrived);
  expect(script.all.value).toBeNull();
  expect(bring).not.toHaveBeenCalled();
  const [first, second] = await Promise.all([script.fetch(), script.fetch()]);
  expect(first).toEqual({ name: 'it' });
  expect(second).toBe(first);
  expect(await script.fetch()).toBe(first);
  expect(bring).toHaveBeenCalledTimes(1);
  expect(arrived).toHaveBeenCalledTimes(1);
  expect(script.all.value).toBe(first);
});

it('has told what it needs to be told before anybody sees that it is there', async () => {
  const script: Later<string> = new Later(
    async () => 'it',
    () => expect(script.all.value).toBeNull(),
  );
  expect(await script.fetch()).toBe('it');
  expect(script.failed.value).toBe(false);
});

it('says that it could not be fetched, and tries again when it is wanted again', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const bring = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new Error('no network'));
  const script = new Later(bring);
  expect(await script.fetch()).toBeNull();
  expect([script.all.value, script.failed.value]).toEqual([null, true]);
  expect(said).toHaveBeenCalledTimes(1);
  bring.mockResolvedValueOnce('it');
  const again = script.fetch();
  expect(script.failed.value).toBe(false);
  expect(await again).toBe('it');
  said.mockRestore();
});
