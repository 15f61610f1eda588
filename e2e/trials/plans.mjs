// @ts-check
// How a server misbehaves in one run, drawn from a seed, and how a load may end then.
import { Random } from '../hub/random.mjs';
import { MODELS, size_of } from './models.mjs';

/**
 * @typedef {import('../hub/faults.mjs').Behaviour} Behaviour
 * @typedef {import('../hub/served.mjs').Asked} Asked
 */

/**
 * @typedef {object} FaultPlan
 * @property {number} seed
 * @property {string} model its name in models.mjs
 * @property {string} other the model that the file becomes, if it changes; else ''
 * @property {'file' | 'moved' | 'hub'} way at which of the file's addresses it is loaded
 * @property {'opfs' | 'none'} cache
 * @property {boolean} isolation of the page
 * @property {boolean} early the logits are asked for before all weights are there
 * @property {'' | 'right' | 'wrong'} sha256 given with the load
 * @property {boolean} visit after a good end it is loaded again, and the server answers nothing
 * @property {boolean} lies about the file's size, and nothing tells; then the model may not be kept
 * @property {string} words what goes wrong, for people
 * @property {boolean} recovers the server gets well, so that the load should get through
 * @property {string[]} codes errors with which the load may end, too
 * @property {boolean} become the hash of `other` is right, too
 * @property {number} patience milliseconds for retryTimeout
 * @property {(asked: Asked) => Behaviour} serve
 * @property {(number: number) => Behaviour} list for the hub's list of files
 */

/** Milliseconds for stallTimeout. A busy machine may exceed it; that costs one more try. */
export const STALL = 1000;
/** For a server that gets well: as long as it takes on a busy machine. For one that doesn't: soon. */
const [LONG, SHORT] = [60_000, 1500];

/** Peculiar servers, from which a load gets through all the same. @param {Random} random @param {number} size @returns {[string, Behaviour][]} */
function natures(random, size) {
  return [
    ['no ranges', { ignoreRange: true }],
    ['no length', { lengthBy: null }],
    ['hidden headers', { expose: '' }],
    ['no ETag', { etag: null }],
    ['no ETag, no date', { etag: null, modified: null }],
    ['addresses for few uses', { signed: { uses: random.whole(2, 4) } }],
    // Not shorter: the busiest machine asks for them in time.
    ['addresses for a short time', { signed: { ms: random.whole(700, 1400) } }],
    ['slow', { rate: (size * 10) / random.whole(2, 20) }],
    [
      'a rate that jumps',
      {
        rate: [
          [0, size * 2],
          [random.whole(20, 200), size / 50],
          [random.whole(300, 700), size * 4],
        ],
      },
    ],
    ['late answers', { delay: random.whole(50, 400) }],
  ];
}

/**
 * What passes: the same request may get through later. If it `lasts`, each try brings nothing or much, because the tries
 * go on as long as any of them brings a byte.
 * @param {Random} random
 * @param {number} size
 * @param {boolean} lasts
 * @returns {[string, Behaviour]}
 */
function trouble(random, size, lasts) {
  const early = lasts ? 0 : random.whole(0, 100);
  const place = random.chance(0.2) ? early : random.whole(lasts ? size >> 3 : 0, size - 1);
  const status = random.pick([408, 425, 429, 500, 502, 503, 504]);
  /** @type {[string, Behaviour][]} */
  const list = [
    [`cut at ${place}`, { cut: place }],
    [`cut at ${place}`, { cut: place }],
    [`reset at ${place}`, { cut: place, reset: true }],
    [`stalled at ${place}`, { stall: place }],
    ['no answer', { silent: true }],
    ['closed', { close: true }],
    [`${status}`, { status }],
    [`${status}`, { status }],
    ['503, wait 1 s', { status: 503, retryAfter: 1 }],
    ['503, wait until', { status: 503, retryAfter: 'date' }],
    ['429, limit for 1 s', { status: 429, rateLimit: 1 }],
    ['length too large', { lengthBy: random.whole(1, 5000) }],
    ['length too small', { lengthBy: -random.whole(1, Math.min(5000, size - 1)) }],
  ];
  return random.pick(list);
}

/**
 * What doesn't pass.
 * @typedef {object} Fatal
 * @property {string} words
 * @property {(asked: Asked & {all: number}) => Behaviour} serve `all`: requests of each kind before
 * @property {string[]} codes
 * @property {boolean} [changes] the file becomes another one
 * @property {'right' | 'wrong'} [sha256] must be given
 */

/** @param {Random} random @param {number} size @returns {Fatal} */
function fatal(random, size) {
  const after = random.whole(0, 1);
  const place = random.whole(0, size - 1);
  const late = random.whole(size >> 1, size - 1);
  const soon = random.whole(0, 2000);
  const status = random.pick([401, 403, 404, 410, 416, 500, 503]);
  const contentRange = random.pick(/** @type {const} */ (['shifted', 'total', 'garbage']));
  /** From the first or the second request on, and until then cut, so that there is another. @param {Behaviour} behaviour */
  const later =
    (behaviour) =>
    (/** @type {{all: number}} */ { all }) =>
      all < after ? { cut: place } : behaviour;
  const failed = ['download_failed'];
  // Whether a text or the sha256 is looked at first is nobody's business.
  const unread = [...failed, 'bad_file', 'download_corrupt'];
  const refused = { words: `${status} for ever`, serve: later({ status }), codes: failed };
  return random.pick([
    ...[refused, refused, refused, refused],
    { words: 'closed for ever', serve: later({ close: true }), codes: failed },
    { words: 'silent for ever', serve: later({ silent: true }), codes: failed },
    {
      words: 'asks to wait for 400 s',
      serve: later({ status: 503, retryAfter: 400 }),
      codes: failed,
    },
    { words: 'limit for 400 s', serve: later({ status: 429, rateLimit: 400 }), codes: failed },
    {
      words: 'signed addresses are refused',
      serve: ({ kind }) => (kind === 'signed' ? { status: 403 } : {}),
      codes: failed,
    },
    { words: 'web page', serve: later({ html: true }), codes: unread },
    { words: 'circle', serve: () => ({ redirect: 'circle' }), codes: failed },
    { words: 'not for other sites', serve: () => ({ cors: false }), codes: failed },
    {
      words: `Content-Range ${contentRange}`,
      serve: later({ contentRange }),
      codes: failed,
    },
    // Who asks for a range accepts no compression, and a browser takes none then.
    { words: 'compressed all the same', serve: later({ gzip: true }), codes: unread },
    { words: 'multipart', serve: later({ multipart: true }), codes: failed },
    {
      words: 'another file from the second request on',
      serve: ({ all }) => (all === 0 ? { cut: place } : { version: 1 }),
      codes: [...failed, 'download_corrupt'],
      changes: true,
    },
    {
      words: 'another ETag in each answer',
      serve: ({ all }) => ({ etag: `"${all}"`, ...(all < 2 ? { cut: place } : {}) }),
      codes: failed,
    },
    {
      words: 'length too small, no ranges',
      serve: () => ({ ignoreRange: true, lengthBy: -late }),
      codes: unread,
    },
    {
      words: 'a bit flipped',
      serve: () => ({ flips: [late] }),
      codes: ['download_corrupt'],
      sha256: 'right',
    },
    {
      words: 'a bit flipped in the header',
      serve: () => ({ flips: [soon] }),
      // What the header says then may be anything.
      codes: [
        ...unread,
        'unsupported_model',
        'unsupported_type',
        'budget_too_small',
        'out_of_memory',
      ],
      sha256: 'right',
    },
    { words: 'wrong sha256', serve: () => ({}), codes: ['download_corrupt'], sha256: 'wrong' },
  ]);
}

/** Draws a run from its seed. @param {number} seed @returns {FaultPlan} */
export function make_plan(seed) {
  const random = new Random(seed, 1);
  const model = random.pick(MODELS);
  const size = size_of(model);
  const way = random.pick(/** @type {const} */ (['file', 'file', 'moved', 'hub']));
  /** @type {Behaviour} */
  const nature = {};
  const words = [];
  const fate = random.pick(/** @type {const} */ (['passes', 'passes', 'passes', 'lasts', 'fatal']));
  for (let i = random.whole(0, 2); i > 0; --i) {
    const [named, behaviour] = random.pick(natures(random, size));
    words.push(named);
    Object.assign(nature, behaviour);
  }
  const troubles = Array.from({ length: random.whole(1, 3) }, () =>
    trouble(random, size, fate === 'lasts'),
  );
  /** @type {Behaviour | null} */
  const listed = random.chance(0.3)
    ? random.pick([
        { status: 503, retryAfter: 1 },
        { status: 429, rateLimit: 1 },
        { status: 500 },
        { close: true },
      ])
    : null;
  const end = fate === 'fatal' ? fatal(random, size) : null;
  const given = random.chance(0.3) ? 'right' : '';
  if (end === null) words.push(fate, ...troubles.map(([named]) => named));
  else words.push(end.words);
  if (way === 'hub' && listed !== null) words.push(`list: ${listed.status ?? 'closed'}`);

  let all = 0;
  /** @param {Asked} asked @returns {Behaviour} */
  const serve = (asked) => {
    if (asked.kind === 'preflight') return { status: 403 };
    const number = all++;
    if (end !== null) return { ...nature, ...end.serve({ ...asked, all: number }) };
    const [, behaviour] = troubles[fate === 'lasts' ? number % troubles.length : number] ?? [
      '',
      {},
    ];
    const lies = nature.ignoreRange === true && (behaviour.lengthBy ?? 0) < 0;
    return { ...nature, ...(lies ? { cut: 1000 } : behaviour) };
  };
  return {
    seed,
    model,
    other: end?.changes ? random.pick(MODELS.filter((name) => name !== model)) : '',
    way,
    cache: random.pick(/** @type {const} */ (['opfs', 'none'])),
    isolation: random.chance(0.5),
    early: random.chance(0.5),
    sha256: end?.sha256 ?? given,
    visit: random.chance(0.5),
    lies:
      (nature.ignoreRange === true || nature.expose === '') &&
      troubles.some(([, { lengthBy }]) => (lengthBy ?? 0) > 0),
    words: words.join('; '),
    recovers: fate === 'passes',
    codes: end?.codes ?? ['download_failed'],
    // With the sha256 of the first one known, it is an error.
    become: end?.changes === true && given === '' && way !== 'hub',
    patience: fate === 'passes' ? LONG : SHORT,
    serve,
    list: (number) => (number === 0 && listed !== null ? listed : {}),
  };
}
