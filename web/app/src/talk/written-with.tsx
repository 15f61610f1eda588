import { useSignal, useSignalEffect } from '@preact/signals';
import { isRef } from '../model/choice';
import { fileOf, hostOf, refOf } from '../model/source';
import { nameByRef } from '../model/name';
import { loading, model, modelName, shownName } from '../model/state';
import { backToField } from '../page/focus';
import { parts } from '../page/parts';
import { conversation, goOnWith, open, answering } from './state';
import { talkTexts } from './texts';

/** A conversation that was written with another model than the one in use says so: never silently another one. */
export function WrittenWith() {
  const away = useSignal(false);
  useSignalEffect(() => {
    const { from } = conversation.value;
    // What is kept may have changed with it.
    void model.value;
    away.value = false;
    if (from === null || !isRef(from)) return;
    void parts.value?.isHere(from).then((here) => {
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
  // The same address may lead to another model by now.
  if (from === here && name === modelName(current)) return null;
  const words = talkTexts.value;
  const file = fileOf(from);
  const alike = file !== null && file === fileOf(here) && name === modelName(current);
  return (
    <div class="written-with" role="status">
      <p>{alike ? words.writtenWithOther(file) : words.writtenWith(nameByRef(from, name))}</p>
      {isRef(from) && from !== here && (
        <button
          type="button"
          class="link"
          onClick={() => {
            void parts.peek()?.openByRef({ name, ref: from });
            backToField();
          }}
        >
          {!away.value
            ? words.loadIt
            : file === null
              ? words.loadFrom(hostOf(from))
              : words.findIt(file)}
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
        {words.goOnWith(shownName(current))}
      </button>
    </div>
  );
}
