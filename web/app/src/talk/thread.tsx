import { useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Problem } from '../model/problem';
import { t } from '../texts';
import { follow, toTheEnd } from './follow';
import { MessageView } from './message';
import { NextAnswer } from './next-answer';
import { talk } from './state';

/** The messages of the branch that is shown. */
export function Thread() {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => (list.current === null ? undefined : follow(list.current)), []);
  // Another conversation is shown from its end on, and an answer is followed from its beginning.
  useSignalEffect(() => {
    void talk.open.value;
    talk.spoken.value = '';
    if (talk.shown.peek().length > 0) requestAnimationFrame(toTheEnd);
  });
  useSignalEffect(() => {
    // Where an answer ends, the reader stays.
    if (talk.answering.value?.in === talk.open.peek()) requestAnimationFrame(toTheEnd);
  });
  const messages = talk.shown.value;
  const last = messages.at(-1);
  return (
    <>
      <ol class="thread" ref={list} aria-label={t.value.talk.heading}>
        {messages.map((message) => (
          <MessageView key={message.id} message={message} last={message === last} />
        ))}
      </ol>
      <NextAnswer last={last} />
      <div class="failure">
        <Problem of={talk.failure} />
      </div>
      <p class="sr-only" role="log" aria-live="polite">
        {talk.spoken}
      </p>
    </>
  );
}
