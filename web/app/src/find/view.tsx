import { useEffect, useLayoutEffect } from 'preact/hooks';
import { ModelChip } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { toFieldIfFree } from '../ui/focus';
import { Ask } from './ask';
import { Files } from './files';
import { Hits } from './hits';
import { Needs } from './needs';
import { mark, searchable } from './state';
import { findTexts } from './texts';

/** Find: files, a question in plain words, and the passages that fit it best. */
export function FindView() {
  const words = findTexts.value;
  const can = mark.value !== null;
  const asks = can && searchable.value.length > 0;
  useLayoutEffect(() => toFieldIfFree('question'), []);
  useEffect(() => toFieldIfFree('question'), [asks]);
  return (
    <div class="sheet finding">
      <div class="model-row">
        <ModelChip />
        <LoadLine />
      </div>
      <h2>{words.heading}</h2>
      {!asks && <p class="about-find">{words.about}</p>}
      {!can && <Needs />}
      {asks && <Ask />}
      {asks && <Hits />}
      <Files />
    </div>
  );
}
