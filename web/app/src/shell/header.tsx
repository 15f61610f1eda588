import { fileOpen } from '../inside/open';
import { listOpen, listOver } from '../list/open';
import { openSettings } from '../settings/open';
import { t } from '../texts';
import { IconButton } from '../ui/icons';
import { Mark } from '../ui/mark';
import { newConversation } from './parts';
import { chooseView, view, type View } from '../ui/view';

/** The page's head: the list of conversations, the name, the views, settings. */
export function Header() {
  const { page } = t.value;
  const talks = view.value === 'talk' && !fileOpen.value;
  return (
    <header class="head" inert={talks && listOpen.value && listOver.value}>
      <div class="head-left">
        {talks && (
          <IconButton
            icon="list"
            class="list-button"
            label={page.conversations}
            expanded={listOpen.value}
            onClick={() => {
              listOpen.value = !listOpen.value;
            }}
          />
        )}
        <h1 class="wordmark">
          <Mark />
          Sluice<span class="sr-only">{page.named('', page.tagline)}</span>
        </h1>
      </div>
      <div class="views" role="group" aria-label={page.views}>
        <ViewButton to="talk">{page.talk}</ViewButton>
        <ViewButton to="write">{page.write}</ViewButton>
        <ViewButton to="find">{page.find}</ViewButton>
      </div>
      <div class="head-right">
        {/* The list has its own. */}
        {talks && !listOpen.value && (
          <IconButton icon="plus" label={page.newConversation} onClick={newConversation} />
        )}
        <IconButton icon="settings" label={page.settings} onClick={() => openSettings()} />
      </div>
    </header>
  );
}

function ViewButton({ to, children }: { to: View; children: string }) {
  return (
    <button
      type="button"
      class="view-button"
      aria-pressed={view.value === to && !fileOpen.value}
      onClick={() => {
        fileOpen.value = false;
        chooseView(to);
      }}
    >
      {children}
    </button>
  );
}
