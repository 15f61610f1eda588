// Which file of a repository suits this device: several are the same model, each packed more or less tightly.
import type { ModelFile } from '@sluice/engine';

/** What the types lose and take, from the usual compromise on: first what is near it, then what is smaller, then the rest. */
const USUAL = [
  ...['Q4_K_M', 'Q4_K_S', 'Q4_0', 'IQ4_NL', 'IQ4_XS', 'Q4_1', 'Q5_K_M', 'Q5_K_S', 'Q5_0', 'Q5_1'],
  ...['Q3_K_L', 'Q3_K_M', 'Q6_K', 'Q8_0', 'Q3_K_S', 'Q2_K'],
];

/** The file to recommend; null: there is nothing to choose, or none that fits. */
export function usualOf(
  files: readonly ModelFile[],
  fits: (file: ModelFile) => boolean,
): ModelFile | null {
  if (files.length < 2) return null;
  const good = files.filter((file) => USUAL.includes(file.type) && fits(file));
  const [best = null] = good.sort((a, b) => USUAL.indexOf(a.type) - USUAL.indexOf(b.type));
  return best;
}
