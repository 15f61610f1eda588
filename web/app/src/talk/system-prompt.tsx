import { t } from '../texts';
import { open } from './state';

/** The longest system prompt that can be typed. */
const MAX_SYSTEM = 20_000;

/** The system prompt of the conversation, folded. */
export function SystemPrompt() {
  const { tree, writer } = open.value;
  const { talk } = t.value;
  const { system } = tree.value;
  return (
    <details class="system">
      <summary>
        {talk.system}
        {system !== '' && <span class="system-text">{system.slice(0, 200)}</span>}
      </summary>
      <textarea
        aria-label={talk.system}
        aria-describedby="system-note"
        rows={3}
        maxLength={MAX_SYSTEM}
        value={system}
        disabled={!writer.value}
        onInput={(event) => {
          tree.value = { ...tree.value, system: event.currentTarget.value };
        }}
      />
      <p class="hint" id="system-note">
        {talk.systemNote}
      </p>
    </details>
  );
}
