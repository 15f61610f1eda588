import type { ComponentChildren } from 'preact';
import { bytes, digits, milliseconds } from '../format';
import { isolated, stats } from '../state';

export function Figures() {
  const s = stats.value;
  const ran = s !== null && s.tokens > 0;
  return (
    <section class="figures" aria-label="Figures">
      <dl>
        <Figure label="First token">{ran ? milliseconds(s.ttftMs) : null}</Figure>
        <Figure label="Prompt">{ran ? rate(s.promptTokensPerSecond) : null}</Figure>
        <Figure label="Writing">{ran ? rate(s.tokensPerSecond) : null}</Figure>
        <Figure label="Flavour">{s?.flavour ?? null}</Figure>
        <Figure label="Threads">{s ? String(s.threads) : null}</Figure>
        <Figure label="Memory">{s ? bytes(s.heapBytes) : null}</Figure>
      </dl>
      {!isolated && (
        <p class="note">
          <strong>One thread.</strong> This page isn’t cross-origin isolated, so the browser gives
          it no memory that threads could share. The text is the same, only slower. To change that,
          its server has to send the headers <code>Cross-Origin-Opener-Policy: same-origin</code>{' '}
          and <code>Cross-Origin-Embedder-Policy: require-corp</code>.
        </p>
      )}
    </section>
  );
}

function rate(tokensPerSecond: number): ComponentChildren {
  return (
    <>
      {digits(tokensPerSecond)} <small>tokens/s</small>
    </>
  );
}

function Figure({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{children ?? <span class="none">–</span>}</dd>
    </div>
  );
}
