// Addresses that a text may link to, and signs that could make a text lie.

/** Signs that change the direction of the text around them. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Names the signs that turn text around: what is shown in code and in links is what is there. */
export function visible(text: string): string {
  return text.replace(DIRECTIONS, (sign) => {
    const code = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `[U+${code}]`;
  });
}

export interface Address {
  readonly href: string;
  /** Where it leads: the host, or the address of a mail. */
  readonly host: string;
}

/** An address that may be linked to; null for every other scheme and for addresses without one. */
export function address(source: string): Address | null {
  let url: URL;
  try {
    url = new URL(source);
  } catch {
    return null;
  }
  if (url.protocol === 'mailto:') return { href: url.href, host: url.pathname };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  // A name before the host could look like one.
  url.username = '';
  url.password = '';
  return { href: url.href, host: url.host };
}

/** Whether a link's text looks like an address, but of another place than it leads to. */
export function misleads(text: string, { href, host }: Address): boolean {
  const shown = /^\s*(?:[a-z][a-z\d+.-]*:\/*)?([^\s/?#]+\.[^\s/?#.]{2,})/i.exec(text)?.[1];
  if (shown === undefined) return false;
  if (href.startsWith('mailto:')) return shown.toLowerCase() !== host.toLowerCase();
  const plain = (name: string): string =>
    name
      .toLowerCase()
      .replace(/^www\./, '')
      .replace(/:\d+$/, '');
  let name = shown;
  try {
    // As a browser writes it: letters of other scripts in Punycode.
    name = new URL(`https://${shown}`).host;
  } catch {
    // Not a host: compared as it is.
  }
  return plain(name) !== plain(host);
}
