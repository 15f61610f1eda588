import { useComputed } from '@preact/signals';
import { CopyButton } from '../page/copy-button';
import { backToField, focusSoon } from '../page/focus';
import { IconButton } from '../page/icons';
import { milliseconds, tokenRate, tokens } from '../format';
import { siblings, type Message } from '../history/tree';
import { Markdown } from '../markdown/component';
import { t } from '../texts';
import { isCut } from './ask';
import { again, answering, conversation, goOn, sendable, startEdit, switchTo } from './state';
import { talkTexts } from './texts';
import { Thinking } from './thinking';

/** A message of the conversation. `last`: it is the last one, whose buttons are always seen. */
export function MessageView({ message, last }: { message: Message; last: boolean }) {
  const { role } = message;
  return (
    <li class={`message ${role}`} data-last={last} data-id={message.id}>
      <h3 class="sr-only">
        {role === 'user' ? t.value.talk.you : message.figures?.model || t.value.talk.model}
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
  return (
    <>
      <div class="mine">
        {message.attachments.map(({ name, text }) => (
          <details class="attachment" key={name}>
            <summary>{t.value.talk.attached(name, text.length)}</summary>
            <pre tabIndex={0}>{text}</pre>
          </details>
        ))}
        {message.content !== '' && (
          <p class="mine-text" dir="auto">
            {message.content}
          </p>
        )}
      </div>
      <div class="message-foot">
        <Branches of={message} />
        <CopyButton label={t.value.talk.copyMessage} text={() => message.content} />
        <IconButton
          icon="edit"
          label={t.value.talk.edit}
          disabled={!sendable.value}
          onClick={() => {
            startEdit(message);
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
      <summary>{t.value.talk.tool}</summary>
      <pre tabIndex={0}>{message.content}</pre>
    </details>
  );
}

function Answer({ message, last }: { message: Message; last: boolean }) {
  // While it is written, its text is not in the conversation yet.
  const now = useComputed(() => (answering.value?.id === message.id ? answering.value : null));
  const writing = now.value;
  return (
    <>
      {message.dropped > 0 && <p class="message-note">{t.value.talk.dropped(message.dropped)}</p>}
      <Thinking message={message} now={writing} />
      <Markdown
        text={writing === null ? message.content : writing.content}
        live={writing !== null}
      />
      {writing === null && <Foot message={message} last={last} />}
    </>
  );
}

function Foot({ message, last }: { message: Message; last: boolean }) {
  const { finish, figures } = message;
  const talk = talkTexts.value;
  const why =
    finish === 'aborted'
      ? talk.cut
      : finish === 'length'
        ? talk.length
        : finish === 'error'
          ? talk.failed
          : finish === null
            ? talk.lost
            : null;
  return (
    <>
      {why !== null && <p class="message-note">{why}</p>}
      {last && isCut(message) && (
        <button
          type="button"
          class="secondary"
          disabled={!sendable.value}
          onClick={() => {
            goOn();
            backToField();
          }}
        >
          {talk.goOn}
        </button>
      )}
      <div class="message-foot">
        <Branches of={message} />
        <CopyButton label={talk.copyMessage} text={() => message.content} />
        <IconButton
          icon="retry"
          label={talk.retry}
          disabled={!sendable.value}
          onClick={() => {
            again(message.id);
            backToField();
          }}
        />
        {figures !== null && (
          <p class="message-figures">
            {[
              figures.model,
              tokens(figures.tokens),
              // One token has no rate.
              figures.tokens > 1 ? tokenRate(figures.tokensPerSecond) : '',
              t.value.settings.firstTokenAfter(milliseconds(figures.ttftMs)),
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
  const all = siblings(conversation.value, of.id);
  if (all.length < 2) return null;
  const at = all.indexOf(of.id);
  const { talk } = t.value;
  const go = (by: number): void => {
    const id = all[at + by];
    if (id === undefined) return;
    switchTo(id);
    // The buttons are drawn anew with the other message.
    const buttons = `.message[data-id="${id}"] .branches button`;
    focusSoon(`${buttons}:${by < 0 ? 'first' : 'last'}-child:enabled`, `${buttons}:enabled`);
  };
  return (
    <div class="branches" role="group" aria-label={talk.branch(at + 1, all.length)}>
      <IconButton icon="left" label={talk.previous} disabled={at === 0} onClick={() => go(-1)} />
      <span class="number" aria-hidden="true">
        {at + 1}/{all.length}
      </span>
      <IconButton
        icon="right"
        label={talk.next}
        disabled={at === all.length - 1}
        onClick={() => go(1)}
      />
    </div>
  );
}
