// What a model is called wherever it is shown.
import { signal } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { plain } from '../plain-text';
import { MOST_NAME } from './choice';
import { refOf, sourceName, type Source } from './source';

/** The names of the models on the shelf, by their addresses. */
export const shelfNames = signal<ReadonlyMap<string, string>>(new Map());

/** By the shelf, or else by its own header, or else by its file. */
export function nameOf(source: Source, info: ModelInfo | null = null): string {
  return nameByRef(refOf(source), info?.name || fileName(source));
}

/** The same of a model of which refOf() is remembered, and `name`. */
export function nameByRef(ref: string, name: string): string {
  return shelfNames.value.get(ref) ?? plain(name.slice(0, MOST_NAME));
}

function fileName(source: Source): string {
  if (source.kind === 'bundled') return 'Sluice Stories';
  return sourceName(source).replace(/\.gguf$/i, '');
}
