import type { ReadonlySignal } from '@preact/signals';
import { Markdown } from '../markdown/component';
import { milliseconds } from '../texts/format';
import type { Answering } from './answering';
import { talkTexts } from './texts';

interface Props {
  text: ReadonlySignal<string> | string;
  /** The answer that is being written; null: it is not this one. */
  now: Answering | null;
  /** It still thinks. */
  live: boolean;
}

/** What the model thought before it went on, folded. */
export function Thinking({ text, now, live }: Props) {
  const words = talkTexts.value;
  const time = now?.thought == null ? null : milliseconds(now.thought - now.since);
  return (
    <details class="thinking" data-live={live}>
      <summary>
        {live ? words.thinking : time === null ? words.thoughts : words.thought(time)}
      </summary>
      <Markdown text={text} live={live} />
    </details>
  );
}
