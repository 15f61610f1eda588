// Where the files of a flavour lie: beside the library's script.
import { SluiceError } from '../shared/errors.js';
import type { Flavour } from '../shared/types.js';

/** The addresses are written out, so that bundlers find the files: beside dist/index.js, of which this file becomes a part. */
const BESIDE: Record<Flavour, () => [glue: URL, wasm: URL]> = {
  simd: () => [
    new URL('./wasm/sluice-simd.mjs', import.meta.url),
    new URL('./wasm/sluice-simd.wasm', import.meta.url),
  ],
  'simd-mt': () => [
    new URL('./wasm/sluice-simd-mt.mjs', import.meta.url),
    new URL('./wasm/sluice-simd-mt.wasm', import.meta.url),
  ],
  relaxed: () => [
    new URL('./wasm/sluice-relaxed.mjs', import.meta.url),
    new URL('./wasm/sluice-relaxed.wasm', import.meta.url),
  ],
  'relaxed-mt': () => [
    new URL('./wasm/sluice-relaxed-mt.mjs', import.meta.url),
    new URL('./wasm/sluice-relaxed-mt.wasm', import.meta.url),
  ],
};

export function filesBeside(flavour: Flavour): { glue: string; wasm: string; analysis: string } {
  try {
    const [glue, wasm] = BESIDE[flavour]();
    const analysis = new URL('./wasm/sluice-analysis.mjs', import.meta.url);
    return { glue: glue.href, wasm: wasm.href, analysis: analysis.href };
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      "a bundler has put the library where it can't find its files; copy the package's dist folder to the site, and say where " +
        'it is with configure({ baseUrl })',
      { cause },
    );
  }
}
