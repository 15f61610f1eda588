import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../ui/announce';
import { listOpen, listOver } from '../list/open';
import { listParts } from '../list/parts';
import { sheetOpen } from '../model/open';
import { run } from '../model/run';
import { findParts } from '../find/parts';
import { fileOpen } from '../inside/open';
import { insideParts } from '../inside/parts';
import { modelParts } from '../model/parts';
import { settingsOpen, shortcutsOpen } from '../settings/open';
import { settingsParts } from '../panel/parts';
import { t } from '../texts';
import { TalkComing } from '../talk/coming';
import { talkParts } from '../talk/parts';
import { Dialog } from '../ui/dialog';
import { With } from '../ui/later';
import { view } from '../ui/view';
import { writingParts } from '../writing/parts';
import { DropTarget } from './drop-target';
import { Header } from './header';
import { Notices } from './notices';
import { onKey, toTheField } from './shortcuts';

export function App() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const talks = view.value === 'talk' && !fileOpen.value;
  const first = useRef(true);
  // Each view begins at its beginning. A text that is written, or a conversation, goes to its end by itself.
  useLayoutEffect(() => {
    if (!first.current && run.peek() !== 'writing')
      window.scrollTo({ top: 0, behavior: 'instant' });
    first.current = false;
  }, [view.value, fileOpen.value]);
  const writing = writingParts.all.value;
  return (
    <>
      <button type="button" class="skip" onClick={toTheField}>
        {t.value.page.skip}
      </button>
      <Header />
      <div class="rooms" data-view={view}>
        {talks && <List />}
        <main inert={talks && listOpen.value && listOver.value}>
          <Notices />
          <Shown />
        </main>
      </div>
      {view.value === 'write' && writing !== null && <writing.Footer />}
      <p class="sr-only" role="status">
        {announcement}
      </p>
      <Dialog open={sheetOpen} title={t.value.model.sheet.title} kind="side">
        <With of={modelParts}>{({ Sheet }) => <Sheet />}</With>
      </Dialog>
      <Dialog open={settingsOpen} title={t.value.settings.title} kind="side">
        <With of={settingsParts}>{({ Settings }) => <Settings />}</With>
      </Dialog>
      <Dialog open={shortcutsOpen} title={t.value.page.shortcuts}>
        <With of={settingsParts}>{({ ShortcutList }) => <ShortcutList />}</With>
      </Dialog>
      <DropTarget />
    </>
  );
}

/** The view that is shown. */
function Shown() {
  if (fileOpen.value) return <With of={insideParts}>{({ TraceFile }) => <TraceFile />}</With>;
  switch (view.value) {
    case 'talk':
      return (
        <With of={talkParts} before={<TalkComing />}>
          {({ TalkView }) => <TalkView Menu={Menu} />}
        </With>
      );
    case 'write':
      return (
        <With of={writingParts} before={<div class="sheet writing" aria-busy="true" />}>
          {({ WritingView }) => <WritingView />}
        </With>
      );
    case 'find':
      return (
        <With of={findParts} before={<div class="sheet finding" aria-busy="true" />}>
          {({ FindView }) => <FindView />}
        </With>
      );
  }
}

/** What can be done with a whole conversation, when its script has come. */
function Menu() {
  const all = listParts.all.value;
  return all !== null && <all.AllOfIt />;
}

/** The list of conversations; its place until its script has come. */
function List() {
  const all = listParts.all.value;
  if (all !== null) return <all.ConversationList />;
  return listOpen.value && !listOver.value ? <div class="list" /> : null;
}
