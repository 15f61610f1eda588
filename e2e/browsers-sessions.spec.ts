// Firefox and WebKit: a session that the program has saved goes on there, and back.
import fs from 'node:fs';
import { expect, test } from './browsers/fixtures';
import { NO_NATIVE, nativeBuilt } from './models';
import { base64, goOn, OPTIONS, program, PROMPT } from './saved';

test.skip(!nativeBuilt, NO_NATIVE);

test('a session goes to the page and back', async ({ tab, way, models }, info) => {
  const [flavour] = way.runs;
  const file = info.outputPath('a.sluice');
  program('f16', file, '-p', PROMPT, '--seed', '11');
  const begun = base64(file);
  const expected = [program('f16', file), program('f16', file)];
  const found = await tab.evaluate(goOn, {
    url: models.good('stories.gguf'),
    load: { flavour, kvType: 'f16' as const },
    begun,
    options: OPTIONS,
    prompt: PROMPT,
  });
  expect(found.unchanged).toBe(true);
  expect(found.written).toEqual(expected);
  expect(found.refused).toEqual(['bad_file', 'bad_file', 'bad_file']);
  fs.writeFileSync(file, Buffer.from(found.ours, 'base64'));
  expect(program('f16', file)).toEqual(found.next);
});
