import { useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announcement } from '../announce';
import { Problem } from '../page/problem';
import { AnotherModel } from './another';
import { ComingModel } from './coming';
import { refreshCopies } from './copies';
import { CurrentModel } from './current';
import { follow } from './kept';
import { KeptModels } from './kept-models';
import { aim } from './open';
import { lookAway } from './probe';
import { measure } from './learn';
import { ShelfList } from './shelf-list';

/** All about models: the one that is coming, those to choose from, another one, those on this device, the one in use. */
export function Sheet() {
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
      <Problem />
      {/* What is outside a modal dialog isn't said. */}
      <p class="sr-only" aria-live="polite">
        {announcement}
      </p>
      <ComingModel />
      <ShelfList />
      <AnotherModel />
      <KeptModels />
      <CurrentModel />
    </div>
  );
}
