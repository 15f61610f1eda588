import type { EngineStats } from '@sluice/engine';
import type { ComponentChildren } from 'preact';
import { bytes, digits, milliseconds } from '../format';
import { busy, isolated, sharing, stats, written } from '../state';

export function Figures() {
  const s = stats.value;
  // Until the first token of a text the stats are those of the text before.
  const ran = s !== null && s.tokens > 0 && (!busy.value || (written.value?.tokens ?? 0) > 0);
  return (
    <section class="figures" aria-label="Figures">
      <dl>
        <Figure label="First token">{ran && s.ttftMs > 0 ? milliseconds(s.ttftMs) : null}</Figure>
        <Figure label="Prompt">{ran ? rate(s.promptTokensPerSecond) : null}</Figure>
        <Figure label="Writing">{ran ? rate(s.tokensPerSecond) : null}</Figure>
        <Figure label="Flavour">{s?.flavour ?? null}</Figure>
        <Figure label="Threads">{s ? threads(s) : null}</Figure>
        <Figure label="In memory">{s ? bytes(s.residentBytes) : null}</Figure>
      </dl>
      {isolated && !sharing && (
        <p class="note">
          <strong>One thread.</strong> This browser has no memory that threads could share. The text
          is the same, only slower. Other browsers use all processors.
        </p>
      )}
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

function threads({ threads, decodeThreads }: EngineStats): ComponentChildren {
  if (decodeThreads >= threads) return String(threads);
  return (
    <>
      {threads},{' '}
      <small title="Writing with this model is faster on fewer threads than reading a prompt.">
        {decodeThreads} for writing
      </small>
    </>
  );
}

function rate(tokensPerSecond: number): ComponentChildren {
  if (!(tokensPerSecond > 0)) return null;
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
