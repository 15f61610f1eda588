import { addressFacts } from '@sluice/engine';
import { useSignal, useSignalEffect } from '@preact/signals';
import { isRef } from '../model/choice';
import { fileOf, refOf } from '../model/source';
import { nameByRef } from '../model/name';
import { arriving, model, modelName, shownName } from '../model/state';
import { backToField } from '../ui/focus';
import { modelParts } from '../model/parts';
import { talk } from './state';
import { talkTexts } from './texts';

/** A conversation that was written with another model than the one in use says so: never silently another one. */
export function WrittenWith() {
  const away = useSignal(false);
  useSignalEffect(() => {
    const { from } = talk.conversation.value;
    // What is kept may have changed with it.
    void model.value;
    away.value = false;
    if (from === null || !isRef(from)) return;
    void modelParts.all.value?.isHere(from).then((here) => {
      if (talk.conversation.peek().from === from) away.value = !here;
    });
  });
  const { from, model: name, leaf } = talk.conversation.value;
  const current = model.value;
  // While another one is on its way, that is what the reader has chosen.
  if (current === null || arriving.value) return null;
  if (talk.answeringHere.value !== null) return null;
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
            void modelParts.all.peek()?.openByRef({ name, ref: from });
            backToField();
          }}
        >
          {!away.value
            ? words.loadIt
            : file === null
              ? words.loadFrom(addressFacts(from).host)
              : words.findIt(file)}
        </button>
      )}
      <button
        type="button"
        class="link"
        onClick={() => {
          talk.goOnWith(talk.open.value, modelName(current), here);
          backToField();
        }}
      >
        {words.goOnWith(shownName(current))}
      </button>
    </div>
  );
}
