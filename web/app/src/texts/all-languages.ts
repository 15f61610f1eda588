// What is called something in the language in which it was made.
import { computed, type ReadonlySignal } from '@preact/signals';
import { come } from './language';
import type { Texts } from './texts';

/** The texts of one room in all languages that have come: for what was named in another language before. */
export function inAllLanguages<Room extends keyof Texts>(
  room: Room,
  english: Texts[Room],
): ReadonlySignal<Texts[Room][]> {
  return computed(() => [english, ...[...come.value.values()].map((texts) => texts[room])]);
}
