import { expect, it } from 'vitest';
import { MOST_BYTES, MOST_MESSAGES } from '../src/history/checks';
import { memoryStore } from '../src/history/memory';
import { partsOf, textOf } from '../src/history/parts';
import { openStore } from '../src/history/store';
import { TransferError, allToJson, fromFile, fromJson } from '../src/history/transfer';
import { toMarkdown } from '../src/history/markdown-file';
import { toJson } from '../src/history/transfer';
import { append, choose, create, edit, message, newId, path, rename } from '../src/history/tree';
import { type Conversation } from '../src/history/tree';
import { history } from '../src/texts/en/history';
import { transfer } from '../src/texts/en/transfer';
import { texts as german } from '../src/texts/languages/de';
import { texts as french } from '../src/texts/languages/fr';
import { databases, talk, texts } from './history-setup';

/** Only against a test that never ends: much is done here. */
const LONG = 600_000;

function branched(): Conversation {
  let c = talk('Hello', 'Hi', 'More');
  c = append(
    c,
    message(c, 'assistant', '', {
      parts: partsOf('x < y', 'hm\n\nso'),
      finish: 'length',
      dropped: 2,
      figures: {
        promptTokens: 5,
        reusedTokens: 2,
        tokens: 9,
        tokensPerSecond: 8.5,
        ttftMs: 120,
        seed: null,
        model: 'stories',
      },
    }),
  );
  const first = path(c)[0]?.id ?? '';
  return choose(edit(c, first, 'Hallo', [{ name: 'a.txt', text: 'text' }]), first);
}

const fileText = (...conversations: unknown[]): string =>
  JSON.stringify({ format: 'sluice-conversations', version: 1, conversations });

/** The error that a text gives, as code and place. */
function refused(text: string): string {
  try {
    fromJson(text);
  } catch (error) {
    if (!(error instanceof TransferError)) throw error;
    return `${error.code} ${error.place} ${error.params.expected ?? ''}`.trim();
  }
  return 'taken';
}

it('reads what it has written, with all branches', async () => {
  const [a, b] = [branched(), rename(talk('x'), 'Named')];
  expect(await fromFile(toJson([a, b]))).toEqual([a, b]);
  const text = await toJson([a]).text();
  expect(JSON.parse(text)).toEqual({
    format: 'sluice-conversations',
    version: 1,
    conversations: [a],
  });
  // Figures of before have another name.
  const old = text.replace('reusedTokens', 'cachedTokens');
  expect(old).not.toBe(text);
  expect(await fromFile(new Blob([old]))).toEqual([a]);
  // Some editors put a mark before the text.
  expect(await fromFile(new Blob(['\ufeff', text]))).toEqual([a]);
});

it('reads a file in steps, however its lines are broken', async () => {
  const all = Array.from({ length: 100 }, (_, i) => rename(talk('x'), `Talk ${i}`));
  const text = await toJson(all).text();
  for (const file of [text, JSON.stringify(JSON.parse(text)), text.replaceAll(',', ',\n')]) {
    // A clock that each look moves on by a millisecond.
    let time = 0;
    let pauses = 0;
    const pause = async (): Promise<void> => void ++pauses;
    expect(await fromFile(new Blob([file]), { now: () => ++time, pause })).toEqual(all);
    expect(pauses).toBeGreaterThan(5);
  }
  for (const broken of [text.replace('Talk 7"', 'Talk 7'), text.replace('{"version"', '')])
    expect(refused(broken)).toBe('json');
});

it('writes all conversations of a store, into files that can be imported', async () => {
  const store = memoryStore();
  const all = Array.from({ length: 5 }, (_, i) => ({ ...talk(`${i}`), changed: 10 - i }));
  for (const c of all) await store.put(c);
  const [whole, ...none] = await allToJson(store);
  expect(none).toEqual([]);
  expect(await fromFile(whole ?? new Blob())).toEqual(all);
  const most = (whole?.size ?? 0) / 2;
  const parts = await allToJson(store, most);
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.every(({ size }) => size <= most)).toBe(true);
  expect((await Promise.all(parts.map((part) => fromFile(part)))).flat()).toEqual(all);
  expect(await (await allToJson(memoryStore()))[0]?.text()).toContain('"conversations":[');
});

it('keeps imported conversations beside those that have the same ids', async () => {
  const store = await openStore(databases());
  const mine = talk('mine');
  await store.put(mine);
  const [id = ''] = await store.add(fromJson(fileText({ ...branched(), id: mine.id })));
  expect(id).not.toBe(mine.id);
  expect(await store.get(mine.id)).toEqual(mine);
  expect(texts(await store.get(id))[0]).toBe('Hello');
});

it('reads lists of messages as other programs write them', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'What is' }, { text: 'this?' }] },
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'tool', content: '42' },
    { role: 'assistant', content: 'It is 42.', reasoning_content: 'hm' },
  ];
  const check = (text: string): Conversation => {
    const [c = create(), ...more] = fromJson(text);
    expect(more).toEqual([]);
    expect(path(c).map((one) => [one.role, textOf(one)])).toEqual([
      ['user', 'What is\n\nthis?'],
      ['assistant', ''],
      ['tool', '42'],
      ['assistant', 'It is 42.'],
    ]);
    expect(path(c)[3]).toMatchObject({ parts: partsOf('It is 42.', 'hm'), finish: 'stop' });
    expect(c.system).toBe('Be brief.\n\nBe kind.');
    // It is one that can be written and read again.
    expect(fromJson(fileText(c))).toEqual([c]);
    return c;
  };
  expect(check(JSON.stringify(messages))).toMatchObject({ title: 'What is this?', named: false });
  const named = { title: 'A\ntalk', model: 'm', messages };
  expect(check(JSON.stringify(named))).toMatchObject({ title: 'A talk', named: true, model: 'm' });
});

it('refuses lists of messages with the place of what is wrong', () => {
  expect(refused('[]')).toBe('empty');
  expect(refused('[{"role":"system","content":"x"}]')).toBe('empty');
  expect(refused('[7]')).toBe('type [0] object');
  expect(refused('[{"role":"user"}]')).toBe('type [0].content text');
  expect(refused('[{"role":"root","content":"x"}]')).toBe('type [0].role role');
  expect(refused('{"messages":[{"role":"user","content":[{"text":1}]}]}')).toBe(
    'type messages[0].content[0].text text',
  );
  expect(refused('[{"role":"user","content":"","reasoning_content":{}}]')).toBe(
    'type [0].reasoning_content text',
  );
  expect(refused('{"messages":{}}')).toBe('format');
});

it(
  'refuses what is no file of conversations',
  async () => {
    for (const text of ['', 'hello', '{', '{"a":1}x']) expect(refused(text)).toBe('json');
    for (const text of ['7', 'null', '"x"', '{}', '{"format":"other"}'])
      expect(refused(text)).toBe('format');
    expect(refused('{"format":"sluice-conversations","version":2}')).toBe('version version');
    expect(refused('{"format":"sluice-conversations","version":1}')).toBe(
      'type conversations list',
    );
    expect(refused(fileText())).toBe('empty');
    expect(refused(fileText(...Array.from({ length: 10_001 }, () => 0)))).toBe(
      'many conversations',
    );
    const deep = `${'['.repeat(1e6)}${']'.repeat(1e6)}`;
    expect(['json', 'type [0] object']).toContain(refused(deep));
    const large = { size: MOST_BYTES + 1, text: () => Promise.reject(new Error('read')) };
    await expect(fromFile(large as unknown as Blob)).rejects.toMatchObject({ code: 'size' });
  },
  LONG,
);

it('checks every field and names the place of the one that is wrong', () => {
  const good = branched();
  const keys = Object.keys(good.messages);
  const fourth = keys[3] ?? '';
  const inMessage = (change: object): Conversation => ({
    ...good,
    messages: {
      ...good.messages,
      [fourth]: { ...good.messages[fourth], ...change },
    } as Conversation['messages'],
  });
  const place = 'conversations[1].messages[3]';
  const cases: [unknown, string][] = [
    [null, 'type conversations[1] object'],
    [[], 'type conversations[1] object'],
    [{ ...good, version: 3 }, 'version conversations[1].version'],
    [{ ...good, id: '__proto__' }, 'type conversations[1].id id'],
    [{ ...good, title: 7 }, 'type conversations[1].title text'],
    [{ ...good, title: 'x'.repeat(1001) }, 'long conversations[1].title'],
    [{ ...good, named: 'no' }, 'type conversations[1].named flag'],
    [{ ...good, system: undefined }, 'type conversations[1].system text'],
    [{ ...good, created: -1 }, 'type conversations[1].created time'],
    [{ ...good, changed: 1e300 }, 'type conversations[1].changed time'],
    [{ ...good, model: {} }, 'type conversations[1].model textOrNull'],
    [{ ...good, from: 7 }, 'type conversations[1].from textOrNull'],
    [{ ...good, from: 'x'.repeat(4001) }, 'long conversations[1].from'],
    [{ ...good, leaf: 7 }, 'type conversations[1].leaf idOrNull'],
    [{ ...good, leaf: newId() }, 'parent conversations[1].leaf'],
    [{ ...good, messages: [] }, 'type conversations[1].messages object'],
    [{ ...good, chosen: [] }, 'type conversations[1].chosen object'],
    [{ ...good, chosen: { '': 7 } }, 'type conversations[1].chosen[0] id'],
    [{ ...good, chosen: { '': newId() } }, 'parent conversations[1].chosen[0]'],
    [{ ...good, chosen: { constructor: keys[0] } }, 'parent conversations[1].chosen[0]'],
    [
      { ...good, chosen: { 'conversations[1].chosen[0]': newId() } },
      'parent conversations[1].chosen[0]',
    ],
    [inMessage({ id: keys[0] }), `type ${place}.id sameId`],
    [inMessage({ parent: newId() }), `parent ${place}.parent`],
    [inMessage({ parent: 'toString' }), `type ${place}.parent idOrNull`],
    [inMessage({ role: 'system' }), `type ${place}.role role`],
    [inMessage({ parts: 'x' }), `type ${place}.parts list`],
    [inMessage({ parts: Array(1001).fill({}) }), `many ${place}.parts`],
    [inMessage({ parts: [7] }), `type ${place}.parts[0] object`],
    [inMessage({ parts: [{ part: 'dream', text: '' }] }), `version ${place}.parts[0].part`],
    [inMessage({ parts: [{ part: 'text' }] }), `type ${place}.parts[0].text text`],
    [inMessage({ parts: partsOf('x'.repeat(2 ** 24 + 1), 'x') }), `long ${place}.parts[1].text`],
    [inMessage({ attachments: {} }), `type ${place}.attachments list`],
    [inMessage({ attachments: Array(101).fill({}) }), `many ${place}.attachments`],
    [inMessage({ attachments: [{ name: 'x' }] }), `type ${place}.attachments[0].text text`],
    [inMessage({ created: '1' }), `type ${place}.created time`],
    [inMessage({ finish: 'done' }), `type ${place}.finish finish`],
    [inMessage({ figures: { tokens: -1 } }), `type ${place}.figures figures`],
    [inMessage({ dropped: 0.5 }), `type ${place}.dropped count`],
    [good, 'twice conversations[1].id'],
  ];
  for (const [bad, expected] of cases)
    expect(refused(fileText(good, bad)), expected).toBe(expected);
});

it('takes no key that objects have by themselves', () => {
  const c = talk('x');
  const text = fileText(c);
  const inserted = text.replace('"messages":{', '"messages":{"__proto__":{"role":"user"},');
  expect(refused(inserted)).toBe('type conversations[0].messages[0] id');
  expect(refused(text.replace('"chosen":{', '"chosen":{"__proto__":{}'))).toBe(
    'type conversations[0].chosen[0] id',
  );
  const polluted = text.replace('{"version":2,"id"', '{"__proto__":{"evil":1},"version":2,"id"');
  expect(polluted).not.toBe(text);
  const [read] = fromJson(polluted);
  expect(read).toEqual(c);
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect('evil' in {}).toBe(false);
});

it(
  'refuses circles, however long, and takes a chain of 100,000 messages',
  () => {
    const c = talk('a', 'b', 'c');
    const [a = '', b = ''] = path(c).map(({ id }) => id);
    const ring = structuredClone(c);
    Object.assign(ring.messages[a] ?? {}, { parent: b });
    expect(refused(fileText(ring))).toBe('cycle conversations[0].messages[0]');
    Object.assign(ring.messages[a] ?? {}, { parent: a });
    expect(refused(fileText(ring))).toBe('cycle conversations[0].messages[0]');

    const list = Array.from({ length: MOST_MESSAGES }, () => ({ role: 'user', content: '' }));
    const [deep = create()] = fromJson(JSON.stringify(list));
    expect(path(deep)).toHaveLength(MOST_MESSAGES);
    const [again = create()] = fromJson(fileText(deep));
    expect(again.leaf).toBe(deep.leaf);
    const [first] = path(again);
    if (first !== undefined) first.parent = again.leaf;
    expect(refused(fileText(again))).toBe('cycle conversations[0].messages[0]');
    expect(refused(JSON.stringify([...list, ...list]))).toBe('many');
    expect(toMarkdown(deep, history.markdown).match(/^## You$/gm)).toHaveLength(MOST_MESSAGES);
  },
  LONG,
);

it('replaces halves of characters and cleans names', () => {
  const c = talk('x');
  const id = c.leaf ?? '';
  const attachments = [{ name: 'a\u202e\u0000b', text: '\udc00' }];
  Object.assign(c.messages[id] ?? {}, { parts: partsOf('a\ud800b😀'), attachments });
  const [read] = fromJson(fileText({ ...c, title: 'T\u202e\nitle', system: '\udfff' }));
  expect(read).toMatchObject({ title: 'T itle', system: '\ufffd' });
  expect(read?.messages[id]).toMatchObject({
    parts: partsOf('a\ufffdb😀'),
    attachments: [{ name: 'a b', text: '\ufffd' }],
  });
});

it('imports nothing when one conversation can not be used', () => {
  expect(refused(fileText(talk('a'), talk('b'), { ...talk('c'), messages: 1 }))).toBe(
    'type conversations[2].messages object',
  );
});

it('writes the shown branch as Markdown', () => {
  const c = rename(branched(), 'A *title*');
  expect(toMarkdown(c, history.markdown)).toBe(
    [
      ...[
        '# A \\*title\\*',
        '',
        '## System prompt',
        '',
        'Be brief.',
        '',
        '## You',
        '',
        'Hello',
        '',
      ],
      ...['## Answer', '', 'Hi', '', '## You', '', 'More', '', '## Answer', ''],
      ...['> **Thinking**', '>', '> hm', '>', '> so', '', 'x < y', ''],
    ].join('\n'),
  );
  expect(toMarkdown(create(), german.history.markdown)).toBe('# Gespräch\n');
});

it('lets no message take in the next one', () => {
  let c = append(create(), message(create(), 'user', '```js\nlet a;'));
  c = append(c, message(c, 'assistant', '~~~~\n```\nopen\r\n~~~'));
  const attachments = [{ name: 'a_b.md', text: 'x\n````\ny\n' }];
  c = append(c, message(c, 'user', 'fine\n```\nx\n```', { attachments }));
  const text = toMarkdown(c, history.markdown);
  expect(text).toContain('let a;\n```\n\n## Answer');
  expect(text).toContain('open\n~~~\n~~~~\n\n## You');
  expect(text).toContain('**a\\_b.md**\n\n`````\nx\n````\ny\n`````\n\nfine');
  expect(text.endsWith('x\n```\n')).toBe(true);
});

it('has words for every error, in each language', () => {
  for (const { refused: words } of [transfer, german.transfer, french.transfer]) {
    const text = words('type', 'conversations[2].messages[5].role', { expected: 'role' });
    expect(text).toMatch(/^conversations\[2\]\.messages\[5\]\.role\s?: .*user, assistant .* tool/);
    expect(words('size', '', { limit: MOST_BYTES })).toMatch(/64 Mi[Bo]/);
  }
  for (const { problems } of [history, german.history, french.history])
    for (const problem of Object.values(problems)) expect(problem).toMatch(/\.$/);
});
