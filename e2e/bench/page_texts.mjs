// Long texts for the measurements and tests of the page: the same at each run.

/** So many characters of Markdown, at least. */
export function markdown(length, seed = 1) {
  const parts = [];
  let size = 0;
  for (let i = 0; size < length; ++i) {
    const n = seed * 1000 + i;
    const part = [
      `## Section ${n}\n\nSome *plain* text with **marks**, \`code ${n}\` and [a link](https://example.org/${n}), about as long as people write it in one paragraph of an answer.`,
      `1. First of ${n}\n2. Second, with _emphasis_\n   - and a part of it\n   - and another`,
      `| Name | Value ${n} |\n|------|-------|\n| one  | ${n * 3} |\n| two  | ${n * 7} |`,
      `\`\`\`js\nconst x${n} = ${n};\nfor (let i = 0; i < x${n}; ++i) console.log("line", i);\n\`\`\``,
      `> A quote of grammar ${n}: it says nothing that matters, but is long enough to be broken into lines.`,
    ][i % 5];
    parts.push(part);
    size += part.length + 2;
  }
  return parts.join('\n\n');
}

/** A code block of so many lines. */
export function code(lines) {
  const all = Array.from(
    { length: lines },
    (_, i) => `  const value${i} = compute(${i}, "text ${i}"); // line ${i}`,
  );
  return `\`\`\`js\n${all.join('\n')}\n\`\`\``;
}

/** A file of a conversation of 200 messages: one has 100 KB, one a code block of 2,000 lines. */
export function long_talk() {
  const messages = Array.from({ length: 200 }, (_, i) => {
    if (i % 2 === 0) return { role: 'user', content: `Question ${i}: what is said about this?` };
    const content = i === 101 ? markdown(100_000, i) : i === 151 ? code(2000) : markdown(800, i);
    return { role: 'assistant', content };
  });
  return JSON.stringify({ title: 'Long', messages });
}

const id = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A file of so many conversations of four messages, a line each, as the page writes it. */
export function conversations(n) {
  const all = Array.from({ length: n }, (_, c) => {
    const messages = {};
    for (let i = 0; i < 4; ++i) {
      const role = i % 2 === 0 ? 'user' : 'assistant';
      const content = role === 'user' ? `Question ${i} of ${c}` : markdown(3000, c);
      const first = c * 4 + 1;
      messages[id(first + i)] = {
        id: id(first + i),
        parent: i === 0 ? null : id(first + i - 1),
        role,
        content,
        reasoning: '',
        attachments: [],
        created: 1000 + i,
        finish: 'stop',
        figures: null,
        dropped: 0,
      };
    }
    return JSON.stringify({
      version: 1,
      id: id(1_000_000 + c),
      title: `Talk ${c}`,
      named: true,
      system: '',
      created: 1000,
      changed: 2000 + c,
      messages,
      leaf: id(c * 4 + 4),
      chosen: {},
      model: null,
    });
  });
  const head = '{"format":"sluice-conversations","version":1,"conversations":[';
  return `${head}\n${all.join(',\n')}\n]}\n`;
}

/** A trace of so many tokens, as `sluice run --trace` writes it, of a model of 2,048 tokens. */
export function trace(tokens) {
  const vocab = 2048;
  const options = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, seed: 5 };
  const model = { name: 'Long', architecture: 'llama', vocab, layers: 4 };
  const prompt = { text: 'Once', ids: [1, 2], pieces: ['', 'Once'] };
  const lines = [{ event: 'trace', version: 1, model, prompt, options, kernels: 'none' }];
  for (let i = 0; i < tokens; ++i) {
    const best = Array.from({ length: 256 }, (_, k) => [
      (7 * i + k) % vocab,
      10 - k / 16 - (i % 5),
    ]);
    const id = (7 * i + (i % 9)) % vocab;
    const raw = { logSum: 13, entropy: 2 + (i % 4), draws: i, best };
    const token = { event: 'token', id, text: ` w${id}`, logprob: -1.5 - (i % 7), raw };
    if (i === 0)
      token.pieces = Object.fromEntries(
        Array.from({ length: vocab }, (_, one) => [one, ` w${one}`]),
      );
    lines.push(token);
  }
  lines.push({ event: 'done', finish: 'length' });
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}
