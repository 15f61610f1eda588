// The address's fragment holds the prompt, the model, the settings and the view, so that a link shares them.
// Anybody can make a link: every value is checked, and bad ones are left out and named.
import { parseModelAddress } from '../model/source';
import { defaults, refusalOf, type Settings } from '../settings/settings';
import { readSettings, writeSettings } from '../settings/text';
import { t } from '../texts';
import { VIEWS, type View } from '../ui/view';
import { DEFAULT_PROMPT, MAX_PROMPT } from './prompt';

export interface PageState {
  prompt: string;
  /** An absolute address (http, https or hf), or null for the bundled model. */
  model: string | null;
  settings: Settings;
  /** null: by the model. */
  view: View | null;
}

export interface FragmentState extends PageState {
  /** The parts of the fragment that could not be used, in words. */
  ignored: string[];
}

/** Control characters other than tabs and line ends can't be typed into the field either. */
function cleanPrompt(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}

/** Reads a fragment, with or without its '#'. Never throws. */
export function readFragment(fragment: string, base: string): FragmentState {
  const params = new URLSearchParams(fragment.replace(/^#/, ''));
  const ignored: string[] = [];
  const { page } = t.value;
  const words = page.ignored;

  const given = params.get('prompt');
  const prompt = given === null ? DEFAULT_PROMPT : cleanPrompt(given);
  if (prompt.length > MAX_PROMPT) ignored.push(page.named('prompt', words.longPrompt(MAX_PROMPT)));

  const address = params.get('model');
  const model = address === null ? null : parseModelAddress(address, base);
  if (model === undefined) ignored.push(page.named('model', words.address));

  const settings = readSettings(params, defaults.value, (name) =>
    ignored.push(page.named(name, refusalOf(name))),
  );

  const asked = params.get('view');
  const view = VIEWS.find((known) => known === asked) ?? null;
  if (asked !== null && view === null) ignored.push(page.named('view', words.view));
  return { prompt: prompt.slice(0, MAX_PROMPT), model: model ?? null, settings, view, ignored };
}

/** The fragment (without '#') that `readFragment` reads back. Defaults are left out. */
export function writeFragment(state: PageState): string {
  const params = new URLSearchParams();
  if (state.view !== null) params.set('view', state.view);
  if (state.prompt !== DEFAULT_PROMPT) params.set('prompt', state.prompt.slice(0, MAX_PROMPT));
  if (state.model !== null) params.set('model', state.model);
  writeSettings(params, state.settings, defaults.value);
  // '%20' reads better than '+' in an address that people copy.
  return params.toString().replaceAll('+', '%20');
}
