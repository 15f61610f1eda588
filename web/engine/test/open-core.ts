// The real module, in this thread.
import fs from 'node:fs';
import path from 'node:path';
import type createModule from '../../../wasm/module.js';
import type { AnalysisScript } from '../src/engine/analysis.js';
import type { OpenModule } from '../src/engine/module.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
// The files that the library ships. build/wasm/ may be stale, or just be built.
const shipped = path.join(ROOT, 'web/engine/dist/wasm');
const WASM = fs.existsSync(shipped) ? shipped : path.join(ROOT, 'wasm/prebuilt');

/** `shared`: with a flavour whose memory is shared, but without further threads. */
export async function openCore(shared: boolean): Promise<OpenModule> {
  const maximum = 4096;
  const memory = new WebAssembly.Memory({ initial: 64, maximum, shared });
  const name = path.join(WASM, shared ? 'sluice-simd-mt' : 'sluice-simd');
  const code = await WebAssembly.compile(fs.readFileSync(`${name}.wasm`));
  const glue = (await import(`${name}.mjs`)) as {
    default: typeof createModule;
  };
  const module = await glue.default({
    wasmMemory: memory,
    poolSize: 0,
    instantiateWasm: (imports, done) => {
      void WebAssembly.instantiate(code, imports).then((instance) => done(instance, code));
      return {};
    },
  });
  const loadAnalysis = (): Promise<AnalysisScript> => import('../src/engine/analysis-runs.js');
  return { module, memory, maxBytes: maximum * 65536, loadAnalysis };
}
