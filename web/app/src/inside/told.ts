// The token that is looked at, in words to be read out.
import { count } from '../texts/format';
import { announcement } from '../ui/announce';
import type { XrayController } from './controller';
import { xrayTexts } from './texts';
import { pieceOf } from './token-text';
import { inBits, named } from './words';

/** The place of the token, its text and its surprise. */
export function told(xray: XrayController): string {
  const words = xrayTexts.value;
  const token = xray.token();
  return words.told(
    words.tokenOf(count(xray.at.value + 1), count(xray.length.value)),
    token === null ? '' : named(pieceOf(xray, token)),
    inBits(-(token?.logprob ?? NaN)),
  );
}

/** Steps, and has the token read out. (What moves by itself would be read out without an end.) */
export function tellStep(xray: XrayController, step: () => void): void {
  step();
  if (xray.length.peek() > 0) announcement.value = told(xray);
}
