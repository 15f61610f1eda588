// Writes web/app/public/models/shelf.json, the models that the page and `sluice models` offer, from a list of models that
// public sources confirm (the test data's reference/models.json):
//   node scripts/shelf.mjs PATH_OF_MODELS_JSON
// A model comes onto the shelf when its family, types and tokenizer run: add its id to SHELF.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, is_program, main, read_json } from './lib.mjs';

export const SHELF_FILE = path.join(ROOT, 'web/app/public/models/shelf.json');

/**
 * The models that run, in the order of the shelf. `recommend`: of those that fit a device and are quick enough there, the
 * one with the highest number stands in front. `first`: it is on the short list; the others come after "More".
 */
const SHELF = {
  'smollm2-135m': {
    recommend: 1,
    first: true,
    en: 'trying things out; answers at once anywhere, knows little',
  },
  'gemma-3-270m': {
    first: true,
  },
  'smollm2-360m': {
    first: false,
  },
  'qwen3-0.6b': {
    recommend: 2,
    first: true,
    en: 'small chat in many languages, with or without thinking first',
  },
  'qwen3.5-0.8b': {
    first: true,
    en: 'small chat in many languages, with or without thinking first; long texts take little memory',
  },
  'gemma-3-1b': {
    first: true,
    en: 'pleasant writing in many languages',
  },
  'llama-3.2-1b': {
    first: true,
  },
  'qwen3.5-2b': {
    first: false,
  },
  'gemma-4-e2b': {
    first: false,
    en: 'chat in many languages on a laptop; takes much less memory than its file',
  },
  'all-minilm-l6-v2': {
    first: false,
    en: 'finding passages in English texts; small and quick',
  },
  'embeddinggemma-300m': {
    first: false,
    en: 'finding passages in texts in many languages',
  },
};

/** The pages of the terms that bind whoever uses a model. */
const TERMS = {
  'Gemma Terms of Use': 'https://ai.google.dev/gemma/terms',
  'Llama 3.2 Community License': 'https://www.llama.com/llama3_2/license/',
  'LFM Open License v1.0': 'https://www.liquid.ai/lfm-license',
};

/** What such terms ask for, in one sentence. */
const TERMS_IN_SHORT = {
  'Gemma Terms of Use': {
    en: 'Using it means agreeing to Google’s terms, which forbid some uses.',
  },
  'Llama 3.2 Community License': {
    en: 'Using it means agreeing to Meta’s licence and its acceptable use policy. Built with Llama.',
  },
  'LFM Open License v1.0': {
    en: 'Using it means agreeing to Liquid AI’s licence: organisations above a yearly revenue of 10 million US dollars need another one.',
  },
};

/** A file that is known to exist; those with everything confirmed come first, of these the smaller types. */
function files_of(model) {
  const rank = (file) =>
    (file.verified ? 0 : 4) + (file.sha256 === null ? 2 : 0) + (file.type.startsWith('Q8') ? 1 : 0);
  return model.files
    .filter((file) => file.file !== null && file.verified)
    .sort((a, b) => rank(a) - rank(b))
    .map(({ type, file, bytes, sha256, revision, repo, verified }) => {
      const at = revision === null ? '' : `@${revision}`;
      return { type, address: `hf:${repo ?? model.repo}:${file}${at}`, bytes, sha256, verified };
    });
}

/** One model of the shelf. What no source confirmed is null. */
function entry_of(model) {
  const { recommend = null, first, en } = SHELF[model.id];
  const sure = (field) => (model.verified[field] ? model[field] : null);
  const binds = model.needs_acceptance.startsWith('by use');
  if (binds && TERMS[model.licence] === undefined)
    throw new Failure(`${model.id}: no address of the terms "${model.licence}"`);
  return {
    id: model.id,
    name: model.name,
    kind: model.kind,
    first,
    recommend,
    good_for: { en: en ?? model.good_for },
    parameters: model.parameters_label,
    family: model.family,
    context: sure('context_trained'),
    thinking: sure('thinking'),
    licence: sure('licence'),
    terms: binds ? { address: TERMS[model.licence], short: TERMS_IN_SHORT[model.licence] } : null,
    files: files_of(model),
  };
}

/** The shelf's text, from the list of models in a file. */
export function shelf_text(from) {
  const { models } = read_json(from);
  const entries = Object.keys(SHELF).map((id) => {
    const model = models.find((one) => one.id === id);
    if (model === undefined) throw new Failure(`${from} has no model "${id}"`);
    return entry_of(model);
  });
  return `${JSON.stringify({ models: entries }, null, 2)}\n`;
}

async function write_shelf() {
  const [from] = process.argv.slice(2);
  if (from === undefined) throw new Failure('usage: node scripts/shelf.mjs PATH_OF_MODELS_JSON');
  fs.writeFileSync(SHELF_FILE, shelf_text(from));
}

if (is_program(import.meta.url)) main(write_shelf);
