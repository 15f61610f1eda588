import { render } from 'preact';
import { App } from './app';
import { start } from './state';
import '@fontsource-variable/figtree';
import '@fontsource-variable/literata/wght.css';
import './styles/base.css';
import './styles/page.css';

const root = document.getElementById('app');
if (root !== null) {
  start();
  render(<App />, root);
}
