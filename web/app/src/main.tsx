import { render } from 'preact';
import { App } from './app';
import { start } from './state';
import '@fontsource-variable/figtree';
import '@fontsource-variable/literata/wght.css';
import './styles/base.css';
import './styles/page.css';

// Before anything is drawn, and before the styles are there: the workers take longest to start.
start();

function draw(): void {
  const root = document.getElementById('app');
  if (root !== null) render(<App />, root);
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', draw);
else draw();
