// The files of a flavour: beside the library's script, or where `configure` says.
import { filesBeside } from '../platform/here.js';
import type { FlavourFiles } from '../shared/protocol.js';
import type { Flavour } from '../shared/types.js';
import { wasmAddress } from './configure.js';

/** The addresses of a flavour's files. */
export function filesOf(flavour: Flavour): Pick<FlavourFiles, 'glue' | 'wasm' | 'analysis'> {
  const beside = (which: 'glue' | 'wasm' | 'analysis'): string => filesBeside(flavour)[which];
  return {
    glue: wasmAddress(`sluice-${flavour}.mjs`) ?? beside('glue'),
    wasm: wasmAddress(`sluice-${flavour}.wasm`) ?? beside('wasm'),
    analysis: wasmAddress('sluice-analysis.mjs') ?? beside('analysis'),
  };
}
