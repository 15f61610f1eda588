import { expect, it } from 'vitest';

/** Only against a test that never ends: much is done here. */
const LONG = 600_000;
import { partsOf, textOf } from '../src/history/parts';
import {
  append,
  choose,
  create,
  cutOff,
  edit,
  isId,
  message,
  messageOf,
  newId,
  path,
  remove,
  rename,
  retry,
  siblings,
  titleOf,
  update,
  type Conversation,
  type Role,
} from '../src/history/tree';

function say(c: Conversation, role: Role, content: string): Conversation {
  return append(c, message(c, role, content, { finish: 'stop' }));
}

function talk(...contents: string[]): Conversation {
  return contents.reduce(
    (c, content, i) => say(c, i % 2 === 0 ? 'user' : 'assistant', content),
    create('Be brief.'),
  );
}

const shown = (c: Conversation): string[] => path(c).map(textOf);
const idOf = (c: Conversation, content: string): string =>
  Object.values(c.messages).find((one) => textOf(one) === content)?.id ?? '';

it('shows the messages in their order', () => {
  const c = talk('a', 'b', 'c', 'd');
  expect(shown(c)).toEqual(['a', 'b', 'c', 'd']);
  expect(c.leaf).toBe(idOf(c, 'd'));
  expect(c.system).toBe('Be brief.');
  expect(path(create())).toEqual([]);
  expect(JSON.parse(JSON.stringify(c))).toEqual(c);
});

it('changes no object that it was given, and shares what stays', () => {
  const c = talk('a', 'b', 'c');
  const before = structuredClone(c);
  const id = idOf(c, 'b');
  for (const other of [
    say(c, 'assistant', 'd'),
    update(c, id, { parts: partsOf('B') }),
    edit(c, idOf(c, 'a'), 'A', []),
    retry(c, id),
    choose(c, id),
    remove(c, id),
    rename(c, 'New'),
    cutOff(c),
  ])
    expect(other.messages[idOf(c, 'a')]).toBe(c.messages[idOf(c, 'a')]);
  expect(c).toEqual(before);
});

it('keeps an edited message beside the old one, and goes back to the branch that was shown', () => {
  const old = talk('a', 'b', 'c', 'd');
  const attachments = [{ name: 'x.txt', text: 'x' }];
  const edited = edit(old, idOf(old, 'a'), 'A', attachments);
  expect(shown(edited)).toEqual(['A']);
  expect(messageOf(edited, edited.leaf)).toMatchObject({
    role: 'user',
    attachments,
    finish: 'stop',
  });
  const c = say(edited, 'assistant', 'B');
  expect(siblings(c, idOf(c, 'A'))).toEqual([idOf(c, 'a'), idOf(c, 'A')]);
  expect(shown(c)).toEqual(['A', 'B']);
  const back = choose(c, idOf(c, 'a'));
  expect(shown(back)).toEqual(['a', 'b', 'c', 'd']);
  expect(shown(choose(back, idOf(c, 'A')))).toEqual(['A', 'B']);
  expect(shown(edit(c, idOf(c, 'B'), 'x', []))).toEqual(['A', 'B']);
});

it('makes a new answer the sibling of the old one', () => {
  let c = talk('a', 'b1');
  c = say(retry(c, idOf(c, 'b1')), 'assistant', 'b2');
  c = say(c, 'user', 'c');
  expect(shown(c)).toEqual(['a', 'b2', 'c']);
  expect(siblings(c, c.leaf ?? '')).toHaveLength(1);
  const first = choose(c, idOf(c, 'b1'));
  expect(shown(first)).toEqual(['a', 'b1']);
  // Choosing the first message goes down to what was shown below it.
  expect(shown(choose(first, idOf(c, 'a')))).toEqual(['a', 'b1']);
  expect(shown(choose(c, idOf(c, 'a')))).toEqual(['a', 'b2', 'c']);
  expect(retry(c, idOf(c, 'a'))).toBe(c);
});

it('keeps siblings in order though the clock was set back', () => {
  let c = talk('a', 'b1');
  for (const content of ['b2', 'b3']) {
    c = retry(c, c.leaf ?? '');
    c = append(c, { ...message(c, 'assistant', content), created: 5 });
  }
  const order = siblings(c, c.leaf ?? '').map((id) => textOf(c.messages[id] ?? { parts: [] }));
  expect(order).toEqual(['b1', 'b2', 'b3']);
});

it('refuses a message without a place', () => {
  const c = talk('a');
  expect(() => append(c, { ...message(c, 'user', 'x'), parent: newId() })).toThrow(RangeError);
  expect(() => append(c, { ...message(c, 'user', 'x'), parent: 'constructor' })).toThrow(
    RangeError,
  );
  expect(() =>
    append(c, message({ ...c, leaf: null }, 'user', 'x', { ...c.messages[c.leaf ?? ''] })),
  ).toThrow(RangeError);
});

it('updates a message in its place', () => {
  const c = talk('a', 'b');
  const id = idOf(c, 'b');
  expect(siblings(c, id)).toEqual([id]);
  const after = update(c, id, {
    parts: partsOf('B'),
    finish: 'length',
    ...{ id: 'x', parent: 'y' },
  });
  expect(messageOf(after, id)).toMatchObject({ id, parts: partsOf('B'), finish: 'length' });
  expect(siblings(after, id)).toEqual([id]);
  expect(update(c, '__proto__', { parts: partsOf('x') })).toBe(c);
});

it('removes a message with all below it and shows its neighbour', () => {
  let c = talk('a', 'b1', 'c1');
  c = { ...c, leaf: idOf(c, 'a') };
  c = say(say(c, 'assistant', 'b2'), 'user', 'c2');
  const without = remove(c, idOf(c, 'b2'));
  expect(shown(without)).toEqual(['a', 'b1', 'c1']);
  expect(Object.keys(without.messages)).toHaveLength(3);
  expect(JSON.stringify(without.chosen)).not.toContain(idOf(c, 'b2'));
  // What is not shown can go without a change to what is.
  expect(shown(remove(c, idOf(c, 'b1')))).toEqual(['a', 'b2', 'c2']);
  expect(shown(remove(without, idOf(c, 'c1')))).toEqual(['a', 'b1']);
  const empty = remove(c, idOf(c, 'a'));
  expect(empty).toMatchObject({ messages: {}, chosen: {}, leaf: null });
});

it(
  'walks a chain of 100,000 messages, and one in a circle',
  () => {
    const ids = Array.from({ length: 100_000 }, newId);
    const c = create();
    const deep: Conversation = { ...c, messages: {}, leaf: ids.at(-1) ?? null };
    ids.forEach((id, i) => {
      const parent = ids[i - 1] ?? null;
      deep.messages[id] = { ...message(c, 'user', String(i)), id, parent, created: i };
    });
    expect(path(deep)).toHaveLength(100_000);
    expect(choose(deep, ids[0] ?? '').leaf).toBe(ids.at(-1));
    expect(Object.keys(remove(deep, ids[1] ?? '').messages)).toEqual([ids[0]]);
    const [first = '', second = ''] = ids;
    const circle: Conversation = { ...talk('a'), leaf: first, messages: {} };
    circle.messages[first] = { ...message(c, 'user', '1'), id: first, parent: second };
    circle.messages[second] = { ...message(c, 'user', '2'), id: second, parent: first };
    expect(path(circle)).toHaveLength(2);
    expect(choose(circle, first).leaf).toBeTypeOf('string');
    expect(remove(circle, first).messages).toEqual({});
  },
  LONG,
);

it('takes the title from the first message until the reader gives one', () => {
  const c = talk('What is a sluice?', 'A gate.', 'And a weir?');
  expect(c.title).toBe('What is a sluice?');
  expect(edit(c, idOf(c, 'What is a sluice?'), 'What is a dam?', []).title).toBe('What is a dam?');
  const named = rename(c, ' Water\nworks ');
  expect(named).toMatchObject({ title: 'Water works', named: true });
  expect(edit(named, idOf(c, 'What is a sluice?'), 'x', []).title).toBe('Water works');
  expect(rename(named, ' \u202e ')).toMatchObject({ title: 'What is a sluice?', named: false });
});

it('cuts titles at a word, to one line of 60 visible characters', () => {
  expect(titleOf('')).toBe('');
  expect(titleOf(' \n\t\u0000 ')).toBe('');
  expect(titleOf('a\r\nb\u2028c\u0085d')).toBe('a b c d');
  expect(titleOf('\u202eabc\u2066d\u200f\u061c\ufeff\u0007e')).toBe('abcd e');
  expect(titleOf('x'.repeat(60))).toBe('x'.repeat(60));
  expect(titleOf('word '.repeat(40))).toBe(`${'word '.repeat(11).trim()}…`);
  expect(titleOf(`${'w'.repeat(28)} ${'y'.repeat(30)} z`)).toBe(
    `${'w'.repeat(28)} ${'y'.repeat(30)}…`,
  );
  expect(titleOf('x'.repeat(1e6))).toBe(`${'x'.repeat(59)}…`);
  const emoji = titleOf(`x${'😀'.repeat(80)}`);
  expect(emoji.length).toBeLessThanOrEqual(60);
  expect(emoji).toMatch(/^x(😀)+…$/u);
  expect(titleOf('👩‍👧 a\ud800b')).toBe('👩‍👧 ab');
});

it('marks what was being written as cut off', () => {
  const c = talk('a');
  const open = append(c, message(c, 'assistant', 'b'));
  expect(path(open).at(-1)?.finish).toBeNull();
  expect(path(cutOff(open)).map(({ finish }) => finish)).toEqual(['stop', 'aborted']);
  expect(cutOff(c)).toBe(c);
  // Nothing of it had come.
  const empty = append(c, message(c, 'assistant', ''));
  expect(path(cutOff(empty))).toEqual(path(c));
});

it('makes ids without crypto.randomUUID too', () => {
  const { randomUUID } = crypto;
  try {
    Object.assign(crypto, { randomUUID: undefined });
    const ids = Array.from({ length: 100 }, newId);
    expect(ids.every(isId)).toBe(true);
    expect(new Set(ids).size).toBe(100);
  } finally {
    Object.assign(crypto, { randomUUID });
  }
  expect(isId('__proto__') || isId('constructor') || isId(7)).toBe(false);
});

it('makes every message younger than its parent', () => {
  let c = create();
  for (const content of ['a', 'b', 'c'])
    c = append(c, { ...message(c, 'user', content), created: 7 });
  expect(path(c).map(({ created }) => created)).toEqual([7, 8, 9]);
});
