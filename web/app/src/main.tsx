import { render } from 'preact';
import { announcement } from './ui/announce';
import { App } from './shell/app';
import { followModel } from './shell/follow-model';
import { start } from './shell/start';
import { keepPage } from './shell/offline';
import { fetchPartsAtRest, fetchView, keepList, keepNames } from './shell/parts';
import { view } from './ui/view';
import { startPersonal } from './settings/personal';
import { language, startLanguage } from './texts/language';
import '@fontsource-variable/figtree';
import '@fontsource-variable/literata/wght.css';
import './styles/base.css';
import './styles/dialog.css';
import './styles/shell.css';
import './styles/talk.css';
import './styles/front.css';
import './styles/markdown.css';
import './styles/kept.css';
import './styles/writing.css';
import './styles/find.css';
import './styles/layers.css';
import './styles/settings.css';
import './styles/model.css';
import './styles/sheet.css';
import './styles/notices.css';
import './styles/foot.css';

// First of all, before the styles have arrived: the workers take longest to start.
startPersonal();
const texts = startLanguage();
start();
followModel();
// What is shown needs a script of its own.
fetchView(view.peek());

function happened(target: EventTarget, ...events: string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) target.addEventListener(event, () => resolve(), { once: true });
  });
}

/** Draws the page as soon as its styles and texts have arrived. */
async function draw(): Promise<void> {
  if (document.readyState === 'loading') await happened(document, 'DOMContentLoaded');
  const styles = document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]');
  await Promise.all(
    [...styles].map((link) => (link.sheet === null ? happened(link, 'load', 'error') : null)),
  );
  await texts;
  // What was said before the page's language had come is in another one.
  if (language.peek() !== 'en') announcement.value = '';
  const root = document.getElementById('app');
  if (root !== null) render(<App />, root);
}

void draw();
keepPage();
fetchPartsAtRest();
keepList();
keepNames();
