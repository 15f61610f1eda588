// Converts what a person typed or pasted to an address that Engine.load takes.
import { HUB, isHubHost, parseAddress, type Address } from '../loader/net/addresses.js';

/** The most characters of a text: no real address is longer. */
const LONGEST = 2000;

/** Why a text is no address of a model: for a site's own words. */
export type AddressProblem =
  | 'empty'
  | 'too_long'
  /** Control characters, or blanks within. */
  | 'characters'
  /** Neither http nor https. */
  | 'scheme'
  /** A user name or a password. */
  | 'credentials'
  /** A page of the hub that is about no model. */
  | 'no_model'
  | 'no_address';

export type TypedAddress =
  | {
      address: string;
      /** `repository`: there may be several files, which listModels lists. */
      kind: 'file' | 'repository';
    }
  | { problem: AddressProblem };

const REPOSITORY = /^([\w][\w.-]*)\/([\w][\w.-]*)(:[^\s:@]+)?(@[^\s@]+)?$/;
/** owner/repo/blob/main/m.gguf, as it is copied from a page of the hub. A name with a dot would be a server's. */
const AT_REPOSITORY = /^(?!localhost\/)[\w-]+\/[\w][\w.-]*\/(tree|blob|resolve|raw)\/./;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

function wrong(problem: AddressProblem): TypedAddress {
  return { problem };
}

/** The result for an absolute address. `refused`: the problem if parseAddress refuses it. */
function taken(address: string, refused: AddressProblem): TypedAddress {
  let meaning: Address;
  try {
    meaning = parseAddress(address, HUB);
  } catch {
    return wrong(refused);
  }
  const several = meaning.kind === 'hub choice' && meaning.selector === '';
  return { address, kind: several ? 'repository' : 'file' };
}

/** owner/repo[:file or type][@revision] */
function ofRepository(text: string, refused: AddressProblem): TypedAddress {
  const plain = text.replace(/\/+$/, '');
  return REPOSITORY.test(plain) ? taken(`hf:${plain}`, refused) : wrong(refused);
}

function ofUrl(text: string, base: string | undefined): TypedAddress {
  if (!URL.canParse(text, base)) return wrong('no_address');
  const url = new URL(text, base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return wrong('scheme');
  if (url.username !== '' || url.password !== '') return wrong('credentials');
  if (url.hostname === '') return wrong('no_address');
  url.hash = '';
  if (!isHubHost(url.hostname)) return taken(url.href, 'no_address');
  // ?download=true, ?show_file_info=..
  url.search = '';
  const path = url.pathname.replace(/^\/+|\/+$/g, '');
  const [owner = '', , view] = path.split('/');
  if (view === undefined) return ofRepository(path, 'no_model');
  const page = taken(url.href, 'no_model');
  // Other pages of the hub are about something else, though parseAddress takes them for files.
  const about = ['tree', 'blob', 'resolve', 'raw'].includes(view) && REPOSITORY.test(`${owner}/x`);
  return about ? page : wrong('no_model');
}

/**
 * Converts what a person typed to an address that Engine.load takes: owner/repo, owner/repo:Q4_K_M, owner/repo/blob/main/m.gguf,
 * addresses of a hub's pages and of files, with or without a scheme. Blanks around it are ignored. For other texts it returns
 * the problem; it never throws. With `base`, texts without a scheme are relative addresses, as in links.
 */
export function readAddress(text: string, { base }: { base?: string } = {}): TypedAddress {
  const typed = text.trim();
  if (typed === '') return wrong('empty');
  if (typed.length > LONGEST) return wrong('too_long');
  if (CONTROL.test(typed)) return wrong('characters');
  if (/^hf:/i.test(typed)) {
    if (/\s/.test(typed)) return wrong('characters');
    return ofRepository(typed.slice('hf:'.length).replace(/^\/\//, ''), 'no_address');
  }
  if (base === undefined && AT_REPOSITORY.test(typed)) return ofUrl(`${HUB}/${typed}`, undefined);
  // llama3.2:1b, as other programs name models: no scheme.
  if (base === undefined && /^[\w.-]+:[\w.-]*[a-z_][\w.-]*$/i.test(typed))
    return wrong('no_address');
  const hasPort = /^[\w.-]+:\d{1,5}(\/|$)/.test(typed);
  if (base !== undefined || (!hasPort && /^[a-z][a-z\d+.-]*:/i.test(typed)))
    return ofUrl(typed, base);
  const host = /^[^/:]*/.exec(typed)?.[0] ?? '';
  if (isHubHost(host.toLowerCase())) return ofUrl(`https://${typed}`, undefined);
  const [pair = ''] = typed.split(/[:@]/);
  const repository = ofRepository(typed, 'no_address');
  if ('address' in repository && !/\.gguf\/*$/i.test(pair)) return repository;
  // A host has a dot and no blanks, or is this computer.
  if (/^localhost$/i.test(host)) return ofUrl(`http://${typed}`, undefined);
  const named = /^[\w-]+(\.[\w-]+)*\.[a-z\d]{2,}$/i.test(host) && /^[^/]+\/./.test(typed);
  return named ? ofUrl(`https://${typed}`, undefined) : wrong('no_address');
}
