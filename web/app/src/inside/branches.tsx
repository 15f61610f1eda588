import { busy } from '../model/run';
import type { XrayController } from './controller';
import { xrayTexts } from './texts';
import { named } from './words';

/** The texts that were written on from this one, and the one that it comes from. */
export function Branches({ xray }: { xray: XrayController }) {
  const related = xray.subject.value?.related ?? [];
  if (related.length === 0) return null;
  const words = xrayTexts.value;
  return (
    <section class="xray-branches" aria-labelledby="xray-branches">
      <h3 class="label" id="xray-branches">
        {words.branches}
      </h3>
      <ul>
        {related.map((one) => (
          <li key={one.id}>
            <button
              type="button"
              class="quiet"
              disabled={busy.value}
              onClick={() => xray.show(one)}
            >
              {words[one.kind === 'parent' ? 'parent' : 'child'](named(one.text))}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
