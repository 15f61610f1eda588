// What a file that is read reports of itself.
import type { Note } from '../shared/notes.js';

/** Takes counts of bytes, and notes for the user. */
export interface Report {
  fromNetwork(bytes: number): void;
  fromCache(bytes: number): void;
  /** How many bytes the sha256 was computed of so far. */
  verified(bytes: number): void;
  note(note: Note): void;
  keeping(): void;
}
