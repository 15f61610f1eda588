import { useComputed } from '@preact/signals';
import { CopyButton } from '../ui/copy-button';
import { backToField, focusSoon } from '../ui/focus';
import { IconButton } from '../ui/icons';
import { milliseconds, tokenRate, tokens } from '../texts/format';
import { textOf, type MessagePart } from '../history/parts';
import { siblings, type Message } from '../history/tree';
import { Markdown } from '../markdown/component';
import { isCut } from './ask';
import type { Answering, LivePart } from './answering';
import { talk } from './state';
import { talkTexts } from './texts';
import { Thinking } from './thinking';
import { figuresTexts } from '../panel/figures-texts';
import { XrayButton } from './xray';

/** A message of the conversation. `last`: it is the last one, whose buttons are always seen. */
export function MessageView({ message, last }: { message: Message; last: boolean }) {
  const { role } = message;
  return (
    <li class={`message ${role}`} data-last={last} data-id={message.id}>
      <h3 class="sr-only">
        {role === 'user' ? talkTexts.value.you : message.figures?.model || talkTexts.value.model}
      </h3>
      {role === 'user' ? (
        <Mine message={message} />
      ) : role === 'tool' ? (
        <Tool message={message} />
      ) : (
        <Answer message={message} last={last} />
      )}
    </li>
  );
}

function Mine({ message }: { message: Message }) {
  const text = textOf(message);
  return (
    <>
      <div class="mine">
        {message.attachments.map(({ name, text }) => (
          <details class="attachment" key={name}>
            <summary>{talkTexts.value.attached(name, text.length)}</summary>
            <pre tabIndex={0}>{text}</pre>
          </details>
        ))}
        {text !== '' && (
          <p class="mine-text" dir="auto">
            {text}
          </p>
        )}
      </div>
      <div class="message-foot">
        <Branches of={message} />
        <CopyButton label={talkTexts.value.copyMessage} text={() => textOf(message)} />
        <IconButton
          icon="edit"
          label={talkTexts.value.edit}
          disabled={!talk.sendable.value}
          onClick={() => {
            talk.field.startEdit(message);
            document.getElementById('draft')?.focus();
          }}
        />
      </div>
    </>
  );
}

function Tool({ message }: { message: Message }) {
  return (
    <details class="thinking tool">
      <summary>{talkTexts.value.tool}</summary>
      <pre tabIndex={0}>{textOf(message)}</pre>
    </details>
  );
}

function Answer({ message, last }: { message: Message; last: boolean }) {
  // While it is written, its text is not in the conversation yet.
  const now = useComputed(() =>
    talk.answering.value?.id === message.id ? talk.answering.value : null,
  );
  const writing = now.value;
  const parts = withText(writing === null ? message.parts : writing.parts.value);
  return (
    <>
      {message.dropped > 0 && (
        <p class="message-note">{talkTexts.value.dropped(message.dropped)}</p>
      )}
      {parts.map((one, i) => (
        <Part
          key={keyOf(parts, i)}
          of={one}
          now={writing}
          // One that thinks has done so when there is more.
          live={writing !== null && (one.part === 'text' || isEmpty(parts, i))}
        />
      ))}
      {writing === null && <Foot message={message} last={last} />}
    </>
  );
}

type Shown = MessagePart | LivePart;

/** The parts with a place for the text that is still to come. */
function withText(parts: readonly Shown[]): readonly Shown[] {
  return parts.at(-1)?.part === 'text' ? parts : [...parts, { part: 'text', text: '' }];
}

/** A part stays the same one while others come before it: by its kind, and how many of that are before it. */
function keyOf(parts: readonly Shown[], at: number): string {
  const { part } = parts[at] as Shown;
  return `${part}${parts.slice(0, at).filter((one) => one.part === part).length}`;
}

function isEmpty(parts: readonly Shown[], at: number): boolean {
  return parts.slice(at + 1).every(({ text }) => text === '');
}

function Part({ of, now, live }: { of: Shown; now: Answering | null; live: boolean }) {
  if (of.part === 'text') return <Markdown text={of.text} live={live} />;
  return <Thinking text={of.text} now={now} live={live} />;
}

function Foot({ message, last }: { message: Message; last: boolean }) {
  const { finish, figures } = message;
  const words = talkTexts.value;
  const why =
    finish === 'aborted'
      ? words.cut
      : finish === 'length'
        ? words.length
        : finish === 'error'
          ? words.failed
          : finish === null
            ? words.lost
            : null;
  return (
    <>
      {why !== null && <p class="message-note">{why}</p>}
      {last && isCut(message) && (
        <button
          type="button"
          class="secondary"
          disabled={!talk.sendable.value}
          onClick={() => {
            talk.goOn();
            backToField();
          }}
        >
          {words.goOn}
        </button>
      )}
      <div class="message-foot">
        <Branches of={message} />
        <CopyButton label={words.copyMessage} text={() => textOf(message)} />
        <IconButton
          icon="retry"
          label={words.retry}
          disabled={!talk.sendable.value}
          onClick={() => {
            talk.again(message.id);
            backToField();
          }}
        />
        <XrayButton of={message} />
        {figures !== null && (
          <p class="message-figures">
            {[
              figures.model,
              tokens(figures.tokens),
              // One token has no rate.
              figures.tokens > 1 ? tokenRate(figures.tokensPerSecond) : '',
              figuresTexts.value.firstTokenAfter(milliseconds(figures.ttftMs)),
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
        )}
      </div>
    </>
  );
}

/** The way to the other branches, where there are several. */
function Branches({ of }: { of: Message }) {
  const all = siblings(talk.conversation.value, of.id);
  if (all.length < 2) return null;
  const at = all.indexOf(of.id);
  const words = talkTexts.value;
  const go = (by: number): void => {
    const id = all[at + by];
    if (id === undefined) return;
    talk.switchTo(id);
    // The buttons are drawn anew with the other message.
    const buttons = `.message[data-id="${id}"] .branches button`;
    focusSoon(`${buttons}:${by < 0 ? 'first' : 'last'}-child:enabled`, `${buttons}:enabled`);
  };
  return (
    <div class="branches" role="group" aria-label={words.branch(at + 1, all.length)}>
      <IconButton icon="left" label={words.previous} disabled={at === 0} onClick={() => go(-1)} />
      <span class="number" aria-hidden="true">
        {at + 1}/{all.length}
      </span>
      <IconButton
        icon="right"
        label={words.next}
        disabled={at === all.length - 1}
        onClick={() => go(1)}
      />
    </div>
  );
}
