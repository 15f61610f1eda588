// @vitest-environment happy-dom
// Files that are read while the reader goes on: each comes to the message that it was given to.
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { settle, take } from '../src/history/library';
import { append, message, path } from '../src/history/tree';
import { model, type Model } from '../src/model/state';
import { attach, detach } from '../src/talk/attach';
import { keptFields } from '../src/talk/drafts';
import {
  attachments,
  cancelEdit,
  draft,
  keepDrafts,
  open,
  refusal,
  send,
  show,
  startEdit,
  unread,
  written,
} from '../src/talk/state';
import './history-setup';

// Without locks each tab may write.
vi.hoisted(() => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
});

/** A file that is read when `come` is called. */
class SlowFile {
  come = (): void => {};
  readonly file: File;

  constructor(name: string, text: string | Uint8Array<ArrayBuffer> = `Text of ${name}`) {
    this.file = new File([text], name);
    const bytes = new Blob([text]).arrayBuffer();
    const gate = new Promise<void>((resolve) => {
      this.come = resolve;
    });
    this.file.arrayBuffer = () => gate.then(() => bytes);
  }
}

const NO_TEXT = new Uint8Array([0xff, 0xfe, 0]);

/** A conversation with a message of the reader's. */
function talkOf(text: string): ReturnType<typeof take> {
  const one = take();
  one.tree.value = append(one.tree.value, message(one.tree.value, 'user', text));
  return one;
}
const names = (): string[] => attachments.value.map(({ name }) => name);

let [a, b] = [take(), take()];
beforeEach(() => {
  [a, b] = [talkOf('a'), talkOf('b')];
  show(a);
  // Messages can be sent: there is a model, though nothing answers.
  model.value = { info: { makes: ['text'], metadata: {} } } as unknown as Model;
});
afterEach(() => {
  show(take());
  model.value = null;
  expect(unread.value.size).toBe(0);
});

// What was left is still being written.
afterAll(settle);

it('comes to its own conversation, while another one is shown', async () => {
  const slow = new SlowFile('notes.txt');
  const read = attach([slow.file]);
  expect(names()).toEqual(['notes.txt']);
  show(b);
  expect(names()).toEqual([]);
  slow.come();
  await read;
  expect(names()).toEqual([]);
  show(a);
  expect(attachments.value).toEqual([{ name: 'notes.txt', text: 'Text of notes.txt' }]);
});

it('is waited for by its message, and goes with it', async () => {
  const slow = new SlowFile('notes.txt');
  draft.value = 'Look at this';
  const read = attach([slow.file]);
  expect(written.value).toBe(false);
  send();
  expect(draft.value).toBe('Look at this');
  expect(path(a.tree.value)).toHaveLength(1);
  slow.come();
  await read;
  expect(written.value).toBe(true);
  send();
  expect(path(a.tree.value)[1]).toMatchObject({
    ...{ content: 'Look at this' },
    attachments: [{ name: 'notes.txt', text: 'Text of notes.txt' }],
  });
  expect(names()).toEqual([]);
});

it('is put aside with its message while an older one is edited', async () => {
  const [mine] = path(a.tree.value);
  const [draws, edits] = [new SlowFile('draft.txt'), new SlowFile('edit.txt')];
  const first = attach([draws.file]);
  if (mine !== undefined) startEdit(mine);
  const second = attach([edits.file]);
  draws.come();
  await first;
  expect(names()).toEqual(['edit.txt']);
  // What was given to the edit goes with that.
  cancelEdit();
  edits.come();
  await second;
  expect(attachments.value).toEqual([{ name: 'draft.txt', text: 'Text of draft.txt' }]);
});

it('stays away once it is removed', async () => {
  const slow = new SlowFile('notes.txt');
  draft.value = 'without it';
  const read = attach([slow.file]);
  attachments.value.forEach(detach);
  expect(written.value).toBe(true);
  slow.come();
  await read;
  expect(names()).toEqual([]);
});

it('that is no text is refused where it was given', async () => {
  const slow = new SlowFile('photo.png', NO_TEXT);
  const read = attach([slow.file]);
  show(b);
  slow.come();
  await read;
  expect(refusal.value).toBe('');
  show(a);
  expect(names()).toEqual([]);
  expect(refusal.value).toContain('photo.png is not a text file');
  show(b);
  expect(refusal.value).toBe('');
});

it('takes the place of one with its name, whichever is read first, unless it is refused', async () => {
  const [old, recent] = [new SlowFile('a.txt', 'old'), new SlowFile('a.txt', 'recent')];
  const reads = [attach([old.file]), attach([recent.file])];
  recent.come();
  await reads[1];
  old.come();
  await reads[0];
  expect(attachments.value).toEqual([{ name: 'a.txt', text: 'recent' }]);
  const wrong = new SlowFile('a.txt', NO_TEXT);
  wrong.come();
  await attach([wrong.file]);
  expect(attachments.value).toEqual([{ name: 'a.txt', text: 'recent' }]);
  expect(open.value).toBe(a);
});

it('is kept over a reload once it is read', async () => {
  keepDrafts(null);
  const kept = (): unknown => {
    window.dispatchEvent(new Event('pagehide'));
    return keptFields().get(a.tree.value.id);
  };
  const slow = new SlowFile('notes.txt');
  const read = attach([slow.file]);
  expect(kept()).toBeUndefined();
  slow.come();
  await read;
  expect(kept()).toMatchObject({ attachments: [{ name: 'notes.txt' }] });
});
