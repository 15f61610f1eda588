import { useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Problem } from '../page/problem';
import { t } from '../texts';
import { follow, toTheEnd } from './follow';
import { MessageView } from './message';
import { NextAnswer } from './next-answer';
import { answering, failure, open, shown } from './state';
import { spoken } from './speak';

/** The messages of the branch that is shown. */
export function Thread() {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => (list.current === null ? undefined : follow(list.current)), []);
  // Another conversation is shown from its end on, and an answer is followed from its beginning.
  useSignalEffect(() => {
    void open.value;
    spoken.value = '';
    if (shown.peek().length > 0) requestAnimationFrame(toTheEnd);
  });
  useSignalEffect(() => {
    // Where an answer ends, the reader stays.
    if (answering.value?.in === open.peek()) requestAnimationFrame(toTheEnd);
  });
  const messages = shown.value;
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
        <Problem of={failure} />
      </div>
      <p class="sr-only" role="log" aria-live="polite">
        {spoken}
      </p>
    </>
  );
}
