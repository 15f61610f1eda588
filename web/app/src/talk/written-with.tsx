import { useSignal, useSignalEffect } from '@preact/signals';
import { isRef } from '../model/choice';
import { isKept } from '../model/kept';
import { hostOf, refOf } from '../model/source';
import { loading, model, modelName } from '../model/state';
import { backToField } from '../page/focus';
import { parts } from '../page/parts';
import { conversation, goOnWith, open, answering } from './state';
import { talkTexts } from './texts';

/** A conversation that was written with another model than the one in use says so: never silently another one. */
export function WrittenWith() {
  const away = useSignal(false);
  useSignalEffect(() => {
    const { from } = conversation.value;
    away.value = false;
    if (from === null || !/^(https?|hf):/.test(from)) return;
    void isKept(from).then((here) => {
      if (conversation.peek().from === from) away.value = !here;
    });
  });
  const { from, model: name, leaf } = conversation.value;
  const current = model.value;
  // While another one is on its way, that is what the reader has chosen.
  if (current === null || (loading.value !== null && !loading.value.shown)) return null;
  if (answering.value?.in === open.value) return null;
  if (from === null || name === null || leaf === null) return null;
  const here = refOf(current.source);
  if (from === here) return null;
  const words = talkTexts.value;
  return (
    <div class="written-with" role="status">
      <p>{words.writtenWith(name)}</p>
      {isRef(from) && (
        <button
          type="button"
          class="link"
          onClick={() => {
            void parts.peek()?.openByRef({ name, ref: from });
            backToField();
          }}
        >
          {away.value ? words.loadFrom(hostOf(from)) : words.loadIt}
        </button>
      )}
      <button
        type="button"
        class="link"
        onClick={() => {
          goOnWith(open.value, modelName(current), here);
          backToField();
        }}
      >
        {words.goOnWith(modelName(current))}
      </button>
    </div>
  );
}
