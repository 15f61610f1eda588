// Checks what may include what, so that includes go one way only. Run by the lint.
//
// Rooms are folders. What a room stands on is below; it may include the headers of that and of all that this stands on.
// A header says itself who else may include it, behind its `#pragma once`:
//   // inside   only its own room
//   // face     also the program and the wasm module: of the core they see nothing else
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What each room of core/ stands on. '.' is core/ itself. */
const CORE = {
  base: '',
  quant: 'base',
  gguf: 'quant',
  kernels: 'quant',
  weights: 'gguf kernels',
  ops: 'kernels',
  state: 'weights ops',
  pass: 'state',
  models: 'pass',
  text: 'gguf',
  sample: 'base',
  jinja: 'base',
  options: 'base',
  chat: 'text jinja',
  reply: 'chat',
  session: 'models sample options reply',
  engine: 'session',
  api: 'engine',
  '.': 'api',
  files: 'gguf',
  'files/quantize': 'files',
  'files/vocabulary': 'files text',
  'files/convert': 'files/quantize files/vocabulary',
  measure: '. files',
};
/** The same for native/, which stands on the core's faces. */
const NATIVE = {
  pull: '',
  app: 'pull',
  bench: 'app',
  terminal: 'app',
  commands: 'bench terminal',
  '.': 'commands',
};
/** Whose sources see less of the core's faces than all of them: these rooms alone. */
const SEES = {
  'native/pull': 'base quant gguf weights',
};
/** Rooms whose sources see engine.h, which is above them: they implement it. */
const IMPLEMENT = ['session', 'engine', 'api'];
/** What a room may not have of those below, although it stands on them. */
const NOT = {
  // Kernels know nothing of threads and allocation.
  kernels: ['base/threads.h', 'base/aligned.h'],
};
const problems = [];
let files = 0;

const read = (path) => readFileSync(join(root, path), 'utf8');
const includes_of = (path) =>
  [...read(path).matchAll(/^\s*#include\s+"([^"]+)"/gm)].map((m) => m[1]);
const room_of = (path) => (path.includes('/') ? dirname(path) : '.');
const mark_of = (path) => /^#pragma once\s+\/\/ (\w+)/m.exec(read(path))?.[1] ?? '';

function sources(directory) {
  return readdirSync(join(root, directory))
    .filter((name) => /\.(cc|h|inl|inc)$/.test(name))
    .map((name) => `${directory}/${name}`);
}

/** All that a room stands on, directly or not. Fails if it stands on itself. */
function below(rooms, room, above = []) {
  if (above.includes(room)) throw new Error(`a circle: ${[...above, room].join(' <- ')}`);
  const direct = rooms[room].split(' ').filter((name) => name !== '');
  return new Set(direct.flatMap((name) => [name, ...below(rooms, name, [...above, room])]));
}

/** The room's folder under `top`; '.' is `top` itself. */
const folder_of = (top, room) => (room === '.' ? top : `${top}/${room}`);

function check_rooms(top, rooms) {
  const folders = (path) =>
    readdirSync(join(root, path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${path}/${name}`);
  const found = folders(top)
    .flatMap((path) => [path, ...folders(path)])
    .map((path) => path.slice(top.length + 1));
  for (const name of found)
    if (!(name in rooms)) problems.push(`${top}/${name} is no room that this test knows`);
  for (const name of Object.keys(rooms))
    if (name !== '.' && !found.includes(name)) problems.push(`there is no room ${top}/${name}`);
}

function check(top, rooms, file, room) {
  ++files;
  const may = below(rooms, room);
  for (const included of includes_of(file)) {
    const own = existsSync(join(root, top, included));
    const in_core = existsSync(join(root, 'core', included));
    const target = room_of(included);
    let good = false;
    if (own) {
      good =
        target === room ||
        (top === 'core' && included === 'engine.h' && IMPLEMENT.includes(room)) ||
        (may.has(target) && mark_of(`${top}/${included}`) !== 'inside');
    } else if (in_core) {
      const sees = SEES[folder_of(top, room)]?.split(' ');
      good =
        mark_of(`core/${included}`) === 'face' && (sees === undefined || sees.includes(target));
    }
    if (!good || NOT[room]?.includes(included)) problems.push(`${file} includes ${included}`);
  }
}

check_rooms('core', CORE);
check_rooms('native', NATIVE);
for (const [top, rooms] of [
  ['core', CORE],
  ['native', NATIVE],
]) {
  for (const room of Object.keys(rooms))
    for (const file of sources(folder_of(top, room))) check(top, rooms, file, room);
}
for (const file of sources('wasm')) check('wasm', { '.': '' }, file, '.');

// The public header shows nothing of the inside.
const SHOWN = {
  'engine.h': ['base/makes.h', 'base/result.h', 'options/options.h', 'sample/raw_logits.h'],
  'options/options.h': ['base/token.h'],
  'sample/raw_logits.h': ['base/token.h'],
  'base/token.h': [],
  'base/makes.h': [],
  'base/result.h': [],
};
for (const [header, may] of Object.entries(SHOWN)) {
  for (const included of includes_of(`core/${header}`))
    if (!may.includes(included)) problems.push(`core/${header} includes ${included}`);
}
// A family has only its numbers, its weights and the order of its steps. It includes only these headers and has none itself.
const FAMILY_SEES = ['models/registry.h', 'pass/binder.h', 'pass/config_reader.h', 'pass/pass.h'];
const families = sources('core/models').filter((file) => !/\/registry\.\w+$/.test(file));
if (families.length === 0) problems.push('no family was found in core/models');
for (const file of families) {
  if (!file.endsWith('.cc')) problems.push(`${file}: a family has no header, registry.cc names it`);
  for (const included of includes_of(file)) {
    if (!FAMILY_SEES.includes(included)) problems.push(`${file} includes ${included}`);
  }
}
// e2e/ uses the scripts, but no script uses e2e/.
for (const name of readdirSync(join(root, 'scripts')).filter((file) => file.endsWith('.mjs'))) {
  ++files;
  if (/(from|import\()\s*'[^']*e2e\//.test(read(`scripts/${name}`)))
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
  for (const [, from] of read(file).matchAll(/from\s+'([^']+)'/g)) {
    if (from.startsWith('@sluice/engine/') || from.includes('/engine/src'))
      problems.push(`${file} imports ${from}`);
  }
}

if (files < 40) problems.push(`only ${files} files were found: is the list of rooms still right?`);
for (const problem of problems) console.error(`layers: ${problem}`);
console.log(`layers: ${files} files, ${problems.length} breaches`);
process.exit(problems.length === 0 ? 0 : 1);
