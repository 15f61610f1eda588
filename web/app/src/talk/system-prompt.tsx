import { useSignal } from '@preact/signals';
import { announcement } from '../ui/announce';
import { MOST_TITLE } from '../history/tree';
import { focusSoon } from '../ui/focus';
import { IconButton } from '../ui/icons';
import { MAX_SYSTEM, prompts, removePrompt, savePrompt } from './prompts';
import { talk } from './state';
import { talkTexts } from './texts';

/** The system prompt of the conversation, folded. */
export function SystemPrompt() {
  const { tree, writer } = talk.open.value;
  const words = talkTexts.value;
  const { system } = tree.value;
  return (
    <details class="system">
      <summary>
        {words.system}
        {system !== '' && <span class="system-text">{system.slice(0, 200)}</span>}
      </summary>
      <textarea
        aria-label={words.system}
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
        {words.systemNote}
      </p>
      <Saved />
    </details>
  );
}

/** The prompts that are saved on this device, and the way to save this one. */
function Saved() {
  const { tree, writer } = talk.open.value;
  const words = talkTexts.value;
  const name = useSignal('');
  const { system } = tree.value;
  return (
    <>
      {prompts.value.length > 0 && (
        <ul class="prompts" aria-label={words.savedPrompts}>
          {prompts.value.map((one) => (
            <li key={one.name}>
              <button
                type="button"
                class="quiet"
                dir="auto"
                aria-pressed={one.text === system}
                disabled={!writer.value}
                onClick={() => {
                  tree.value = { ...tree.value, system: one.text };
                }}
              >
                {one.name}
              </button>
              <IconButton
                icon="close"
                label={words.removePrompt(one.name)}
                onClick={() => {
                  removePrompt(one.name);
                  focusSoon('.prompts button', '.system textarea');
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <form
        class="save-prompt"
        onSubmit={(event) => {
          event.preventDefault();
          savePrompt(name.value, system);
          announcement.value = words.promptSaved(name.value.trim());
          name.value = '';
        }}
      >
        <input
          type="text"
          aria-label={words.promptName}
          placeholder={words.promptName}
          maxLength={MOST_TITLE}
          value={name}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
        <button
          type="submit"
          class="secondary"
          disabled={system.trim() === '' || name.value.trim() === ''}
        >
          {words.savePrompt}
        </button>
      </form>
    </>
  );
}
