import { noteInWords } from './memory';

/** A note of the library: its words are English. */
export function Note({ text }: { text: string }) {
  return (
    <p class="note" lang="en">
      {noteInWords(text)}
    </p>
  );
}
