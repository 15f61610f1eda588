import { signal } from '@preact/signals';
import type { Choice, ChoiceCandidate } from '@sluice/engine';
import { busy } from '../model/run';
import { count, exact } from '../texts/format';
import { Icon } from '../ui/icons';
import type { ChainToken } from './chain';
import { MOVED, type Moved, type Shown, type XrayController } from './controller';
import { xrayTexts } from './texts';
import { toTitle } from './title';
import { named, seen, share } from './words';

const FEW = 12;
/** Whether all candidates that are told are shown. */
const all = signal(false);

/** Nothing is written on from a file. */
function isOfFile(xray: XrayController): boolean {
  return xray.subject.value?.file !== undefined;
}

/** The filters, and the candidates with a bar each: as the model has them, and as they are drawn. */
export function Candidates({ xray }: { xray: XrayController }) {
  const words = xrayTexts.value;
  const shown = xray.shown.value;
  if (shown === null) return null;
  const { choice, of: token } = shown;
  const rows = rowsOf(choice, token, all.value ? Infinity : FEW);
  // Bars are as long as the likeliest one lets them be.
  const most = Math.max(
    ...rows.flatMap(({ logprob, p }) => [Math.exp(logprob), p]).filter((one) => !Number.isNaN(one)),
    0.01,
  );
  return (
    <>
      {shown.anew && (
        <p class="xray-anew" role="status">
          {words.anew}
        </p>
      )}
      <Filters of={shown} />
      <table class="xray-table">
        <caption class="sr-only">{words.candidates(count(shown.token + 1))}</caption>
        <thead>
          <tr>
            <th scope="col">{words.columns.token}</th>
            <td aria-hidden="true" />
            <th scope="col">{words.columns.before}</th>
            <th scope="col">{words.columns.after}</th>
            <th scope="col">{words.columns.cut}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <Row key={one.id} of={one} most={most} shown={shown} token={token} xray={xray} />
          ))}
        </tbody>
      </table>
      <div class="xray-table-foot">
        {!isOfFile(xray) && <p class="hint">{words.writeOnHint}</p>}
        {choice.candidates.length > FEW && (
          <button type="button" class="quiet" onClick={() => (all.value = !all.value)}>
            {all.value ? words.fewer : words.more}
          </button>
        )}
      </div>
    </>
  );
}

/** The best, and wherever it stands the one that was taken, or would be. */
function rowsOf(choice: Choice, token: ChainToken, most: number): ChoiceCandidate[] {
  const { candidates, taken } = choice;
  const rows = candidates.filter(({ id }, i) => i < most || id === token.id || id === taken);
  if (rows.some(({ id }) => id === token.id)) return rows;
  const { id, logprob } = token;
  return [...rows, { id, logprob, changed: logprob, cut: null, p: NaN }];
}

function Filters({ of: { choice, samplers } }: { of: Shown }) {
  const words = xrayTexts.value;
  if (choice.steps.length === 0) return null;
  return (
    <ol class="xray-filters" aria-label={words.filters}>
      {choice.steps.map(({ step, left, mass }) => {
        const value = MOVED.includes(step as Moved) ? samplers[step as Moved] : undefined;
        return (
          <li key={step}>
            <b>
              {words.step[step]}
              {value !== undefined && ` ${exact(value)}`}
            </b>{' '}
            {step !== 'temperature' && step !== 'penalties' && words.left(count(left), share(mass))}
          </li>
        );
      })}
    </ol>
  );
}

/** The table goes away, and the focus with it: the heading takes it. */
async function writeOn(xray: XrayController, id: number): Promise<void> {
  if (await xray.branch(id)) toTitle();
}

interface RowProps {
  of: ChoiceCandidate;
  /** The probability of the longest bar. */
  most: number;
  shown: Shown;
  token: ChainToken;
  xray: XrayController;
}

function Row({ of, most, shown, token, xray }: RowProps) {
  const words = xrayTexts.value;
  const piece = xray.pieces.get(of.id) || `#${of.id}`;
  const taken = of.id === token.id;
  const would =
    shown.moved && !taken && of.id === shown.choice.taken && shown.choice.place !== null;
  const before = Math.exp(of.logprob);
  const unknown = Number.isNaN(of.p);
  const step = of.cut === null ? undefined : shown.choice.steps[of.cut];
  const changed = Math.abs(of.changed - of.logprob) > 1e-6;
  const cut = step === undefined ? (changed ? words.changed : '') : words.step[step.step];
  return (
    <tr data-taken={taken} data-would={would} data-left={of.cut !== null || of.p === 0}>
      <th scope="row">
        {taken ? (
          <span class="xray-piece">
            <Icon name="check" />
            <bdi>{seen(piece)}</bdi>
            <span class="sr-only"> {words.taken}</span>
          </span>
        ) : (
          <button
            type="button"
            class="xray-piece"
            disabled={busy.value || of.id === xray.eos() || isOfFile(xray)}
            title={words.writeOn(named(piece))}
            onClick={() => void writeOn(xray, of.id)}
          >
            <bdi>{seen(piece)}</bdi>
            {would && <span class="xray-would">{words.would}</span>}
          </button>
        )}
      </th>
      <td class="xray-bars" aria-hidden="true">
        <span class="before" style={{ width: `${(100 * before) / most}%` }} />
        <span class="after" style={{ width: `${unknown ? 0 : (100 * of.p) / most}%` }} />
      </td>
      <td class="number">{share(before)}</td>
      <td class="number">{share(of.p)}</td>
      <td class="xray-cut">{cut}</td>
    </tr>
  );
}
