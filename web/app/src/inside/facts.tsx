import { count, digits } from '../texts/format';
import type { ChainToken } from './chain';
import type { XrayController } from './controller';
import { xrayTexts } from './texts';
import { pieceOf } from './token-text';
import { inBits, named, share } from './words';

/** The token that is looked at, in figures. */
export function Facts({ xray, token }: { xray: XrayController; token: ChainToken }) {
  const words = xrayTexts.value;
  const shown = xray.shown.value;
  const { nucleus = NaN, mass = 0 } = shown?.choice ?? {};
  // The number that was drawn: only where it takes the token that stands there.
  const now = shown !== null && shown.token === xray.at.value && !shown.moved ? shown.choice : null;
  const place = now !== null && now.taken === token.id ? now.place : null;
  return (
    <>
      <h3 class="xray-name">{named(pieceOf(xray, token))}</h3>
      <dl class="xray-facts">
        <Fact
          label={words.probability}
          value={Number.isNaN(token.logprob) ? '–' : share(Math.exp(token.logprob))}
        />
        <Fact label={words.surprise} value={inBits(-token.logprob)} hint={words.surpriseHint} />
        <Fact
          label={words.entropy}
          value={inBits(token.raw?.entropy ?? NaN)}
          hint={words.entropyHint}
        />
        <Fact
          label={words.nucleus}
          value={
            Number.isNaN(nucleus) ? '–' : words.nucleusOf(nucleus, count(nucleus), share(mass))
          }
        />
        {place !== null && <Fact label={words.place} value={digits(place)} />}
      </dl>
    </>
  );
}

function Fact({ label, value, hint }: { label: string; value: string; hint?: string }) {
  return (
    <div title={hint}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
