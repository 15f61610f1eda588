// Writes chat models whose answers are known: a model that follows a script, token by token.
//
// A token's embedding holds the code of the token that follows it, and the head finds the token with that code. This
// suffices for a piece of text that occurs once in all scripts. Each text may stand in a vocabulary once, so a piece
// that occurs again needs a token before it that tells where in the script it is: a step. A step has no text. Its
// embedding holds two codes, that of the piece and that of what follows the piece. The second one is for the token
// behind the step. The architecture is Gemma 3's with one layer, whose window is two positions and whose queries are
// zero: it adds the mean of the second codes of a token and the one before. So a token costs the same at any position.
//
// Codes are words of the Reed-Muller code RM(2, 6) as signs: any two differ in at least 16 of 64 places. So the right
// logit is at least 1.6 times as large as any other, and far away from it at every temperature. All numbers of the
// tables are exact in Q4_0. Nothing here depends on other files, so that any script can use it.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ScriptedModel {
  /** The model's name, and the beginning of its file's. */
  name: string;
  /**
   * The answers, at most ten. A user's message that ends with a digit gets the answer of that number, if there is one,
   * any other message the first. Each gets any number of tokens, of 1 to 8 characters.
   */
  scripts: string[];
  /**
   * Tokens; default 8192. An answer has one or two for each piece, in Markdown about one for 2.4 characters. A prompt
   * has one for each byte of the messages, also for answers that the engine hasn't just written.
   */
  contextLength?: number;
  /**
   * The template knows `<think>` and `</think>`, and scripts that begin so are reasoning up to the second mark.
   * With `enable_thinking: false` an answer begins behind it. Default false: marks are text.
   */
  thinking?: boolean;
  /** The template runs until it is stopped, or has used up its steps, where the last message is 'Run for long'. Default false. */
  slow?: boolean;
  /** Samplers that the file recommends, by the names behind `general.sampling.`: `temp`, `top_p`. */
  sampling?: Readonly<Record<string, number>>;
}

/** Whole numbers: others are written as floats. */
const WHOLE = new Set(['top_k', 'penalty_last_n']);

const MADE = fileURLToPath(new URL('../build/e2e-models/scripted/', import.meta.url));

/**
 * Writes the model unless it is there, and returns its path. It may be called by several processes at once.
 * Throws if the scripts are more than ten, aren't Unicode, or have too many different pieces.
 */
export function scriptedModel(model: ScriptedModel): string {
  const source = fs.readFileSync(fileURLToPath(import.meta.url));
  const hash = createHash('sha256').update(source).update(JSON.stringify(model)).digest('hex');
  const file = path.join(MADE, `${model.name.replace(/\W+/g, '-')}-${hash.slice(0, 16)}.gguf`);
  if (!fs.existsSync(file)) {
    fs.mkdirSync(MADE, { recursive: true });
    const fresh = fs.mkdtempSync(path.join(MADE, 'fresh-'));
    fs.writeFileSync(path.join(fresh, 'model'), scriptedModelBytes(model));
    fs.renameSync(path.join(fresh, 'model'), file);
    fs.rmdirSync(fresh);
  }
  return file;
}

/** The same as the file's bytes. */
export function scriptedModelBytes(model: ScriptedModel): Buffer {
  const {
    name,
    scripts,
    contextLength = 8192,
    thinking = false,
    slow = false,
    sampling = {},
  } = model;
  if (scripts.length === 0 || scripts.length > 10)
    throw new Error(`there are ${scripts.length} scripts; expected 1 to 10`);
  const tokens = makeTokens(scripts, thinking);
  const file = new Gguf();
  file.text('general.architecture', 'gemma3');
  file.text('general.name', name);
  for (const [key, value] of Object.entries(sampling)) {
    if (WHOLE.has(key)) file.count(`general.sampling.${key}`, value);
    else file.number(`general.sampling.${key}`, value);
  }
  for (const [key, value] of Object.entries({
    block_count: 1,
    context_length: contextLength,
    embedding_length: WIDTH,
    feed_forward_length: 32,
    'attention.head_count': 1,
    'attention.key_length': CODE,
    'attention.value_length': CODE,
    'attention.sliding_window': 2,
  }))
    file.count(`gemma3.${key}`, value);
  file.number('gemma3.attention.layer_norm_rms_epsilon', 1e-6);
  file.text('tokenizer.ggml.model', 'gpt2');
  file.text('tokenizer.ggml.pre', 'default');
  file.texts(
    'tokenizer.ggml.tokens',
    tokens.map(({ text }) => text),
  );
  file.counts(
    'tokenizer.ggml.token_type',
    tokens.map(({ control }) => (control ? 3 : 1)),
  );
  file.texts('tokenizer.ggml.merges', []);
  file.count('tokenizer.ggml.eos_token_id', END);
  file.text('tokenizer.chat_template', (slow ? SLOW : '') + template(scripts.length, thinking));
  addTensors(file, tokens);
  return file.bytes();
}

// --- the vocabulary ------------------------------------------------------------------------------

interface Token {
  /** In the vocabulary; '' if it has none. */
  text: string;
  control: boolean;
  /** The token that follows. */
  next?: number;
  /** The token that follows the next one, if that is a piece that occurs several times. */
  afterNext?: number;
}

/** Ids: first the 256 bytes. */
const END = 257;
/** About words. `<` and `[` stand alone, so that no piece is the name of a token that ends answers, like `<|end|>`. */
const PIECES = /\s?[<[]|\s?[^\s<[]{1,7}|\s{1,8}/gu;
const REASONING = /^\s*<think>.*?<\/think>\s*/s;

/** GPT-2's characters for bytes: printable ones are themselves, the others follow from U+0100 on. */
const BYTES: string[] = [];
for (let byte = 0, other = 256; byte < 256; ++byte) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  BYTES.push(String.fromCharCode(printable ? byte : other++));
}

function coded(text: string): string {
  return Array.from(Buffer.from(text), (byte) => BYTES[byte]).join('');
}

function piecesOf(text: string): string[] {
  if (Buffer.from(text).toString() !== text) throw new Error('a script has half a surrogate pair');
  return text.match(PIECES) ?? [];
}

function makeTokens(scripts: string[], thinking: boolean): Token[] {
  const tokens: Token[] = BYTES.map((text) => ({ text, control: false }));
  tokens.push({ text: '<|im_start|>', control: true }, { text: '<|im_end|>', control: true });
  const all = scripts.map((script) => {
    const reasoning = thinking ? (REASONING.exec(script)?.[0] ?? '') : '';
    return { reasoning: piecesOf(reasoning), answer: piecesOf(script.slice(reasoning.length)) };
  });
  const counts = new Map<string, number>();
  for (const { reasoning, answer } of all) {
    for (const piece of [...reasoning, ...answer]) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  }
  // Tokens of pieces that occur several times. Those of a byte are there.
  const shared = new Map(BYTES.map((text, byte) => [text, byte]));
  /** Adds what writes the pieces and leads to `next`; returns the first token. */
  const chain = (pieces: string[], next: number): number => {
    for (const piece of pieces.toReversed()) {
      const text = coded(piece);
      let id = shared.get(text);
      if (id === undefined && counts.get(piece) === 1) {
        next = tokens.push({ text, control: false, next }) - 1;
        continue;
      }
      if (id === undefined) {
        id = tokens.push({ text, control: false }) - 1;
        shared.set(text, id);
      }
      next = tokens.push({ text: '', control: false, next: id, afterNext: next }) - 1;
    }
    return next;
  };
  for (const [i, { reasoning, answer }] of all.entries()) {
    const second = chain(answer, END);
    const first = chain(reasoning, second);
    tokens.push({ text: `<|script-${i}|>`, control: true, next: first });
    if (thinking) tokens.push({ text: `<|answer-${i}|>`, control: true, next: second });
  }
  return tokens;
}

const SLOW = `{%- if messages[-1].content == 'Run for long' %}
{%- for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}
{%- endif %}`;

/** ChatML. A token at the beginning of an answer, also of one in the history, says which script it follows. */
function template(scripts: number, thinking: boolean): string {
  const digits = '0123456789'.slice(0, scripts);
  const strip = `{%- if not loop.last and '</think>' in text %}{% set text = text.split('</think>')[-1].lstrip('\\n') %}
{%- elif loop.last and m.reasoning_content %}{% set text = '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' + text %}{% endif %}
`;
  const begin = `{%- if enable_thinking is defined and not enable_thinking %}
{{- '<think>\\n\\n</think>\\n\\n<|answer-' + ns.script + '|>' }}
{%- else %}
{{- '<|script-' + ns.script + '|>' }}
{%- endif %}`;
  return `{%- set ns = namespace(script='0') %}
{%- if tools %}{{ '<|im_start|>tools\\n' + tools | tojson + '<|im_end|>\\n' }}{% endif %}
{%- for m in messages %}
{%- set text = m.content or '' %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'user' %}
{%- set last = (text | trim)[-1:] %}
{#- The digit is the template's own: one of the message's could be part of no control token. #}
{%- set ns.script = '${digits}'['${digits}'.find(last)] if last and last in '${digits}' else '0' %}
{%- elif m.role == 'assistant' %}
${thinking ? strip : ''}{{- '<|script-' + ns.script + '|>' }}
{%- endif %}
{{- text }}
{%- if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
${thinking ? begin : `{{- '<|script-' + ns.script + '|>' }}`}
{%- endif %}`;
}

// --- the weights ---------------------------------------------------------------------------------

const CODE = 64;
/** A row: the code of the next token, then that of the one after it, or zeros. */
const WIDTH = 2 * CODE;
/** At the highest temperature, 100, the logits' distances are still more than this. */
const GAP = 1000;
/** Tokens that lead nowhere end the answer. A piece that occurs several times must say so less than the step before. */
const FAINT = 1 / 128;

function bitsOf(word: number): number {
  let n = 0;
  for (; word !== 0; word &= word - 1) ++n;
  return n;
}

/** So many words of RM(2, 6) with as many ones as zeros: polynomials of degree 2 in the six bits of a place's number. */
function makeCodes(n: number): [number, number][] {
  const basis: [number, number][] = [];
  const monomial = (holds: (place: number) => boolean): void => {
    const half = (first: number): number => {
      let word = 0;
      for (let i = 0; i < 32; ++i) if (holds(first + i)) word |= 1 << i;
      return word;
    };
    basis.push([half(0), half(32)]);
  };
  for (let a = 0; a < 6; ++a) monomial((place) => ((place >> a) & 1) === 1);
  for (let a = 0; a < 6; ++a)
    for (let b = 0; b < a; ++b) monomial((place) => ((place >> a) & (place >> b) & 1) === 1);
  const codes: [number, number][] = [];
  let low = 0;
  let high = 0;
  // All sums of the basis, in the order of the Gray code.
  for (let i = 1; i < 2 ** basis.length && codes.length < n; ++i) {
    const [a, b] = basis[31 - Math.clz32(i & -i)] as [number, number];
    low ^= a;
    high ^= b;
    if (bitsOf(low) + bitsOf(high) === CODE / 2) codes.push([low, high]);
  }
  if (codes.length < n) throw new Error(`the scripts need ${n} tokens; ${codes.length} have codes`);
  return codes;
}

/** A matrix in Q4_0, all zeros at first. A block is a scale and 32 numbers of 4 bits, from which 8 is taken. */
class SignTable {
  readonly data: Buffer;
  constructor(rows: number) {
    this.data = Buffer.alloc(rows * (WIDTH / 32) * 18);
  }

  /** Writes the first or second code of a row: `scale` where the word has ones, and its negative elsewhere. */
  set(row: number, second: boolean, code: [number, number], scale = 1): void {
    let at = (4 * row + (second ? 2 : 0)) * 18;
    for (const word of code) {
      // A power of two in 16 bits.
      this.data.writeUInt16LE((15 + Math.log2(scale)) << 10, at);
      const number = (i: number): number => 7 + 2 * ((word >>> i) & 1);
      for (let i = 0; i < 16; ++i) this.data[at + 2 + i] = number(i) | (number(i + 16) << 4);
      at += 18;
    }
  }
}

function addTensors(file: Gguf, tokens: Token[]): void {
  const codes = makeCodes(tokens.length);
  const codeOf = (id: number): [number, number] => codes[id] as [number, number];
  const embedding = new SignTable(tokens.length);
  const head = new SignTable(tokens.length);
  for (const [id, { next, afterNext }] of tokens.entries()) {
    head.set(id, false, codeOf(id));
    embedding.set(id, false, codeOf(next ?? END), next === undefined ? FAINT : 1);
    if (afterNext !== undefined) embedding.set(id, true, codeOf(afterNext));
  }
  file.table('token_embd.weight', tokens.length, embedding);
  file.table('output.weight', tokens.length, head);

  const norm = (name: string, length = WIDTH, weight = 1): void =>
    file.floats(`${name}.weight`, [length], new Float32Array(length).fill(weight));
  /** Zeros; `from`: its first rows copy the columns from there on. */
  const matrix = (name: string, rows: number, columns: number, from?: number): void => {
    const weight = new Float32Array(rows * columns);
    for (let i = 0; from !== undefined && i < CODE; ++i) weight[i * columns + from + i] = 1;
    file.floats(`blk.0.${name}.weight`, [columns, rows], weight);
  };
  norm('output_norm', WIDTH, GAP);
  norm('blk.0.attn_norm');
  norm('blk.0.attn_q_norm', CODE);
  norm('blk.0.attn_k_norm', CODE);
  matrix('attn_q', CODE, WIDTH);
  matrix('attn_k', CODE, WIDTH);
  matrix('attn_v', CODE, WIDTH, CODE);
  matrix('attn_output', WIDTH, CODE, 0);
  // Embeddings are multiplied by the root of 128. What is added becomes an eighth of this: its norm is 1, in half of
  // the row. So a step itself isn't disturbed by its second code.
  norm('blk.0.post_attention_norm');
  norm('blk.0.ffn_norm');
  matrix('ffn_gate', 32, WIDTH);
  matrix('ffn_up', 32, WIDTH);
  matrix('ffn_down', WIDTH, 32);
  norm('blk.0.post_ffw_norm');
}

// --- the file ------------------------------------------------------------------------------------

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([u64(bytes.length), bytes]);
}

/** A GGUF file: metadata, a list of tensors, their data, each at a multiple of 32. */
class Gguf {
  readonly #values: Buffer[] = [];
  readonly #tensors: { name: string; dims: number[]; type: number; data: Buffer }[] = [];

  #add(key: string, type: number, ...value: Buffer[]): void {
    this.#values.push(Buffer.concat([string(key), u32(type), ...value]));
  }
  count(key: string, value: number): void {
    this.#add(key, 4, u32(value));
  }
  number(key: string, value: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    this.#add(key, 6, bytes);
  }
  text(key: string, value: string): void {
    this.#add(key, 8, string(value));
  }
  counts(key: string, values: number[]): void {
    this.#add(key, 9, u32(4), u64(values.length), ...values.map(u32));
  }
  texts(key: string, values: string[]): void {
    this.#add(key, 9, u32(8), u64(values.length), ...values.map(string));
  }

  /** `dims`: the length of a row first. */
  floats(name: string, dims: number[], { buffer }: Float32Array<ArrayBuffer>): void {
    this.#tensors.push({ name, dims, type: 0, data: Buffer.from(buffer) });
  }
  table(name: string, rows: number, { data }: SignTable): void {
    this.#tensors.push({ name, dims: [WIDTH, rows], type: 2, data });
  }

  bytes(): Buffer {
    const padding = (size: number): Buffer => Buffer.alloc(-size & 31);
    const list: Buffer[] = [];
    const all: Buffer[] = [];
    let offset = 0;
    for (const { name, dims, type, data } of this.#tensors) {
      list.push(string(name), u32(dims.length), ...dims.map(u64), u32(type), u64(offset));
      all.push(data, padding(data.length));
      offset += data.length + (-data.length & 31);
    }
    const header = Buffer.concat([
      Buffer.from('GGUF'),
      u32(3),
      u64(this.#tensors.length),
      u64(this.#values.length),
      ...this.#values,
      ...list,
    ]);
    return Buffer.concat([header, padding(header.length), ...all]);
  }
}
