// The address's fragment holds the prompt, the model and the settings, so that a link shares them.
// Anybody can make a link: every value is checked, and bad ones are left out and named.
import { DEFAULTS, RANGES, SETTING_NAMES, parseSetting, type Settings } from './settings';

export const DEFAULT_PROMPT = 'Once upon a time';
export const MAX_PROMPT = 20_000;
const MAX_ADDRESS = 2_000;

export interface PageState {
  prompt: string;
  /** An absolute address (http, https or hf), or null for the bundled model. */
  model: string | null;
  settings: Settings;
}

export interface FragmentState extends PageState {
  /** The parts of the fragment that could not be used, in words. */
  ignored: string[];
}

/** A model on the hub: hf:owner/repo[:file or type][@revision]. */
const ON_THE_HUB = /^hf:[\w.-]+\/[\w.-]+(:[^\s:@]+)?(@[^\s@]+)?$/i;

/**
 * Parses the address of a model: http or https, without a user name or password, or hf:owner/repo. A relative address
 * is resolved against `base`, if that is given. Returns undefined for anything else.
 */
export function parseModelAddress(text: string, base?: string): string | undefined {
  if (text === '' || text.length > MAX_ADDRESS) return undefined;
  if (ON_THE_HUB.test(text)) return `hf:${text.slice('hf:'.length)}`;
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  if (url.username !== '' || url.password !== '' || url.hostname === '') return undefined;
  url.hash = '';
  return url.href;
}

/** Reads a fragment, with or without its '#'. Never throws. */
export function readFragment(fragment: string, base: string): FragmentState {
  const params = new URLSearchParams(fragment.replace(/^#/, ''));
  const state: FragmentState = {
    prompt: DEFAULT_PROMPT,
    model: null,
    settings: { ...DEFAULTS },
    ignored: [],
  };

  const prompt = params.get('prompt');
  if (prompt !== null) {
    // Control characters other than tabs and line ends can't be typed into the field either.
    // eslint-disable-next-line no-control-regex
    const clean = prompt.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
    state.prompt = clean.slice(0, MAX_PROMPT);
    if (clean.length > MAX_PROMPT) {
      state.ignored.push(`prompt: only its first ${MAX_PROMPT} characters were taken`);
    }
  }

  const model = params.get('model');
  if (model !== null) {
    const address = parseModelAddress(model, base);
    if (address === undefined) {
      state.ignored.push('model: not an http, https or hf address');
    } else {
      state.model = address;
    }
  }

  for (const name of SETTING_NAMES) {
    const text = params.get(name);
    if (text === null) continue;
    const value = parseSetting(name, text);
    if (value === undefined) {
      const { min, max } = RANGES[name];
      state.ignored.push(`${name}: not a number from ${min} to ${max}`);
    } else {
      state.settings[name] = value;
    }
  }
  return state;
}

/** The fragment (without '#') that `readFragment` reads back. Defaults are left out. */
export function writeFragment(state: PageState): string {
  const params = new URLSearchParams();
  if (state.prompt !== DEFAULT_PROMPT) params.set('prompt', state.prompt.slice(0, MAX_PROMPT));
  if (state.model !== null) params.set('model', state.model);
  for (const name of SETTING_NAMES) {
    const value = state.settings[name];
    if (value !== null && value !== DEFAULTS[name]) params.set(name, String(value));
  }
  // '%20' reads better than '+' in an address that people copy.
  return params.toString().replaceAll('+', '%20');
}
