import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { announcement } from '../ui/announce';
import { AnotherModel } from './another';
import { ComingModel } from './coming';
import { copies, refreshCopies } from './copies';
import { CurrentModel } from './current';
import { kept } from './kept';
import { follow } from './kept-list';
import { KeptModels } from './kept-models';
import { aim } from './open';
import { lookAway } from './probe';
import { ProblemText } from './problem-text';
import { measure } from './learn';
import { ShelfList } from './shelf-list';
import { closeProblem, problem } from './state';

/** All about models: the one that is coming, those to choose from, another one, those on this device, the one in use. */
export function Sheet() {
  // Their place stays while the sheet is open.
  const own = useRef((kept.peek()?.length ?? 0) + copies.peek().length > 0).current;
  useEffect(() => {
    void measure();
    // Other tabs may have changed what is kept.
    void follow();
    void refreshCopies();
    return lookAway;
  }, []);
  useSignalEffect(() => {
    if (aim.value === '') return;
    document.getElementById(aim.value)?.focus();
    aim.value = '';
  });
  return (
    <div class="model">
      <div role="alert">
        {problem.value !== null && <ProblemText about={problem.value} close={closeProblem} />}
      </div>
      {/* What is outside a modal dialog isn't said. */}
      <p class="sr-only" aria-live="polite">
        {announcement}
      </p>
      <ComingModel />
      {own && <KeptModels />}
      <ShelfList />
      <AnotherModel />
      {!own && <KeptModels />}
      <CurrentModel />
    </div>
  );
}
