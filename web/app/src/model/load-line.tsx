import { useEffect } from 'preact/hooks';
import { loadParts } from './parts';
import { loading, paused } from './state';

/**
 * The present load beside the field, in one quiet line. It takes no space of its own: in a `.model-row` it fills what the
 * chip leaves, elsewhere it lies over what is above it. So it moves nothing when it comes and goes.
 */
export function LoadLine() {
  const shows = loading.value !== null || paused.value !== null;
  useEffect(() => {
    if (shows) void loadParts.fetch();
  }, [shows]);
  const later = loadParts.all.value;
  return <div class="load-place">{shows && later !== null && <later.LoadText />}</div>;
}
