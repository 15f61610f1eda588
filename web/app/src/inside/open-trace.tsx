import { useRef } from 'preact/hooks';
import { openTrace } from './file-state';
import { insideMapsTexts } from './maps-texts';

/** Opens a file with a trace. */
export function OpenTrace() {
  const words = insideMapsTexts.value;
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={words.open}
        onChange={({ currentTarget }) => {
          const [given] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (given !== undefined) void openTrace(given);
        }}
      />
      <button
        type="button"
        class="quiet"
        title={words.openHint}
        onClick={() => input.current?.click()}
      >
        {words.open}
      </button>
    </>
  );
}
