import { render } from 'preact';
import { App } from './app';
import { start } from './state';
import '@fontsource-variable/figtree';
import '@fontsource-variable/literata/wght.css';
import './styles/base.css';
import './styles/page.css';

// Before anything is drawn, and before the styles are there: the workers take longest to start.
start();

function happened(target: EventTarget, ...events: string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) target.addEventListener(event, () => resolve(), { once: true });
  });
}

/** Nothing can be seen without the styles; until they are there the processor is the workers'. */
async function draw(): Promise<void> {
  // A task of its own: what has begun above gets its turn.
  await new Promise((resolve) => setTimeout(resolve));
  if (document.readyState === 'loading') await happened(document, 'DOMContentLoaded');
  const styles = document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]');
  await Promise.all(
    [...styles].map((link) => (link.sheet === null ? happened(link, 'load', 'error') : null)),
  );
  const root = document.getElementById('app');
  if (root !== null) render(<App />, root);
}

void draw();
