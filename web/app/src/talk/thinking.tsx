import { useComputed } from '@preact/signals';
import { milliseconds } from '../format';
import type { Message } from '../history/tree';
import { Markdown } from '../markdown/component';
import { t } from '../texts';
import type { Answering } from './state';

/** What the model thought before its answer, folded. `now`: it is being written. */
export function Thinking({ message, now }: { message: Message; now: Answering | null }) {
  const has = useComputed(() => (now === null ? message.reasoning : now.reasoning.value) !== '');
  const answers = useComputed(() => now === null || now.content.value !== '');
  if (!(now === null ? message.reasoning !== '' : has.value)) return null;
  const { talk } = t.value;
  const done = now === null || answers.value;
  const time = now?.thought == null ? null : milliseconds(now.thought - now.since);
  return (
    <details class="thinking" data-live={!done}>
      <summary>
        {!done ? talk.thinking : time === null ? talk.thoughts : talk.thought(time)}
      </summary>
      <Markdown text={now === null ? message.reasoning : now.reasoning} live={!done} />
    </details>
  );
}
