import { SOURCE, VERSION } from './about';
import { newer, useNewer } from './offline';

const SNIPPET = `<script type="module">
  import { Engine } from './node_modules/@sluice/engine/dist/index.js';
  const engine = await Engine.load('model.gguf');
  for await (const token of engine.generate('Once upon a time', { maxTokens: 100 })) {
    document.body.append(token.text);
  }
  await engine.close();
</script>`;

export function Footer() {
  return (
    <footer>
      <details>
        <summary>Use this in your page</summary>
        <p>
          <code>npm pack -w web/engine</code> in the source makes the package; no bundler is needed.
          A model from another site needs that site’s permission (CORS).
        </p>
        <pre tabIndex={0} aria-label="HTML of a page that writes">
          <code>{SNIPPET}</code>
        </pre>
      </details>
      <ul>
        <li>Sluice {VERSION}</li>
        {newer.value === 'here' && (
          <li>
            <button type="button" class="quiet" onClick={useNewer}>
              Use the newer version of this page
            </button>
          </li>
        )}
        {newer.value === 'later' && (
          <li>The newer version comes when the other tabs of this page are closed</li>
        )}
        {SOURCE !== '' && (
          <li>
            <a href={SOURCE}>Source</a>
          </li>
        )}
        <li>
          <a href="./LICENSE.txt">Licence: Apache-2.0</a>
        </li>
        <li>
          <a href="./NOTICE.txt">What this page contains, and its licences</a>
        </li>
      </ul>
    </footer>
  );
}
