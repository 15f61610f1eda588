import { useEffect } from 'preact/hooks';
import { Bar } from './components/bar';
import { Composer } from './components/composer';
import { DropTarget } from './components/drop-target';
import { Figures } from './components/figures';
import { Footer } from './components/footer';
import { Mark } from './components/mark';
import { ModelPanel } from './components/model-panel';
import { Notices } from './components/notices';
import { Text } from './components/text';
import { announcement, busy, stop, write } from './state';

function onKey(event: KeyboardEvent): void {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    write();
  } else if (event.key === 'Escape' && busy.value) {
    stop();
  }
}

export function App() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);

  return (
    <>
      <header class="masthead">
        <p class="wordmark">
          <Mark />
          Sluice
        </p>
        <h1>Language models that write in this page, on your own processor.</h1>
        <p class="lede">
          Any GGUF file of the Llama, Qwen, GPT-2 or Gemma&nbsp;3 families. What you write never
          leaves this device.
        </p>
      </header>
      <main>
        <div class="sheet">
          <Notices />
          <Composer />
          <Figures />
          <Text />
          <Bar />
        </div>
        <ModelPanel />
      </main>
      <Footer />
      <p class="sr-only" role="status">
        {announcement}
      </p>
      <DropTarget />
    </>
  );
}
