// What every site does: it loads the story model, writes, lists what the device keeps, and shows what came as JSON.
import { Engine, cache } from '@sluice/engine';

export async function write(output) {
  const told = {};
  try {
    const engine = await Engine.load('/model.gguf', { threads: 2, cache: 'none' });
    const options = { maxTokens: 24, temperature: 0 };
    for await (const { text } of engine.generate('Once upon a time', options)) {
      told.text = (told.text ?? '') + text;
    }
    told.threads = engine.stats.threads;
    await engine.close();
    told.kept = (await cache.list()).length;
  } catch (error) {
    told.error = `${error.code}: ${error.message}`;
  }
  output.textContent = JSON.stringify(told);
}
