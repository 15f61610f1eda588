// A page that shows the picture of the layers with made-up data: npm run dev -w web/app, then /test/story/layers.html.
// `#name` shows one of the moments; `#run` plays a load and a text. It is not part of the built page.
import type { WeightsView } from '@sluice/engine';
import { render } from 'preact';
import { Layers } from '../../src/model/layers';
import type { Signal } from '@preact/signals';
import { weights as shown } from '../../src/model/state';
import { arrived, model, turning } from './views';
import '@fontsource-variable/figtree';
import '@fontsource-variable/literata/wght.css';
import '../../src/styles/base.css';
import '../../src/styles/model.css';
import '../../src/styles/layers.css';

const weights = shown as Signal<WeightsView | null>;

const usual = model({ layers: 28, table: true });
const large = model({ layers: 32, heads: 8, bytes: 130e6, turns: 3 });
const small = model({ layers: 5 });
const huge = model({ layers: 126, heads: 1 });

const MOMENTS: Record<string, WeightsView> = {
  header: { ...usual },
  coming: { ...arrived(usual, 9.4, 7), bytesPerSecond: 31.4e6, waitedMs: 1240 },
  kept: { ...arrived(usual, 21.7, 20), bytesPerSecond: 914e6, source: 'cache' },
  whole: arrived(usual, 99),
  filling: { ...arrived(large, 17.3), bytesPerSecond: 47e6 },
  turning: {
    ...turning(large, 12),
    bytesPerSecond: 1.24e9,
    source: 'cache',
    rereadBytes: 48.3e9,
    waitedMs: 14_300,
  },
  small: { ...arrived(small, 3.4, 1), bytesPerSecond: 2e6 },
  smallWhole: arrived(small, 9),
  huge: { ...arrived(huge, 77.6, 61), bytesPerSecond: 12.1e6 },
};

function show(): void {
  const name = location.hash.slice(1);
  if (name !== 'run') {
    weights.value = MOMENTS[name] ?? null;
    return;
  }
  let at = 0;
  setInterval(() => {
    at += 0.13;
    const filled = arrived(large, at, Math.floor(at) - 2);
    weights.value = { ...filled, bytesPerSecond: 40e6 };
  }, 20);
}

window.addEventListener('hashchange', show);
show();
render(
  <main>
    <div class="sheet">
      <div class="composer">
        <Layers />
      </div>
    </div>
  </main>,
  document.getElementById('app') as HTMLElement,
);
