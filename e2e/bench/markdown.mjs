// Compares the page's reader of Markdown with two libraries: a text that grows by four characters at a time, as an answer
// does, and texts that are made to be slow. Only reading is measured, nothing is drawn.
//   node e2e/bench/markdown.mjs
import path from 'node:path';
import { build } from 'esbuild';
import MarkdownIt from 'markdown-it';
import { lexer } from 'marked';
import { ROOT, main } from '../../scripts/lib.mjs';
import { code, markdown } from './page_texts.mjs';

/** Characters that come at a time. */
const STEP = 4;
/** A reader that has taken this long is stopped, and its time is told for the share of the text that it has read. */
const LIMIT_MS = 10_000;

/** The page's reader. It is written in TypeScript. */
async function own_reader() {
  const outfile = path.join(ROOT, 'build/bench/markdown.mjs');
  const room = path.join(ROOT, 'web/app/src/markdown');
  const contents = `export * from './blocks'; export * from './inline'; export { PIECE } from './limits';`;
  await build({
    stdin: { contents, resolveDir: room },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
  return import(outfile);
}

/** The texts of a block and of those in it, with how they are read. */
function* leaves(block) {
  if (block.type === 'row') for (const text of block.cells) yield [text, { cell: true }];
  else if (block.kids.length === 0 && block.type !== 'code') yield [block.text, {}];
  for (const kid of block.kids) yield* leaves(kid);
}

const markdown_it = new MarkdownIt();

/** Each reader: `grow()` gives a function that takes the text so far; `whole` reads a text at once. */
function readers({ Blocks, PIECE, inline }) {
  const own = {
    name: 'ours',
    whole(text) {
      const blocks = new Blocks();
      blocks.write(text);
      blocks.end(false);
      for (const [leaf, options] of leaves(blocks.root)) inline(leaf, options);
    },
    grow() {
      const blocks = new Blocks();
      let length = 0;
      return (text) => {
        blocks.write(text.slice(length));
        blocks.end(true);
        length = text.length;
        const { open } = blocks;
        if (open === undefined || open.type === 'code') return;
        const leaf = open.type === 'row' ? open.cells.at(-1) : open.text;
        // A long paragraph is drawn in pieces, of which the last one grows.
        inline((leaf ?? '').slice(-PIECE), { live: true, cell: open.type === 'row' });
      };
    },
  };
  // What pages do that use it: only the last block is read anew.
  const marked = {
    name: 'marked, last block',
    whole: lexer,
    grow() {
      let kept = 0;
      return (text) => {
        const tokens = lexer(text.slice(kept));
        const last = tokens.findLastIndex(({ type }) => type !== 'space');
        for (const { raw } of tokens.slice(0, Math.max(last, 0))) kept += raw.length;
      };
    },
  };
  const parse = (text) => markdown_it.parse(text, {});
  return [own, marked, { name: 'markdown-it', whole: parse, grow: () => parse }];
}

function timed(work) {
  const begun = performance.now();
  try {
    work();
  } catch (error) {
    return error.name;
  }
  return performance.now() - begun;
}

const ms = (time) => (typeof time === 'string' ? time : `${time.toFixed(time < 10 ? 1 : 0)} ms`);

function grown(reader, text) {
  const read = reader.grow();
  let [sum, worst, to] = [0, 0, 0];
  while (to < text.length && sum < LIMIT_MS) {
    to = Math.min(to + STEP, text.length);
    const time = timed(() => read(text.slice(0, to)));
    sum += time;
    worst = Math.max(worst, time);
  }
  const stopped = to < text.length ? ` for ${Math.round((100 * to) / text.length)}%` : '';
  return `${ms(sum)}${stopped}, worst step ${ms(worst)}`;
}

const lines = (n, line) => Array.from({ length: n }, (_, i) => line(i)).join('\n');
const GROWING = {
  'an answer': markdown(95_000),
  'a code block of 2,000 lines': code(2000),
  'a list of 1,500 items': lines(1500, (i) => `- item ${i} with *some* text and \`code ${i}\``),
  'a table of 1,500 rows': `| a | b |\n|---|---|\n${lines(1500, (i) => `| row ${i} | *value* |`)}`,
  'a paragraph of 90 KB': 'Some words with *marks* and `code`, '.repeat(2600),
};
const again = (text) => text.repeat(Math.ceil(50_000 / text.length));
const SLOW = {
  ...Object.fromEntries(
    ['[', '![', '*a_ ', 'a**b', 'a_', '[a](', '<a ', '> ', '~~a '].map((s) => [s, again(s)]),
  ),
  'runs of `': lines(300, (i) => '`'.repeat(i)),
  'nested lists': lines(300, (i) => `${' '.repeat(i)}- a`),
};

main(async () => {
  const all = readers(await own_reader());
  for (const [name, text] of Object.entries(GROWING)) {
    console.log(`${name}, ${text.length} characters, ${STEP} at a time:`);
    for (const reader of all) console.log(`  ${reader.name}: ${grown(reader, text)}`);
  }
  for (const [name, text] of Object.entries(SLOW)) {
    const times = all.map((reader) => `${reader.name} ${ms(timed(() => reader.whole(text)))}`);
    console.log(`50 KB of ${name}: ${times.join('; ')}`);
  }
  return 0;
});
