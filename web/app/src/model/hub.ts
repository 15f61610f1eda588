// The pages of the hub that most models come from: a model's own, and its search.
import { pageOf } from './source';

export const HUB = 'huggingface.co';

/** A model's page at the hub. */
export interface AtHub {
  page: string;
  owner: string;
  name: string;
}

/** Null: the address is not of the hub. */
export function atHub(address: string): AtHub | null {
  const hosts = /^https:\/\/(?:(?:www\.)?huggingface\.co|hf\.co)\/([^/]+)\/([^/]+)/;
  const [, owner, name] = hosts.exec(pageOf(address)) ?? [];
  if (owner === undefined || name === undefined) return null;
  return { page: `https://${HUB}/${owner}/${name}`, owner, name };
}

/** The hub's search among the models that this page can open. */
export function searchPage(text: string): string {
  return `https://${HUB}/models?${new URLSearchParams({ library: 'gguf', search: text }).toString()}`;
}

/** What to search for, of what someone typed: `ollama run llama3.2:1b` is about llama3.2. */
export function searchedFor(typed: string): string {
  const words = typed.trim().replace(/^(ollama|sluice)\s+(run|pull)\s+/i, '');
  return words
    .replace(/^https?:\/\/[^/]*\/*/i, '')
    .replace(/:[\w.-]+$/, '')
    .slice(0, 100);
}
