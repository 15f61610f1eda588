import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { announcement } from '../announce';
import { Problem } from '../page/problem';
import { AnotherModel } from './another';
import { ComingModel } from './coming';
import { copies, refreshCopies } from './copies';
import { CurrentModel } from './current';
import { follow, kept } from './kept';
import { KeptModels } from './kept-models';
import { aim } from './open';
import { lookAway } from './probe';
import { measure } from './learn';
import { ShelfList } from './shelf-list';

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
      <Problem />
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
