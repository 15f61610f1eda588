// How fast the last text was, and why: the build of the engine, its threads, its memory.
import type { EngineStats } from '@sluice/engine';
import type { ComponentChildren } from 'preact';
import { cores, isolated, sharing } from '../ui/device';
import { bytes, count, milliseconds, steady, tokens as countTokens } from '../texts/format';
import { noteInWords, withoutThreads } from '../model/note';
import { model, stats } from '../model/state';
import { roomTexts } from './texts';
import { figuresShown } from './figures-shown';

export function Details() {
  const texts = roomTexts.value;
  const s = stats.value;
  return (
    // It has nothing else to focus, and may be longer than the dialog: so the keys can scroll it.
    <div class="figures-details" role="group" aria-label={texts.figures} tabIndex={0}>
      <h3>{texts.speed}</h3>
      <LastText s={figuresShown()} />
      {s !== null && (
        <>
          <h3>{texts.engine}</h3>
          <EngineFigures s={s} />
        </>
      )}
      {!sharing && <OneThread />}
      {s !== null && <Notes notes={s.notes} />}
    </div>
  );
}

function LastText({ s }: { s: EngineStats | null }) {
  const texts = roomTexts.value;
  const { promptTokens = 0, reusedTokens = 0, tokens = 0, reasoningTokens = 0 } = s ?? {};
  const { rereadBytes = 0, waitedMs = 0 } = s ?? {};
  return (
    <dl>
      <Figure label={texts.writing}>{rate(s?.tokensPerSecond)}</Figure>
      <Figure label={texts.firstToken}>
        {s !== null && s.ttftMs > 0 ? milliseconds(s.ttftMs) : null}
      </Figure>
      <Figure label={texts.prompt}>{rate(s?.promptTokensPerSecond)}</Figure>
      <Figure label={texts.promptTokens}>
        {s === null
          ? null
          : reusedTokens > 0
            ? texts.reused(count(promptTokens), count(reusedTokens))
            : count(promptTokens)}
      </Figure>
      <Figure label={texts.written}>
        {s === null
          ? null
          : reasoningTokens > 0
            ? texts.reasoned(countTokens(tokens), count(reasoningTokens))
            : countTokens(tokens)}
      </Figure>
      {rereadBytes > 0 && <Figure label={texts.reread}>{bytes(rereadBytes)}</Figure>}
      {waitedMs > 0 && <Figure label={texts.waited}>{milliseconds(waitedMs)}</Figure>}
    </dl>
  );
}

function rate(perSecond: number | undefined): string | null {
  if (perSecond === undefined || !(perSecond > 0)) return null;
  return roomTexts.value.perSecond(steady(perSecond));
}

function EngineFigures({ s }: { s: EngineStats }) {
  const texts = roomTexts.value;
  const { flavour, threads, decodeThreads, memoryBudget, contextSize } = s;
  return (
    <dl>
      <Figure label={texts.flavour} why={flavourWhy(flavour)}>
        {flavour}
      </Figure>
      <Figure label={texts.kernels} why={texts.kernelsWhy}>
        {s.kernels}
      </Figure>
      <Figure label={texts.threads} why={threadsWhy()}>
        {threads}
      </Figure>
      {threads > 1 && (
        <Figure label={texts.decodeThreads} why={decodeWhy(s)}>
          {decodeThreads}
        </Figure>
      )}
      <Figure label={texts.memoryUsed} why={texts.memoryWhy}>
        {bytes(s.residentBytes)}
      </Figure>
      {memoryBudget > 0 && <Figure label={texts.limit}>{bytes(memoryBudget)}</Figure>}
      <Figure label={texts.contextSize}>
        {countTokens(contextSize)}
        {model.value === null ? '' : `, ${model.value.kvType}`}
      </Figure>
    </dl>
  );
}

function flavourWhy(flavour: string): string {
  const { relaxed, simd, threads, noThreads } = roomTexts.value.flavourWhy;
  return [
    flavour.startsWith('relaxed') ? relaxed : simd,
    flavour.endsWith('-mt') ? threads : noThreads,
  ].join(' ');
}

function threadsWhy(): string {
  const { one, chosen, automatic } = roomTexts.value.threadsWhy;
  if (!sharing) return one;
  if (model.value !== null && model.value.threads !== null) return chosen;
  return automatic(roomTexts.value.cores(cores));
}

function decodeWhy({ threads, decodeThreads }: EngineStats): string {
  const { fewer, all, chosen } = roomTexts.value.decodeThreadsWhy;
  if (model.value !== null && model.value.threads !== null) return chosen;
  return decodeThreads < threads ? fewer : all;
}

interface FigureProps {
  label: string;
  why?: string;
  /** null: not known yet */
  children: ComponentChildren;
}

function Figure({ label, why, children }: FigureProps) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{children ?? <span class="none">–</span>}</dd>
      {why !== undefined && <dd class="hint">{why}</dd>}
    </div>
  );
}

/** Why there is one thread, and what to do about it. */
function OneThread() {
  const { title, noSharing, notIsolated, and } = roomTexts.value.isolation;
  return (
    <p class="note">
      <strong>{title}</strong>{' '}
      {isolated ? (
        noSharing
      ) : (
        <>
          {notIsolated} <code>Cross-Origin-Opener-Policy: same-origin</code> {and}{' '}
          <code>Cross-Origin-Embedder-Policy: require-corp</code>.
        </>
      )}
    </p>
  );
}

/** The library's notes. Why there is only one thread is said above. */
function Notes({ notes }: { notes: EngineStats['notes'] }) {
  const others = sharing ? notes : withoutThreads(notes);
  if (others.length === 0) return null;
  return (
    <>
      <h3>{roomTexts.value.notes}</h3>
      <ul class="figures-notes">
        {others.map((note) => (
          <li key={note.message}>{noteInWords(note)}</li>
        ))}
      </ul>
    </>
  );
}
