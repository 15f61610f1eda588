import { Engine } from './node_modules/@sluice/engine/dist/index.js';

// index.html?model=https://another.example/model.gguf&prompt=One day
const { model = 'model.gguf', prompt = 'Once upon a time' } = Object.fromEntries(
  new URLSearchParams(location.search),
);
const output = document.querySelector('output');
try {
  const engine = await Engine.load(model);
  output.textContent = prompt;
  for await (const token of engine.generate(prompt, { maxTokens: 100, seed: 1 }))
    output.append(token.text);
  await engine.close();
} catch (error) {
  output.textContent = `${error.code}: ${error.message}`;
}
