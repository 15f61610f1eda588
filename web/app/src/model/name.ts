// What a model is called wherever it is shown.
import { signal } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { plain } from '../texts/plain-text';
import { MOST_NAME } from './choice';
import type { Model } from './phases';
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

/** As the reader sees it. */
export function shownName({ source, info }: Model): string {
  return nameOf(source, info);
}

/** As it names itself: what is kept of it has this name. */
export function modelName({ source, info }: Model): string {
  const name = info.name || sourceName(source).replace(/\.gguf$/i, '');
  return plain(name.slice(0, MOST_NAME));
}

/** In a message that is about the file or the address: by the shelf, or else as the file is called. */
export function nameInMessage(source: Source): string {
  const called = shelfNames.peek().get(refOf(source));
  return called ?? plain(sourceName(source).slice(0, MOST_NAME));
}

function fileName(source: Source): string {
  if (source.kind === 'bundled') return 'Sluice Stories';
  return sourceName(source).replace(/\.gguf$/i, '');
}
