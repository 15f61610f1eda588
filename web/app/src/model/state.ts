// The page's one model: what its controller does with the library's engines, for all who read it or act on it.
import { computed, effect, untracked } from '@preact/signals';
import { Engine } from '@sluice/engine';
import { followModel, settings } from '../settings/settings';
import { announcement } from '../ui/announce';
import { canKeep, deviceMemory, sharing } from '../ui/device';
import { ModelController } from './controller';
import { runs } from './run';

export { modelName, shownName } from './name';
export { isInUse, type Loading, type Model, type Paused, type Problem } from './phases';

export const models = new ModelController<Engine>({
  load: (source, options) => Engine.load(source, options),
  settings,
  announce: (text) => {
    announcement.value = text;
  },
  run: runs,
  device: { memory: deviceMemory, canKeep, sharing },
});

export const { model, loading, paused, sought, problem, stats, weights } = models;
export const { arriving, resting, writable, stale, unkept, pausable } = models;
export const { open, cancel: cancelLoading, pause: pauseLoading } = models;
export const { putAside, forgetPaused, seek, seekNoMore } = models;
export const { tell, closeProblem, currentEngine } = models;

const shownInfo = computed(() => model.value?.info ?? null);
effect(() => {
  const info = shownInfo.value;
  if (info !== null) untracked(() => followModel(info.sampling ?? {}));
});
