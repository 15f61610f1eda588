// The published types: what publint and attw say of the package, and a strict consumer (types/) under an old and a new
// TypeScript, without skipLibCheck and with no library but a page's.
import path from 'node:path';

const COMPILERS = ['typescript-oldest', 'typescript-newest'];
/** How sites resolve a package. */
const RESOLUTIONS = [
  ['--module', 'esnext', '--moduleResolution', 'bundler'],
  ['--module', 'nodenext', '--moduleResolution', 'nodenext'],
];
/**
 * Throws a Failure for what is wrong. `dir`: the copy of types/ with its packages; `command`: runs one, as bundlers.mjs has it;
 * `work`: where logs go.
 */
export async function check_types(dir, archive, command, work) {
  const node = (name, args) =>
    command(process.execPath, args, { cwd: dir, log: path.join(work, 'logs', `${name}.log`) });
  const tool = (file) => path.join(dir, 'node_modules', file);
  await node('publint', [tool('publint/src/cli.js'), 'run', archive, '--strict']);
  // The library is a module only. The other entries are scripts and code, which have no types.
  const entries = ['--profile', 'esm-only', '--entrypoints', '.'];
  await node('attw', [tool('@arethetypeswrong/cli/dist/index.js'), archive, ...entries]);
  for (const compiler of COMPILERS)
    for (const resolution of RESOLUTIONS)
      await node(compiler, [tool(`${compiler}/bin/tsc`), '-p', '.', ...resolution]);
}
