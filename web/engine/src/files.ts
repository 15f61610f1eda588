// The files of a flavour: beside the library's script, or where `configure` says.
import { wasmAddress } from './configure.js';
import { SluiceError } from './errors.js';
import type { FlavourFiles } from './protocol.js';
import type { Flavour } from './types.js';

/** The addresses are written out, so that bundlers find the files. */
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

function beside(flavour: Flavour): [glue: URL, wasm: URL] {
  try {
    return BESIDE[flavour]();
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      "a bundler has put the library where it can't find its files; copy the package's dist folder to the site, and say where " +
        'it is with configure({ baseUrl })',
      { cause },
    );
  }
}

/** The addresses of a flavour's files. */
export function filesOf(flavour: Flavour): Pick<FlavourFiles, 'glue' | 'wasm'> {
  const address = (end: 'mjs' | 'wasm'): string =>
    wasmAddress(`sluice-${flavour}.${end}`) ?? beside(flavour)[end === 'mjs' ? 0 : 1].href;
  return { glue: address('mjs'), wasm: address('wasm') };
}
