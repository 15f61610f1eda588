import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announcement } from '../ui/announce';
import { CopyButton } from '../ui/copy-button';
import { talkParts } from '../talk/parts';
import { chooseView } from '../ui/view';
import type { Hit } from './ranking';
import { found, unread } from './state';
import { findTexts } from './texts';

/** The names of the passages that are attached to the message that is written next. */
const attached = signal<ReadonlySet<string>>(new Set());

/** Focuses a passage; -1: the question. False: there is none. */
export function toHit(at: number): boolean {
  const heads = document.querySelectorAll<HTMLElement>('.hit-head');
  const to = at < 0 ? document.getElementById('question') : heads[at];
  to?.focus();
  return to != null;
}

/** The passages that were found. */
export function Hits() {
  const words = findTexts.value;
  const now = found.value;
  // What is attached may have been sent since.
  useEffect(() => {
    attached.value = new Set();
  }, []);
  if (now === null) return null;
  const { hits } = now;
  return (
    <section class="hits" aria-labelledby="hits-heading">
      <h3 class="label" id="hits-heading">
        {words.found(hits.length, now.question)}
      </h3>
      {attached.value.size > 0 && (
        <p class="attached">
          {words.attachedTo(attached.value.size)}{' '}
          <button type="button" class="link" data-to-field onClick={() => chooseView('talk')}>
            {words.toTalk}
          </button>
        </p>
      )}
      <ol
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          const heads = [...document.querySelectorAll('.hit-head')];
          const at = heads.indexOf(document.activeElement as HTMLElement);
          if (step !== undefined && at >= 0 && toHit(at + step)) event.preventDefault();
        }}
      >
        {hits.map((hit) => (
          <OneHit key={`${hit.of} ${hit.start}`} {...hit} />
        ))}
      </ol>
      {unread.value.length > 0 && <p class="note">{words.partOnly}</p>}
    </section>
  );
}

function OneHit({ name, line, text, score }: Hit) {
  const words = findTexts.value;
  const open = useSignal(false);
  const source = words.source(name, line);
  const isAttached = attached.value.has(source);
  const attach = (): void => {
    attached.value = new Set([...attached.peek(), source]);
    announcement.value = words.attachedTo(attached.peek().size);
    void talkParts.fetch().then((all) => all?.attachText(source, text));
  };
  return (
    <li class="hit" data-open={open}>
      <button
        type="button"
        class="hit-head"
        aria-expanded={open}
        title={open.value ? words.less : words.all}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <bdi class="hit-name">{name}</bdi>
        <span class="hit-line">{words.line(line)}</span>
        <span class="hit-bar" aria-hidden="true">
          <span style={{ width: `${Math.round(100 * Math.min(1, Math.max(0, score)))}%` }} />
        </span>
      </button>
      <p class="hit-text">{text}</p>
      <div class="hit-buttons">
        <button type="button" class="quiet" aria-disabled={isAttached} onClick={attach}>
          {isAttached ? words.attached : words.attach}
        </button>
        <CopyButton label={words.copy} text={() => text} />
      </div>
    </li>
  );
}
