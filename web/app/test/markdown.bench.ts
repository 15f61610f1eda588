// @vitest-environment happy-dom
// What one more token costs in a message of 1, 10 and 100 KB: npx vitest bench test/markdown.bench.ts
import { bench, describe } from 'vitest';
import { Drawing } from '../src/markdown/draw';
import { ANSWER } from './markdown-samples';

const whole = ANSWER.repeat(130);
const code = `\`\`\`\n${'    value = compute(12, "some text")\n'.repeat(3500)}`;
const list = Array.from({ length: 4500 }, (_, i) => `${i + 1}. An *item* with \`code\``).join('\n');

for (const [name, text] of Object.entries({ whole, code, list })) {
  describe(`one token more: ${name}`, () => {
    for (const size of [1000, 10_000, 100_000]) {
      const start = size - (size % 1000);
      let at = start;
      let drawing = new Drawing(document.createElement('div'));
      drawing.show(text.slice(0, start), true);
      bench(`${size / 1000} KB`, () => {
        // Begins again before the text has grown by much.
        if (at > start + 1000 || at > text.length) {
          at = start;
          drawing = new Drawing(document.createElement('div'));
          drawing.show(text.slice(0, start), true);
        }
        at += 4;
        drawing.show(text.slice(0, at), true);
      });
    }
  });
}
