// Texts and pieces of texts for the tests of src/markdown.

/** Numbers between 0 and 1 that are the same in each run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const PARTS = [
  ...[
    '*',
    '**',
    '***',
    '_',
    '__',
    '~~',
    '`',
    '``',
    '```',
    '~~~',
    '$',
    '$$',
    '\\(',
    '\\)',
    '\\[',
    '\\]',
  ],
  ...[
    '[',
    ']',
    '(',
    ')',
    '](',
    '![',
    '<',
    '>',
    '&',
    '&amp;',
    '&#x202e;',
    '|',
    '||',
    '\\',
    '#',
    '## ',
  ],
  ...[
    '\n',
    '\n',
    '\n',
    '\n\n',
    '\n\n',
    '\r\n',
    ' ',
    '  ',
    '    ',
    '\t',
    '- ',
    '* ',
    '+ ',
    '1. ',
    '2) ',
  ],
  ...[
    '> ',
    '>',
    '---',
    '===',
    '|---|---|',
    '| a | b |',
    '- [ ] ',
    '- [x] ',
    '```js\n',
    ':',
    '!',
    '1',
    '-',
  ],
  ...[
    'word',
    'two words',
    'a',
    'é',
    '😀',
    'שלום',
    '\u202e',
    '\u2066',
    '\0',
    '\ud83d',
    'x^2',
    '5',
    '.',
  ],
  ...['https://example.org/a_b(c)', '<https://a.org>', '<b@c.de>', 'javascript:alert(1)', '<br>'],
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[a](http://b.c)',
    '![p](http://q.r/s)',
  ],
  ...[
    '[x](javascript:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x](data:text/html,x)',
    '\\*',
    '&lt;',
  ],
];

/** A text of `length` parts. */
export function hostile(next: () => number, length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += PARTS[Math.floor(next() * PARTS.length)] ?? '';
  return text;
}

/** The text cut at random places. */
export function cutUp(text: string, next: () => number, longest: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = 1 + Math.floor(next() * longest);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** As models write: headings, lists in lists, code, a table, a quote, formulas. */
export const ANSWER = `# Sorting in linear time

Comparison sorts need **at least** *n* log *n* steps, see [the proof](https://example.org/proof "why").
With \`counting sort\` it is $O(n + k)$, and a book costs $5 or $6.

## Steps

1. Count each key:

   \`\`\`python
   def count(keys, k):
       counts = [0] * k
       for key in keys:
           counts[key] += 1

       return counts
   \`\`\`

2. Add up the counts
   - the first stays
   - the others are **sums**
     1. from left
     2. to right
3. Place the keys

- [x] stable
- [ ] in place

| Sort | Time | Space |
| :--- | :---: | ---: |
| counting | \`n + k\` | k |
| radix | d(n + k) | n \\| k |

> A quote with a list:
> - one
> - two
and a lazy line

$$
\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}
$$

\\[ e^{i\\pi} + 1 = 0 \\]

~~Not this~~ <b>nor this</b> https://example.org/path. Done.

---

Line one
Line two  
Line three\\
Line four
`;
