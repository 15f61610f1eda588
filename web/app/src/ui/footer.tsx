import { SOURCE, VERSION } from './about';
import { newer, useNewer } from './newer';
import { footer } from '../texts/en/footer';
import { inLanguage } from '../texts/language';

const footerTexts = inLanguage('footer', footer);

const SNIPPET = `<script type="module">
  import { Engine } from './node_modules/@sluice/engine/dist/index.js';
  const engine = await Engine.load('model.gguf');
  for await (const token of engine.generate('Once upon a time', { maxTokens: 100 })) {
    document.body.append(token.text);
  }
  await engine.close();
</script>`;

export function Footer() {
  const words = footerTexts.value;
  return (
    <footer>
      <details>
        <summary>{words.use}</summary>
        <p>
          <code>npm pack -w web/engine</code> {words.packs} {words.cors}
        </p>
        <pre tabIndex={0} aria-label={words.snippet}>
          <code>{SNIPPET}</code>
        </pre>
      </details>
      <About />
    </footer>
  );
}

/** The version, a newer one, and licences: at the end of the writing view, and of the conversation's settings. */
export function About() {
  const words = footerTexts.value;
  return (
    <ul class="about">
      <li>Sluice {VERSION}</li>
      {newer.value === 'here' && (
        <li>
          <button type="button" class="quiet" onClick={useNewer}>
            {words.newer}
          </button>
        </li>
      )}
      {newer.value === 'later' && <li>{words.later}</li>}
      {SOURCE !== '' && (
        <li>
          <a href={SOURCE}>{words.source}</a>
        </li>
      )}
      <li>
        <a href="./LICENSE.txt">{words.licence}</a>
      </li>
      <li>
        <a href="./NOTICE.txt">{words.notice}</a>
      </li>
    </ul>
  );
}
