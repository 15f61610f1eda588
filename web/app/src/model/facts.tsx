import { addressFacts, type ModelInfo } from '@sluice/engine';
import { bytes, count, parameters, tokens } from '../texts/format';
import { sheetTexts } from './sheet-texts';
import type { Source } from './source';
import { rateOf, type Estimate } from './speed';
import { modelsTexts } from './models-texts';

/** The four facts that count, of a model in use, one that is coming, or one that was looked at. `info` null: not known. */
export function FourFacts({ info, speed }: { info: ModelInfo | null; speed: Estimate | null }) {
  const words = sheetTexts.value.facts;
  const memory = info?.memory ?? null;
  return (
    <dl class="four">
      <Four label={words.parameters}>{info === null ? '' : parameters(info.parameters)}</Four>
      <Four label={words.size}>{info === null ? '' : bytes(info.bytes)}</Four>
      <Four label={words.memory}>{memory === null ? '' : words.upTo(bytes(memory.total))}</Four>
      <Four label={words.speed}>{speedInWords(speed)}</Four>
    </dl>
  );
}

/** Every row is there from the beginning, so that nothing below moves when a model comes or goes. */
function Four({ label, children }: { label: string; children: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children || '–'}</dd>
    </div>
  );
}

/** The other facts in a file's header, of those that it names. */
export function MoreFacts({ info, source }: { info: ModelInfo; source: Source }) {
  return (
    <dl class="facts">
      {othersOf(info, source).map(([name, fact]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{fact}</dd>
        </div>
      ))}
    </dl>
  );
}

function othersOf(info: ModelInfo, source: Source): [name: string, fact: string][] {
  const words = sheetTexts.value.facts;
  const types = Object.entries(info.types)
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .map(([type]) => type);
  const all: [string, string | null][] = [
    [words.architecture, info.architecture],
    [words.types, types.join(', ')],
    [words.layers, info.layers === null ? null : count(info.layers)],
    [words.context, info.contextLength === null ? null : tokens(info.contextLength)],
    [words.vocabulary, tokens(info.vocab ?? info.tokenizer.tokens)],
    [words.licence, info.license?.slice(0, 80) ?? null],
    [words.from, origin(source)],
  ];
  return all.filter((one): one is [string, string] => one[1] !== null);
}

function origin(source: Source): string {
  const words = sheetTexts.value.facts;
  switch (source.kind) {
    case 'bundled':
      return words.thisPage;
    case 'files': {
      const [first, ...others] = source.files;
      return words.fromFile(first.name, others.length);
    }
    case 'address':
      return addressFacts(source.url).host;
  }
}

/** The speed in words: about 23 tokens/s, or 16 to 30 tokens/s where it wasn't learned. '' if nothing is known. */
export function speedInWords(about: Estimate | null): string {
  if (about === null) return '';
  const words = modelsTexts.value.speed;
  const { rereads } = about;
  const rate = rateOf(about);
  if (rate === null) return words.slow;
  return rereads ? words.reread(rate) : rate;
}
