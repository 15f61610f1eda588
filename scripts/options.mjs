// Writes the code and the tables that come from core/options/options.json and wasm/flavours.json: LoadOptions and
// GenerateOptions in core/options/options.h, their rows in core/options/rows.inc, the program's flags in
// native/app/option_flags.inc, the library's types and rules in web/engine/src/shared/option-table.ts, and the tables in web/engine/README.md.
//   node scripts/options.mjs           writes
//   node scripts/options.mjs --check   fails if a file would change (npm run lint does this)
//
// The fields of an option:
//   name         in JSON and in the library
//   type         a C++ type, or a key of TYPES
//   least, most  the limits of the number, or of a text's length in bytes
//   count        of texts and biases: how many at most
//   choices, alias   of a choice: its values, and the name of their type in the library
//   unit         of a number: its unit, for messages
//   default      or `otherwise`: what happens without the option, in words
//   help         the same text everywhere
//   commands, flags, value, group   in the program: the commands that have it, the flags, the word after them in the
//                help, the heading in the help
//   habit        a value that other programs take, in the program: {given, value: what the field is then}
//   program      more help in the program alone
//   interface    the library's type that has the option; null: the library does not have it
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, is_program, main, read_json } from './lib.mjs';

const COLUMNS = 100;
const table = read_json(path.join(ROOT, 'core/options/options.json'));
const flavours = read_json(path.join(ROOT, 'wasm/flavours.json'));

const list_of = (names) => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** For each type: `cpp` (if the core has it), `ts`, the `kind` of the library's rule, and what is `expected`, in words. */
const TYPES = {
  bool: { cpp: 'bool', ts: 'boolean', kind: 'boolean', expected: () => 'true or false' },
  float: { cpp: 'float', ts: 'number', kind: 'number', expected: (o) => `a number ${range_of(o)}` },
  number: {
    ts: 'number',
    kind: 'number',
    expected: (o) => `${o.unit ?? 'a number'} ${range_of(o)}`,
  },
  count: { ts: 'number', kind: 'whole', expected: (o) => `a whole number ${range_of(o)}` },
  string: { cpp: 'std::string', ts: 'string', kind: 'string', expected: () => 'a string' },
  choice: { cpp: 'std::string', kind: 'choice', expected: (o) => list_of(o.choices) },
  texts: {
    cpp: 'std::vector<std::string>',
    ts: 'string | readonly string[]',
    kind: 'texts',
    expected: () => 'a string or a list of strings',
  },
  biases: {
    cpp: 'std::vector<std::pair<TokenId, float>>',
    ts: 'Readonly<Record<number, number>>',
    kind: 'biases',
    expected: (o) => `an object of token ids and numbers ${range_of(o)}`,
  },
  flavour: { ts: 'Flavour', kind: 'choice', expected: () => list_of(flavours) },
  cache: { ts: "'opfs' | 'none'", kind: 'choice', expected: () => "'opfs' or 'none'" },
  switch: { ts: 'boolean', kind: 'boolean', expected: () => 'true or false' },
  address: { ts: 'string', kind: 'string', expected: () => 'an address' },
  hashes: {
    ts: 'string | readonly string[]',
    kind: 'texts',
    expected: () => '64 hexadecimal digits, or a list of them',
  },
  fetch: {
    ts: '((url: string, init: RequestInit) => Promise<Response>)',
    kind: 'function',
    expected: () => 'a function like fetch',
  },
  headers: {
    ts: 'Record<string, string> | Headers',
    kind: 'object',
    expected: () => 'an object of names and values, or Headers',
  },
  signal: { ts: 'AbortSignal', kind: 'signal', expected: () => 'an AbortSignal' },
  progress: {
    ts: '((progress: LoadProgress) => void)',
    kind: 'function',
    expected: () => 'a function',
  },
  promptProgress: {
    ts: '((progress: PromptProgress) => void)',
    kind: 'function',
    expected: () => 'a function',
  },
  weights: {
    ts: '((weights: WeightsView) => void)',
    kind: 'function',
    expected: () => 'a function',
  },
};

const WHOLE = /^(std::optional<)?u?int\d+_t>?$/;
function type_of(option) {
  if (WHOLE.test(option.type)) {
    return {
      cpp: option.type,
      ts: 'number',
      kind: 'whole',
      expected: (o) => `a whole number ${range_of(o)}`,
    };
  }
  const type = TYPES[option.type];
  if (type === undefined) {
    throw new Failure(
      `core/options/options.json, ${option.name}: the type ${option.type} is none of ${Object.keys(TYPES).join(', ')}, int32_t, ` +
        'uint32_t, int64_t, uint64_t, std::optional<uint64_t>',
    );
  }
  return { ...type, ts: type.ts ?? option.alias };
}

function range_of({ least, most }) {
  return `from ${least} to ${most === 2 ** 64 ? '2^64 - 1' : most}`;
}

/** The limits for people to read; '' if they would tell nothing. */
function limits_of(option) {
  if (option.type === 'cache') return '';
  if (type_of(option).kind === 'choice') return type_of(option).expected(option);
  if (option.type === 'texts')
    return `at most ${option.count}, each of ${option.least} to ${option.most} bytes`;
  if (option.type === 'biases')
    return `at most ${option.count}, each from ${option.least} to ${option.most}`;
  const told = option.least !== undefined && option.most < 2 ** 31 - 1;
  return told ? `${option.least} to ${option.most}` : '';
}

function default_of(option) {
  if (option.otherwise !== undefined) return option.otherwise;
  if (Array.isArray(option.default))
    return option.default.map((one) => JSON.stringify(one)).join(', ');
  return option.default === undefined || option.default === false ? '' : String(option.default);
}

const joined = (...parts) => parts.filter((part) => part !== '').join('; ');
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Fails at the first row with a field that is missing or doesn't fit. */
export function check_table(given = table) {
  for (const [kind, options] of Object.entries(given)) {
    const names = options.map((option) => option.name);
    for (const option of options) {
      const wrong = (what) => {
        throw new Failure(
          `core/options/options.json, ${kind}, ${option.name ?? 'a row without a name'}: ${what}`,
        );
      };
      if (!/^[a-z][A-Za-z0-9]*$/.test(option.name ?? '')) wrong('name must be a word in camelCase');
      if (names.indexOf(option.name) !== names.lastIndexOf(option.name)) wrong('it is there twice');
      if (!option.help) wrong('help is missing');
      if (kind === 'load' && option.interface === undefined) wrong('interface is missing');
      const type = type_of(option);
      const number = ['whole', 'number'].includes(type.kind);
      const several = ['texts', 'biases'].includes(option.type);
      if (number || several) {
        if (typeof option.least !== 'number' || typeof option.most !== 'number')
          wrong('least and most are missing');
      }
      if (several && typeof option.count !== 'number') wrong('count is missing');
      if (number && option.default !== undefined) {
        if (!(option.default >= option.least && option.default <= option.most))
          wrong('default is not between least and most');
      }
      if (number && option.default === undefined && option.otherwise === undefined)
        wrong('default or otherwise is missing');
      if (option.type === 'choice' && !(option.choices?.includes(option.default) && option.alias))
        wrong('a choice has choices with the default among them, and an alias');
      if (type.kind === 'boolean' && option.default !== false) wrong('a flag is false by default');
      if (option.flags !== undefined && !(option.commands && option.group))
        wrong('an option with flags has commands and a group');
      if (option.flags !== undefined && type.kind !== 'boolean' && !option.value)
        wrong('an option with flags has a value');
    }
  }
}

// --- C++ -----------------------------------------------------------------------------------------

const field_of = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

function wrapped(text, indent) {
  const lines = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > COLUMNS)
      lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join('\n');
}

function cpp_default(option, type) {
  if (Array.isArray(option.default)) return `{${option.default.map(cpp_text).join(', ')}}`;
  if (type.cpp === 'float')
    return `${Number.isInteger(option.default) ? `${option.default}.` : option.default}f`;
  if (type.cpp === 'std::string') return option.default === undefined ? '' : `"${option.default}"`;
  return String(option.default ?? (type.kind === 'whole' ? 0 : ''));
}

function cpp_field(option) {
  const type = type_of(option);
  const plain = !/^std::(optional|vector)/.test(type.cpp);
  const value = plain || Array.isArray(option.default) ? cpp_default(option, type) : '';
  const without = { 'std::string': '""', float: '', bool: '' }[type.cpp] ?? (plain ? '0' : '');
  const otherwise =
    option.otherwise === undefined || without === '' ? '' : `${without}: ${option.otherwise}`;
  const text = joined(option.help, limits_of(option), otherwise);
  return `${wrapped(sentence(text), '  // ')}\n  ${type.cpp} ${field_of(option.name)}${value === '' ? '' : ` = ${value}`};`;
}

/** What LoadOptions has besides: no user sets it. */
const INNER_LOAD_OPTIONS = `
  // The positions of a start_logits() with all_positions whose logits the memory is planned for
  // (MemoryPlan); 1 to 1048576.
  int64_t logit_positions = 1;
  // The memory is planned for Session::start_vectors alone, which keeps nothing of a text: a model
  // that writes text has no cache then. (What runs take is checked in any case.)
  bool vectors_only = false;
  bool profile = false;  // measure the phases, for Engine::take_profile
`;

function cpp_options() {
  const fields = (kind) => in_core(kind).map(cpp_field).join('\n');
  const headers = ['cstdint', 'optional', 'string', 'utility', 'vector'];
  return `// Written by scripts/options.mjs from options.json.
#pragma once  // face

${headers.map((name) => `#include <${name}>\n`).join('')}
#include "base/token.h"

namespace sluice {

struct LoadOptions {
${fields('load')}
${INNER_LOAD_OPTIONS}};

struct GenerateOptions {
${fields('generate')}
};

}  // namespace sluice
`;
}

const cpp_text = (value) => JSON.stringify(value ?? '');

function cpp_row(option) {
  const type = type_of(option);
  const members = [
    `.name = ${cpp_text(option.name)}`,
    `.expected = ${cpp_text(type.expected(option))}`,
    ...(option.least === undefined
      ? []
      : [`.least = ${option.least}`, `.most = ${cpp_number(option.most)}`]),
    ...(option.count === undefined ? [] : [`.count = ${option.count}`]),
    ...(option.otherwise !== undefined && type.kind === 'whole' ? ['.zero_is_none = true'] : []),
    ...(option.choices === undefined ? [] : [`.choices = ${cpp_text(option.choices.join(' '))}`]),
  ];
  return `    {${members.join(',\n     ')}},`;
}

const cpp_number = (value) => (value === 2 ** 64 ? '0x1p64' : String(value));

function cpp_rows() {
  const functions = Object.entries({ load: 'LoadOptions', generate: 'GenerateOptions' }).map(
    ([kind, struct]) =>
      `inline constexpr OptionRow k${struct}[] = {\n${in_core(kind).map(cpp_row).join('\n')}\n};\n\n` +
      `template <typename Options, typename Visit>\n` +
      `requires std::same_as<std::remove_const_t<Options>, ${struct}>\n` +
      `void each_option(Options& options, Visit visit) {\n` +
      in_core(kind)
        .map(({ name }, i) => `  visit(k${struct}[${i}], options.${field_of(name)});\n`)
        .join('') +
      `}\n`,
  );
  return `// Written by scripts/options.mjs from options.json.\n${functions.join('\n')}`;
}

/** What only the program needs to know of an option. */
function cpp_flags() {
  const rows = Object.values(table)
    .flat()
    .filter((option) => option.flags !== undefined)
    .map((option) => {
      const unset = default_of(option);
      const words = joined(option.help, limits_of(option), option.program ?? '');
      const help = `${words}${unset === '' ? '' : ` (default ${unset})`}`;
      const texts = [
        option.name,
        option.commands,
        option.flags,
        option.value,
        option.group,
        help,
        option.habit?.given,
      ].map(cpp_text);
      return `    {${texts.join(', ')}, ${option.habit?.value ?? 0}},`;
    });
  return (
    '// Written by scripts/options.mjs from core/options/options.json.\n' +
    `constexpr OptionFlags kOptionFlags[] = {\n${rows.join('\n')}\n};\n`
  );
}

const in_core = (kind) => table[kind].filter((option) => type_of(option).cpp !== undefined);
const in_library = (kind) => table[kind].filter((option) => option.interface !== null);

// --- TypeScript ----------------------------------------------------------------------------------

function ts_interface(name, heritage, options) {
  const lines = options.map((option) => {
    const unset = default_of(option);
    const text = joined(option.help, limits_of(option));
    const doc = `${sentence(text)}${unset === '' ? '' : ` Default: ${unset}.`}`;
    return `  /** ${doc} */\n  ${option.name}?: ${type_of(option).ts} | undefined;`;
  });
  return `${heritage.doc ?? ''}export interface ${name}${heritage.of ?? ''} {\n${lines.join('\n')}\n}\n`;
}

function ts_rule(option) {
  const type = type_of(option);
  const most =
    option.most === undefined ? undefined : Math.min(option.most, Number.MAX_SAFE_INTEGER);
  const choices =
    option.type === 'flavour'
      ? flavours
      : option.type === 'cache'
        ? ['opfs', 'none']
        : option.choices;
  const number = ['number', 'whole'].includes(type.kind);
  if (number && option.default !== undefined && option.unit === undefined)
    return `  ${option.name}: ${type.kind}(${option.least}, ${most}, ${option.default}),`;
  return `  ${option.name}: ${JSON.stringify({
    kind: type.kind,
    expected: type.expected({ ...option, most }),
    least: option.least,
    most,
    count: option.count,
    choices,
    default: number ? option.default : undefined,
  })},`;
}

const kinds = () => [...new Set([...Object.values(TYPES).map((type) => type.kind), 'whole'])];

function ts_table() {
  const of = (name) => in_library('load').filter((option) => option.interface === name);
  const quoted = (names) => names.map((name) => `'${name}'`);
  const kv_type = table.load.find((option) => option.name === 'kvType');
  return `// Written by scripts/options.mjs from core/options/options.json and wasm/flavours.json.
import type { LoadProgress, PromptProgress, WeightsView } from './progress-types.js';

/** The four builds of the engine: with and without relaxed SIMD, with and without threads. */
export type Flavour = ${quoted(flavours).join(' | ')};

/** From best to least. */
export const FLAVOURS: readonly Flavour[] = [${quoted(flavours).join(', ')}];

/** How keys and values are kept in memory. */
export type KvType = ${quoted(kv_type.choices).join(' | ')};

${ts_interface('SourceOptions', { doc: '/** What concerns the fetching of a file. */\n' }, of('SourceOptions'))}
${ts_interface('MemoryOptions', { doc: '/** What decides how much memory a model takes. */\n' }, of('MemoryOptions'))}
${ts_interface('LoadOptions', { of: ' extends SourceOptions, MemoryOptions' }, of('LoadOptions'))}
export interface ProbeOptions extends SourceOptions, MemoryOptions {}

${ts_interface('GenerateOptions', {}, in_library('generate'))}
export type RuleKind = ${quoted(kinds()).join(' | ')};

/** What an option may be. */
export interface Rule {
  readonly kind: RuleKind;
  /** In words. */
  readonly expected: string;
  /** Of a number, or of a text's bytes. */
  readonly least?: number;
  readonly most?: number;
  /** Texts at most. */
  readonly count?: number;
  readonly choices?: readonly string[];
  readonly default?: number;
}

/** The rules of numbers, in functions so that a page loads less. */
const number = (least: number, most: number, usual: number) =>
  ({ kind: 'number', expected: \`a number from \${least} to \${most}\`, least, most, default: usual }) as const;
const whole = (least: number, most: number, usual: number) =>
  ({ ...number(least, most, usual), kind: 'whole', expected: \`a whole number from \${least} to \${most}\` }) as const;

export const LOAD_RULES = {
${in_library('load').map(ts_rule).join('\n')}
} as const satisfies Record<keyof LoadOptions, Rule>;

/** Those of them that the core takes. */
export const CORE_LOAD_OPTIONS = [${quoted(
    in_library('load')
      .filter((o) => type_of(o).cpp)
      .map((o) => o.name),
  ).join(', ')}] as const;

export const GENERATE_RULES = {
${in_library('generate').map(ts_rule).join('\n')}
} as const satisfies Record<keyof GenerateOptions, Rule>;
`;
}

// --- documents -----------------------------------------------------------------------------------

function md_table(kind) {
  const rows = in_library(kind).map((option) => {
    const unset = default_of(option);
    const cell = joined(option.help, limits_of(option), unset === '' ? '' : `default ${unset}`);
    return `| \`${option.name}\` | ${cell.replaceAll('|', '\\|')} |`;
  });
  return `| option | |\n| --- | --- |\n${rows.join('\n')}\n`;
}

// --- writing -------------------------------------------------------------------------------------

/** Replaces the lines of `whole` between the line with `begin` and the line with `end` by `text`. */
function replaced(file, whole, begin, end, text) {
  const from = whole.indexOf('\n', whole.indexOf(begin)) + 1;
  const to = whole.lastIndexOf('\n', whole.indexOf(end, from)) + 1;
  if (!whole.includes(begin) || to < from)
    throw new Failure(`${file} has no line '${begin}' before a line '${end}'`);
  return whole.slice(0, from) + text + whole.slice(to);
}

async function written() {
  const prettier = await import('prettier');
  const config = await prettier.resolveConfig(path.join(ROOT, 'package.json'));
  const files = new Map();
  const region = (file, begin, end, text) => {
    const whole = files.get(file) ?? fs.readFileSync(path.join(ROOT, file), 'utf8');
    files.set(file, replaced(file, whole, begin, end, text));
  };
  for (const kind of ['load', 'generate']) {
    region(
      'web/engine/README.md',
      `<!-- ${kind} options -->`,
      `<!-- (${kind} options) -->`,
      `\n${md_table(kind)}\n`,
    );
  }
  files.set('core/options/options.h', cpp_options());
  files.set('core/options/rows.inc', cpp_rows());
  files.set('native/app/option_flags.inc', cpp_flags());
  files.set(
    'web/engine/src/shared/option-table.ts',
    await prettier.format(ts_table(), { ...config, parser: 'typescript' }),
  );
  return files;
}

if (is_program(import.meta.url)) {
  main(async () => {
    const given = process.argv.slice(2);
    const unknown = given.find((argument) => argument !== '--check');
    if (unknown !== undefined)
      throw new Failure(`unknown option ${unknown}; there is --check alone`);
    const check = given.includes('--check');
    check_table();
    const stale = [];
    for (const [file, text] of await written()) {
      const at = path.join(ROOT, file);
      if (fs.existsSync(at) && fs.readFileSync(at, 'utf8') === text) continue;
      stale.push(file);
      if (!check) fs.writeFileSync(at, text);
    }
    if (check && stale.length > 0)
      throw new Failure(
        `out of date with core/options/options.json: ${stale.join(', ')}; run node scripts/options.mjs`,
      );
    for (const file of stale) console.log(`wrote ${file}`);
  });
}
