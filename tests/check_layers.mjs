// Checks which folder may include which, so that includes go one way only. Run by the lint.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

// For each folder of core/, the folders whose headers it may include, besides its own. '.' is core/ itself.
const allowed = {
  base: [],
  quant: ['base'],
  gguf: ['base', 'quant'],
  kernels: ['base', 'quant'],
  weights: ['base', 'quant', 'gguf', 'kernels'],
  ops: ['base', 'quant', 'kernels'],
  text: ['base', 'gguf'],
  sample: ['base'],
  jinja: ['base'],
  chat: ['base', 'gguf', 'text', 'jinja'],
  models: ['base', 'quant', 'gguf', 'kernels', 'weights', 'ops'],
  '.': [
    'base',
    'quant',
    'gguf',
    'kernels',
    'weights',
    'ops',
    'text',
    'sample',
    'jinja',
    'chat',
    'models',
  ],
};
// native/ and wasm/ may include only these headers of the core, and their own files.
const faces = ['engine.h', 'engine_inside.h'];
const outside = {
  native: [
    ...[...faces, 'options.h', 'base/format.h'],
    // Says of a header alone that a model can't run, before its download.
    'plan.h',
    // What pull/ shows to the commands. (Includes of the system's libraries stay within it.)
    ...['address', 'block_file', 'cache', 'packed_copy', 'pull', 'retry', 'text', 'verify'].map(
      (name) => `pull/${name}.h`,
    ),
    // How fast this machine reads memory, for the estimates of `sluice models`.
    'bench/bandwidth.h',
    // What chat/ shows to its command.
    ...[
      'answer',
      'command',
      'history',
      'line_reader',
      'options',
      'private_file',
      'signals',
      'talk',
    ].map((name) => `chat/${name}.h`),
  ],
  'native/chat': [
    ...[...faces, 'base/result.h', 'base/format.h', 'base/utf8.h'],
    ...['arguments', 'common', 'model', 'overflow', 'template_input', 'usage'].map(
      (name) => `${name}.h`,
    ),
  ],
  'native/bench': [...faces, 'base/format.h', 'arguments.h', 'common.h'],
  // Knows neither the engine nor the commands.
  // check.h says what a file is that doesn't begin like a model.
  // packed_copy.h is what the copy is to the reader, matrix.h has the number of its layout.
  'native/pull': [
    ...['base/result.h', 'base/format.h', 'gguf/check.h', 'gguf/gguf.h'],
    ...['weights/packed_copy.h', 'quant/matrix.h'],
  ],
  wasm: faces,
};

const problems = [];
let files = 0;

function includesOf(path) {
  return [...readFileSync(path, 'utf8').matchAll(/^\s*#include\s+"([^"]+)"/gm)].map((m) => m[1]);
}

function sources(directory) {
  return readdirSync(join(root, directory))
    .filter((name) => /\.(cc|h|inl)$/.test(name))
    .map((name) => `${directory}/${name}`);
}

for (const [folder, may] of Object.entries(allowed)) {
  for (const file of sources(folder === '.' ? 'core' : `core/${folder}`)) {
    ++files;
    for (const included of includesOf(join(root, file))) {
      const target = included.includes('/') ? included.split('/')[0] : '.';
      if (target !== folder && !may.includes(target)) problems.push(`${file} includes ${included}`);
    }
  }
}
for (const [folder, may] of Object.entries(outside)) {
  const within = folder.split('/').slice(1).concat('').join('/');
  const own = new Set(readdirSync(join(root, folder)).map((name) => within + name));
  for (const file of sources(folder)) {
    ++files;
    for (const included of includesOf(join(root, file))) {
      if (!own.has(included) && !may.includes(included))
        problems.push(`${file} includes ${included}`);
    }
  }
}
// The public header shows nothing of the inside.
for (const included of includesOf(join(root, 'core/engine.h'))) {
  if (included !== 'base/result.h') problems.push(`core/engine.h includes ${included}`);
}
for (const included of includesOf(join(root, 'core/base/result.h')))
  problems.push(`core/base/result.h includes ${included}`);
// Kernels know nothing of threads and allocation.
for (const file of sources('core/kernels')) {
  for (const included of includesOf(join(root, file))) {
    if (['base/threads.h', 'base/aligned.h'].includes(included))
      problems.push(`${file} includes ${included}`);
  }
}
// A family has only its numbers, its weights and the order of its steps. It includes only two headers and has none itself.
const shared = 'config kv_cache kv_rows layer_state model pass profile registry shapes steps'.split(
  ' ',
);
const families = sources('core/models').filter(
  (file) => !shared.includes(/([^/]+)\.\w+$/.exec(file)[1]),
);
if (families.length === 0) problems.push('no family was found in core/models');
for (const file of families) {
  if (!file.endsWith('.cc')) problems.push(`${file}: a family has no header, registry.cc names it`);
  for (const included of includesOf(join(root, file))) {
    if (!['models/pass.h', 'models/registry.h'].includes(included))
      problems.push(`${file} includes ${included}`);
  }
}
// e2e/ uses the scripts, but no script uses e2e/.
for (const name of readdirSync(join(root, 'scripts')).filter((file) => file.endsWith('.mjs'))) {
  ++files;
  if (/(from|import\()\s*'[^']*e2e\//.test(readFileSync(join(root, 'scripts', name), 'utf8')))
    problems.push(`scripts/${name} imports from e2e/`);
}
// The page uses the library only through its index.
function walk(directory) {
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? walk(`${directory}/${entry.name}`) : [`${directory}/${entry.name}`],
  );
}
for (const file of walk('web/app/src').filter((name) => /\.tsx?$/.test(name))) {
  ++files;
  for (const [, from] of readFileSync(join(root, file), 'utf8').matchAll(/from\s+'([^']+)'/g)) {
    if (from.startsWith('@sluice/engine/') || from.includes('/engine/src'))
      problems.push(`${file} imports ${from}`);
  }
}

if (files < 40)
  problems.push(`only ${files} files were found: is the list of folders still right?`);
for (const problem of problems) console.error(`layers: ${problem}`);
console.log(`layers: ${files} files, ${problems.length} breaches`);
process.exit(problems.length === 0 ? 0 : 1);
