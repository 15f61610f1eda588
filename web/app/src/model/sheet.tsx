import { useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announcement } from '../announce';
import { Dialog } from '../page/dialog';
import { Problem } from '../page/problem';
import { t } from '../texts';
import { AnotherModel } from './another';
import { ComingModel } from './coming';
import { CurrentModel } from './current';
import { follow } from './kept';
import { KeptModels } from './kept-models';
import { aim, sheetOpen } from './open';
import { lookAway } from './probe';
import { measure } from './learn';

export { openSheet, sheetOpen } from './open';

/** All about models: the one in use, the one that is coming, those on this device, and how to get another. */
export function ModelSheet() {
  return (
    <Dialog open={sheetOpen} title={t.value.model.sheet.title} kind="side">
      <Content />
    </Dialog>
  );
}

function Content() {
  useEffect(() => {
    void measure();
    // Other tabs may have changed what is kept.
    void follow();
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
      <CurrentModel />
      <ComingModel />
      <KeptModels />
      <AnotherModel />
    </div>
  );
}
