// The hub that most models come from: a model's own page, and its search.
import { addressFacts, type AddressFacts } from '@sluice/engine';

export const HUB = 'huggingface.co';

/** A model's page at the hub. */
export type AtHub = NonNullable<AddressFacts['repository']>;

/** Null: the address is not of the hub. */
export function atHub(address: string): AtHub | null {
  return addressFacts(address).repository;
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
