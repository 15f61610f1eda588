// What is in the message's field: a text, files, and whether an older message is edited. Each conversation has a field of its
// own, which waits while another one is shown.
import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Open } from '../history/open';
import { textOf } from '../history/parts';
import { messageOf, type Attachment, type Message } from '../history/tree';
import type { Clock } from '../ui/clock';
import { MOST_NAME, NOTHING, isEmpty, type Draft, type Field, type Fields } from './drafts';

export interface FieldNeeds {
  /** The text of the field, which is there before this is. */
  draft: Signal<string>;
  /** Where fields are kept over a reload. */
  drafts: { read(): Fields; keep(fields: Fields): void };
  clock: Clock;
  /** Hears of the page's end. */
  window: EventTarget;
}

/** Milliseconds from a change in the field to the time when it is kept. */
const KEEP_MS = 300;

function keyOf({ tree }: Open): string {
  const { id, leaf } = tree.peek();
  return leaf === null ? '' : id;
}

export class FieldController {
  readonly draft: Signal<string>;
  readonly attachments = signal<Attachment[]>([]);
  /** Those of the files of all fields that are still being read. Their texts are empty until then. */
  readonly unread = signal<ReadonlySet<Attachment>>(new Set());
  /** Why files could not be attached, or ''. It is shown as an alert. */
  readonly refusal = signal('');
  /** The message of the reader's that is being edited, by its id. */
  readonly editing = signal<string | null>(null);
  /** Whether there is a message in the field. It is none before all of its files are read. */
  readonly written = computed(() => {
    const files = this.attachments.value;
    if (files.some((file) => this.unread.value.has(file))) return false;
    return this.draft.value.trim() !== '' || files.length > 0;
  });
  readonly #needs: FieldNeeds;
  /** The conversation that is shown. */
  readonly #open: ReadonlySignal<Open>;
  /** What was in the field when the reader began to edit a message. */
  #aside = NOTHING;
  /** What was in the fields of the other conversations when they were left. */
  readonly #others = new Map<string, Field>();

  constructor(open: ReadonlySignal<Open>, needs: FieldNeeds) {
    this.#open = open;
    this.#needs = needs;
    this.draft = needs.draft;
  }

  /** What is in the field is sent, or given up. */
  leave(): void {
    this.#fill(this.editing.value === null ? NOTHING : this.#aside);
    this.editing.value = null;
    this.#aside = NOTHING;
  }

  #fill({ text, attachments: files }: Draft): void {
    this.draft.value = text;
    this.attachments.value = files;
    this.refusal.value = '';
  }

  /** Puts a message of the reader's into the field. */
  startEdit(of: Message): void {
    if (this.editing.value === of.id) return;
    if (this.editing.value === null)
      this.#aside = { text: this.draft.value, attachments: this.attachments.value };
    batch(() => {
      this.editing.value = of.id;
      this.#fill({ text: textOf(of), attachments: of.attachments });
    });
  }

  cancelEdit(): void {
    batch(() => this.leave());
  }

  #read(): Field {
    return {
      text: this.draft.value,
      attachments: this.attachments.value,
      editing: this.editing.value,
      aside: this.#aside,
      refusal: this.refusal.value,
    };
  }

  /** Puts into the field what was in that of a conversation. */
  #restore(of: Open): void {
    const key = keyOf(of);
    const field = this.#others.get(key);
    this.#others.delete(key);
    this.#fill(field ?? NOTHING);
    this.refusal.value = field?.refusal ?? '';
    const edited = field?.editing ?? null;
    // Another tab may have deleted the message.
    const there = messageOf(of.tree.peek(), edited) !== undefined;
    this.editing.value = there ? edited : null;
    this.#aside = there && field !== undefined ? field.aside : NOTHING;
  }

  /** Another conversation is shown. What is in the field stays with the one that is left; if that was deleted, it goes along. */
  move(left: Open, next: Open): void {
    if (left.deleted.peek() && this.editing.value !== null) this.leave();
    const field = this.#read();
    if (left.deleted.peek() && !isEmpty(field)) return;
    this.#others.set(keyOf(left), field);
    this.#restore(next);
  }

  /** Adds files. Each has its place in the field until `settle` is called for it; until then the message can't be sent. */
  add(files: readonly Attachment[]): void {
    batch(() => {
      this.refusal.value = '';
      this.unread.value = new Set([...this.unread.peek(), ...files]);
      this.attachments.value = [...this.attachments.peek(), ...files];
    });
  }

  /** Adds a text that is there already, such as a passage that was found. One of the same name is there once. */
  addText(name: string, text: string): void {
    const others = this.attachments.peek().filter((had) => had.name !== name);
    this.attachments.value = [...others, { name: name.slice(-MOST_NAME), text }];
  }

  remove(file: Attachment): void {
    this.attachments.value = this.attachments.value.filter((had) => had !== file);
  }

  /**
   * Puts others in the place of a file, in the field where it is by now: its conversation may have been left, or a message be
   * edited meanwhile. Nothing happens if the reader has removed it. `why`: they could not be attached, as in `refusal`.
   */
  settle(file: Attachment, others: readonly Attachment[], why: string): void {
    const within = ({ attachments: files }: Draft): boolean => files.includes(file);
    const replaced = (files: readonly Attachment[]): Attachment[] =>
      this.#lastOfEachName(files.flatMap((one) => (one === file ? others : [one])));
    const change = <D extends Draft>(of: D): D =>
      within(of) ? { ...of, attachments: replaced(of.attachments) } : of;
    const both = (before: string): string => (before === '' ? why : `${before} ${why}`).trim();
    batch(() => {
      this.unread.value = new Set([...this.unread.peek()].filter((one) => one !== file));
      const now = this.#read();
      if (within(now) || within(this.#aside)) {
        this.attachments.value = change(now).attachments;
        this.#aside = change(this.#aside);
        this.refusal.value = both(this.refusal.peek());
      }
      for (const [of, field] of this.#others) {
        if (!within(field) && !within(field.aside)) continue;
        const changed = { ...change(field), aside: change(field.aside) };
        this.#others.set(of, { ...changed, refusal: both(field.refusal) });
      }
    });
  }

  /** Of files with the same name the last one that is read. */
  #lastOfEachName(files: readonly Attachment[]): Attachment[] {
    const later = new Set<string>();
    const kept: Attachment[] = [];
    for (const file of [...files].reverse()) {
      const isRead = !this.unread.peek().has(file);
      if (isRead && later.has(file.name)) continue;
      if (isRead) later.add(file.name);
      kept.push(file);
    }
    return kept.reverse();
  }

  /** Without the files that are not read. */
  #readOnly<D extends Draft>(of: D): D {
    return { ...of, attachments: of.attachments.filter((file) => !this.unread.peek().has(file)) };
  }

  /**
   * Brings back what was in the fields before the page was loaded again, and keeps them from now on. What belonged to `gone`,
   * a conversation that is no more, comes into a new one.
   */
  keep(gone: string | null): void {
    const { drafts, clock, window } = this.#needs;
    for (const [of, field] of drafts.read()) {
      const to = of === gone ? '' : of;
      if (isEmpty(this.#others.get(to) ?? NOTHING)) this.#others.set(to, field);
    }
    if (isEmpty(this.#read())) this.#restore(this.#open.peek());
    const keep = (): void => {
      const all = new Map(this.#others).set(keyOf(this.#open.peek()), this.#read());
      for (const [of, field] of all) {
        const kept = { ...this.#readOnly(field), aside: this.#readOnly(field.aside) };
        if (isEmpty(kept) && kept.editing === null) all.delete(of);
        else all.set(of, kept);
      }
      drafts.keep(all);
    };
    let undo = (): void => undefined;
    effect(() => {
      const { draft, attachments, unread, editing } = this;
      void [draft.value, attachments.value, unread.value, editing.value, this.#open.value];
      undo();
      undo = clock.after(KEEP_MS, keep);
    });
    window.addEventListener('pagehide', keep);
  }
}
