import type { PromptProgress } from '@sluice/engine';
import { readingFacts } from '../texts/format';
import { reading } from '../model/run';
import { writingTexts } from './texts';

/** How far the prompt is. */
export function Reading() {
  const progress = reading.value;
  if (progress === null) return <p class="state">{writingTexts.value.reading}</p>;
  return <Long {...progress} />;
}

function Long(progress: PromptProgress) {
  const facts = readingFacts(progress).join(' · ');
  return (
    <div class="state reading-progress">
      <div>
        <label for="prompt-progress">{writingTexts.value.reading}</label>
        <span>{facts}</span>
      </div>
      <progress id="prompt-progress" max={progress.total} value={progress.computed}>
        {facts}
      </progress>
    </div>
  );
}
