import { useEffect, useRef } from 'preact/hooks';
import { readingFacts } from '../format';
import { historyTexts } from '../history/texts';
import { ModelChip, nextName } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { loading, model, paused } from '../model/state';
import { canWrite } from '../model/makes';
import { openSheet } from '../model/open';
import { backToField, focusSoon, touch } from '../page/focus';
import { Icon, IconButton } from '../page/icons';
import { busy, reading, run, stop } from '../run';
import { t } from '../texts';
import { WrittenWith } from './written-with';
import { attach, detach } from './attach';
import {
  contextSize,
  countDraft,
  larger,
  nearlyFull,
  outgrown,
  takeLarger,
  tooLong,
  uncounted,
  used,
} from './context';
import { MessageField } from './field';
import { following, toTheEnd } from './follow';
import { intoField, onPaste, wasPasted } from './paste';
import {
  answering,
  attachments,
  cancelEdit,
  doing,
  draft,
  editing,
  open,
  refusal,
  send,
  show,
  shown,
  startEdit,
  unread,
  written,
} from './state';
import { talkTexts } from './texts';

/** The field, stuck to the window's lower edge. */
export function Composer() {
  const { writer, known } = open.value;
  return (
    <div class="field-place">
      <Water />
      <div class="field-inner">
        {!following.value && shown.value.length > 0 && (
          <IconButton
            icon="down"
            class="secondary to-the-end"
            label={t.value.talk.toTheEnd}
            onClick={() => {
              toTheEnd();
              backToField();
            }}
          />
        )}
        <LoadLine />
        {writer.value || !known.value ? <Field /> : <Elsewhere />}
      </div>
    </div>
  );
}

/** The wave, which moves while an answer is computed. */
function Water() {
  return (
    <div
      class="water"
      aria-hidden="true"
      data-running={doing.value === 'reading' || doing.value === 'writing'}
    />
  );
}

function Elsewhere() {
  return (
    <div class="elsewhere" role="status">
      <p>{historyTexts.value.readOnly}</p>
      <button
        type="button"
        class="secondary"
        onClick={() => {
          const taken = open.value;
          void taken.takeOver().then(() => {
            if (taken === open.value) focusSoon('#draft');
          });
        }}
      >
        {historyTexts.value.takeOver}
      </button>
    </div>
  );
}

function Field() {
  const talk = talkTexts.value;
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(countDraft, []);
  return (
    <form
      class="talk-field"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy.value) stop();
        else sendIt();
        backToField();
      }}
    >
      {editing.value !== null && (
        <div class="editing">
          <p>{talk.editing}</p>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              cancelEdit();
              backToField();
            }}
          >
            {talk.cancelEdit}
          </button>
        </div>
      )}
      {attachments.value.length > 0 && (
        <ul class="attachments">
          {attachments.value.map((file, i) => (
            <li key={i}>
              <span>
                {unread.value.has(file)
                  ? talk.attaching(file.name)
                  : talk.attached(file.name, file.text.length)}
              </span>
              {wasPasted(file) && (
                <button
                  type="button"
                  class="link"
                  aria-label={talk.pastedBackLabel(file.name)}
                  onClick={() => {
                    intoField(file, field.current?.selectionStart ?? draft.value.length);
                    backToField();
                  }}
                >
                  {talk.pastedBack}
                </button>
              )}
              <IconButton
                icon="close"
                label={talk.removeAttachment(file.name)}
                onClick={() => {
                  detach(file);
                  backToField();
                }}
              />
            </li>
          ))}
        </ul>
      )}
      {refusal.value !== '' && (
        <p class="hint wrong" role="alert">
          {refusal}
        </p>
      )}
      <WrittenWith />
      <Fullness />
      <MessageField field={field} onKeyDown={onKey} onPaste={onPaste} />
      <div class="field-row">
        <Attach />
        <ModelChip />
        <Facts />
        <SendButton />
      </div>
    </form>
  );
}

/** What doesn't fit, and what can be done about it. */
function Fullness() {
  const talk = talkTexts.value;
  const [over, outgrows, more] = [tooLong.value, outgrown.value, larger.value];
  if (over === 0 && outgrows === 0)
    return nearlyFull.value ? <p class="hint">{talk.nearlyFull}</p> : null;
  const act = attachments.value.length > 0 ? talk.removeFile : talk.shorten;
  return (
    <div class="fullness">
      <p
        id="fullness"
        class={over > 0 ? 'hint wrong' : 'hint'}
        role={over > 0 ? 'alert' : 'status'}
      >
        {over > 0 ? talk.messageTooLong(over, contextSize.value) : talk.outgrown(outgrows)}
        {over > 0 && more === null && ` ${act}`}
      </p>
      {more !== null && (
        <button
          type="button"
          class="secondary"
          disabled={loading.value !== null || busy.value}
          onClick={() => {
            takeLarger();
            backToField();
          }}
        >
          {talk.largerContext(more.size, more.more)}
        </button>
      )}
    </div>
  );
}

/** Whether what is in the field can't be sent as it is, or isn't known to fit yet. */
const waits = (): boolean => tooLong.value > 0 || uncounted.value;

function sendIt(): void {
  if (waits()) return;
  // A keyboard on the screen would cover the answer.
  if (touch.matches) document.getElementById('draft')?.blur();
  send();
}

function onKey(event: KeyboardEvent): void {
  if (event.key === 'Enter' && !event.shiftKey && !touch.matches) {
    event.preventDefault();
    if (!busy.value) sendIt();
  } else if (event.key === 'Escape' && editing.value !== null && !busy.value) {
    event.preventDefault();
    cancelEdit();
  } else if (event.key === 'ArrowUp' && draft.value === '' && !busy.value) {
    const mine = shown.value.findLast(({ role }) => role === 'user');
    if (mine === undefined) return;
    event.preventDefault();
    startEdit(mine);
  }
}

function Attach() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = '';
          void attach(files);
        }}
      />
      <IconButton
        icon="attach"
        label={t.value.talk.attach}
        onClick={() => input.current?.click()}
      />
    </>
  );
}

/** What is going on, or how full the context is. */
function Facts() {
  const { talk } = t.value;
  const now = answering.value;
  if (now !== null && now.in === open.value) {
    if (run.value === 'waiting') {
      const words = talkTexts.value;
      const name = nextName();
      const why = name === null ? talk.waitsForModel : words.waitsFor(name);
      return (
        <p class="field-facts">
          {loading.value === null && paused.value !== null ? words.waitsPaused : why}
        </p>
      );
    }
    if (now.tokens.value > 0) {
      const seconds = (performance.now() - (now.first ?? now.since)) / 1000;
      // The first token's time is not part of the rate.
      const rate = seconds > 0.2 ? (now.tokens.value - 1) / seconds : 0;
      return <p class="field-facts number">{talk.writes(now.tokens.value, rate)}</p>;
    }
    const facts = reading.value === null ? null : readingFacts(reading.value).join(' · ');
    return <p class="field-facts number">{facts === null ? talk.reads : talk.readsFacts(facts)}</p>;
  }
  if (now !== null) {
    return (
      <p class="field-facts">
        {talk.elsewhere}{' '}
        <button type="button" class="link" onClick={() => show(now.in)}>
          {talk.showIt}
        </button>
      </p>
    );
  }
  if (!canWrite.value) {
    return (
      <p class="field-facts">
        {model.value === null ? talk.noModel : talkTexts.value.noChatModel}{' '}
        <button type="button" class="link" onClick={() => openSheet()}>
          {talk.chooseModel}
        </button>
      </p>
    );
  }
  if (contextSize.value === 0 || used.value === 0) return <p class="field-facts" />;
  return (
    <p class="field-facts number" data-nearly-full={nearlyFull.value}>
      <span class="sr-only">{talk.contextLabel}: </span>
      {talk.context(used.value, contextSize.value)}
    </p>
  );
}

function SendButton() {
  const talk = talkTexts.value;
  const stops = busy.value;
  const label = stops ? talk.stop : talk.send;
  const why = !stops && tooLong.value > 0 ? 'fullness' : undefined;
  return (
    <button
      type="submit"
      class="send"
      data-stops={stops}
      aria-label={label}
      aria-describedby={why}
      title={!stops && uncounted.value ? talk.counting : label}
      disabled={stops ? run.value === 'stopping' : !written.value || !canWrite.value || waits()}
    >
      <Icon name={stops ? 'stop' : 'up'} />
    </button>
  );
}
