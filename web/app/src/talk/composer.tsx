import { useEffect, useRef } from 'preact/hooks';
import { readingFacts } from '../texts/format';
import { historyTexts } from '../history/texts';
import { ModelChip, nextName } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { loading, model, paused } from '../model/state';
import { canWrite } from '../model/makes';
import { openSheet } from '../model/open';
import { backToField, focusSoon, touch } from '../ui/focus';
import { Icon, IconButton } from '../ui/icons';
import { busy, reading, run, stop } from '../model/run';
import { t } from '../texts';
import { WrittenWith } from './written-with';
import { MessageField } from './field';
import { following, toTheEnd } from './follow';
import { backIntoField, onPaste, wasPasted } from './paste';
import { attachFiles, fullness, talk } from './state';
import { talkTexts } from './texts';

/** The field, stuck to the window's lower edge. */
export function Composer() {
  const { writer, known } = talk.open.value;
  return (
    <div class="field-place">
      <Water />
      <div class="field-inner">
        {!following.value && talk.shown.value.length > 0 && (
          <IconButton
            icon="down"
            class="secondary to-the-end"
            label={talkTexts.value.toTheEnd}
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
      data-running={talk.doing.value === 'reading' || talk.doing.value === 'writing'}
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
          const taken = talk.open.value;
          void taken.takeOver().then(() => {
            if (taken === talk.open.value) focusSoon('#draft');
          });
        }}
      >
        {historyTexts.value.takeOver}
      </button>
    </div>
  );
}

function Field() {
  const words = talkTexts.value;
  const { field } = talk;
  const place = useRef<HTMLTextAreaElement>(null);
  useEffect(() => fullness.count(), []);
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
      {field.editing.value !== null && (
        <div class="editing">
          <p>{words.editing}</p>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              field.cancelEdit();
              backToField();
            }}
          >
            {words.cancelEdit}
          </button>
        </div>
      )}
      {field.attachments.value.length > 0 && (
        <ul class="attachments">
          {field.attachments.value.map((file, i) => (
            <li key={i}>
              <span>
                {field.unread.value.has(file)
                  ? words.attaching(file.name)
                  : words.attached(file.name, file.text.length)}
              </span>
              {wasPasted(file) && (
                <button
                  type="button"
                  class="link"
                  aria-label={words.pastedBackLabel(file.name)}
                  onClick={() => {
                    const caret = place.current?.selectionStart ?? field.draft.value.length;
                    backIntoField(field, file, caret);
                    backToField();
                  }}
                >
                  {words.pastedBack}
                </button>
              )}
              <IconButton
                icon="close"
                label={words.removeAttachment(file.name)}
                onClick={() => {
                  field.remove(file);
                  backToField();
                }}
              />
            </li>
          ))}
        </ul>
      )}
      {field.refusal.value !== '' && (
        <p class="hint wrong" role="alert">
          {field.refusal}
        </p>
      )}
      <WrittenWith />
      <Fullness />
      <MessageField field={place} onKeyDown={onKey} onPaste={(event) => onPaste(field, event)} />
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
  const words = talkTexts.value;
  const [over, outgrows, more] = [
    fullness.tooLong.value,
    fullness.outgrown.value,
    fullness.larger.value,
  ];
  if (over === 0 && outgrows === 0)
    return fullness.nearlyFull.value ? <p class="hint">{words.nearlyFull}</p> : null;
  const act = talk.field.attachments.value.length > 0 ? words.removeFile : words.shorten;
  return (
    <div class="fullness">
      <p
        id="fullness"
        class={over > 0 ? 'hint wrong' : 'hint'}
        role={over > 0 ? 'alert' : 'status'}
      >
        {over > 0
          ? words.messageTooLong(over, fullness.contextSize.value)
          : words.outgrown(outgrows)}
        {over > 0 && more === null && ` ${act}`}
      </p>
      {more !== null && (
        <button
          type="button"
          class="secondary"
          disabled={loading.value !== null || busy.value}
          onClick={() => {
            fullness.takeLarger();
            backToField();
          }}
        >
          {words.largerContext(more.size, more.more)}
        </button>
      )}
    </div>
  );
}

/** Whether what is in the field can't be sent as it is, or isn't known to fit yet. */
const waits = (): boolean => fullness.tooLong.value > 0 || fullness.uncounted.value;

function sendIt(): void {
  if (waits()) return;
  // A keyboard on the screen would cover the answer.
  if (touch.matches) document.getElementById('draft')?.blur();
  talk.send();
}

function onKey(event: KeyboardEvent): void {
  if (event.key === 'Enter' && !event.shiftKey && !touch.matches) {
    event.preventDefault();
    if (!busy.value) sendIt();
  } else if (event.key === 'Escape' && talk.field.editing.value !== null && !busy.value) {
    event.preventDefault();
    talk.field.cancelEdit();
  } else if (event.key === 'ArrowUp' && talk.field.draft.value === '' && !busy.value) {
    const mine = talk.shown.value.findLast(({ role }) => role === 'user');
    if (mine === undefined) return;
    event.preventDefault();
    talk.field.startEdit(mine);
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
          void attachFiles(files);
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
  const words = talkTexts.value;
  const now = talk.answering.value;
  if (now !== null && now.in === talk.open.value) {
    if (run.value === 'waiting') {
      const name = nextName();
      const why = name === null ? words.waitsForModel : words.waitsFor(name);
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
      return <p class="field-facts number">{words.writes(now.tokens.value, rate)}</p>;
    }
    const facts = reading.value === null ? null : readingFacts(reading.value).join(' · ');
    return (
      <p class="field-facts number">{facts === null ? words.reads : words.readsFacts(facts)}</p>
    );
  }
  if (now !== null) {
    return (
      <p class="field-facts">
        {words.elsewhere}{' '}
        <button type="button" class="link" onClick={() => talk.show(now.in)}>
          {words.showIt}
        </button>
      </p>
    );
  }
  if (!canWrite.value) {
    return (
      <p class="field-facts">
        {model.value === null ? words.noModel : words.noChatModel}{' '}
        <button type="button" class="link" onClick={() => openSheet()}>
          {words.chooseModel}
        </button>
      </p>
    );
  }
  if (fullness.contextSize.value === 0 || fullness.used.value === 0)
    return <p class="field-facts" />;
  return (
    <p class="field-facts number" data-nearly-full={fullness.nearlyFull.value}>
      <span class="sr-only">{t.value.page.named(words.contextLabel, '')}</span>
      {words.context(fullness.used.value, fullness.contextSize.value)}
    </p>
  );
}

function SendButton() {
  const words = talkTexts.value;
  const stops = busy.value;
  const label = stops ? words.stop : words.send;
  const why = !stops && fullness.tooLong.value > 0 ? 'fullness' : undefined;
  return (
    <button
      type="submit"
      class="send"
      data-stops={stops}
      aria-label={label}
      aria-describedby={why}
      title={!stops && fullness.uncounted.value ? words.counting : label}
      disabled={
        stops ? run.value === 'stopping' : !talk.field.written.value || !canWrite.value || waits()
      }
    >
      <Icon name={stops ? 'stop' : 'up'} />
    </button>
  );
}
