import { useEffect } from 'preact/hooks';
import { announcement } from '../announce';
import { ModelSheet } from '../model/sheet';
import { SettingsDialog } from '../settings/dialog';
import { TalkView } from '../talk/view';
import { t } from '../texts';
import { WritingView } from '../writing/view';
import { ConversationList } from '../list/list';
import { listOpen, listOver } from '../list/state';
import { DropTarget } from './drop-target';
import { Footer } from './footer';
import { Header } from './header';
import { Notices } from './notices';
import { Shortcuts, onKey, toTheField } from './shortcuts';
import { view } from './view';

export function App() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const talks = view.value === 'talk';
  return (
    <>
      <button type="button" class="skip" onClick={toTheField}>
        {t.value.page.skip}
      </button>
      <Header />
      <div class="rooms" data-view={view}>
        {talks && <ConversationList />}
        <main inert={talks && listOpen.value && listOver.value}>
          <Notices />
          {talks ? <TalkView /> : <WritingView />}
        </main>
      </div>
      {!talks && <Footer />}
      <p class="sr-only" role="status">
        {announcement}
      </p>
      <ModelSheet />
      <SettingsDialog />
      <Shortcuts />
      <DropTarget />
    </>
  );
}
