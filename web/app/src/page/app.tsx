import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../announce';
import { listOpen, listOver } from '../list/open';
import { sheetOpen } from '../model/open';
import { run } from '../run';
import { settingsOpen } from '../settings/open';
import { t } from '../texts';
import { TalkComing } from '../talk/coming';
import { Dialog } from './dialog';
import { DropTarget } from './drop-target';
import { Header } from './header';
import { Notices } from './notices';
import { Later, LaterFind, LaterWriting, parts, writingParts } from './parts';
import { onKey, shortcutsOpen, toTheField } from './shortcuts';
import { view } from './view';

export function App() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const talks = view.value === 'talk';
  const first = useRef(true);
  // Each view begins at its beginning. A text that is written, or a conversation, goes to its end by itself.
  useLayoutEffect(() => {
    if (!first.current && run.peek() !== 'writing')
      window.scrollTo({ top: 0, behavior: 'instant' });
    first.current = false;
  }, [view.value]);
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
      {view.value === 'write' && writingParts.value !== null && <writingParts.value.Footer />}
      <p class="sr-only" role="status">
        {announcement}
      </p>
      <Dialog open={sheetOpen} title={t.value.model.sheet.title} kind="side">
        <Later>{({ Sheet }) => <Sheet />}</Later>
      </Dialog>
      <Dialog open={settingsOpen} title={t.value.settings.title} kind="side">
        <Later>{({ Settings }) => <Settings />}</Later>
      </Dialog>
      <Dialog open={shortcutsOpen} title={t.value.page.shortcuts}>
        <Later>{({ ShortcutList }) => <ShortcutList />}</Later>
      </Dialog>
      <DropTarget />
    </>
  );
}

/** The view that is shown. */
function Shown() {
  switch (view.value) {
    case 'talk':
      return <Later before={<TalkComing />}>{({ TalkView }) => <TalkView />}</Later>;
    case 'write':
      return (
        <LaterWriting before={<div class="sheet writing" aria-busy="true" />}>
          {({ WritingView }) => <WritingView />}
        </LaterWriting>
      );
    case 'find':
      return (
        <LaterFind before={<div class="sheet finding" aria-busy="true" />}>
          {({ FindView }) => <FindView />}
        </LaterFind>
      );
  }
}

/** The list of conversations; its place until its script has come. */
function List() {
  const all = parts.value;
  if (all !== null) return <all.ConversationList />;
  return listOpen.value && !listOver.value ? <div class="list" /> : null;
}
