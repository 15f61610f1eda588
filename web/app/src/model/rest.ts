// Work that must keep nobody waiting: it begins when the page has been at rest for a while.
import { effect } from '@preact/signals';
import { busy } from './run';
import { loading, model, problem } from './state';

/** Milliseconds without a load or a text. */
const REST_MS = 2000;

/** Calls `work` once, after the first load has ended and nothing has been loaded or written for `ms`. */
export function whenAtRest(work: () => void, ms = REST_MS): void {
  const dispose = effect(() => {
    const begun = model.value !== null || problem.value !== null;
    if (!begun || loading.value !== null || busy.value) return undefined;
    const timer = setTimeout(() => {
      dispose();
      work();
    }, ms);
    return () => clearTimeout(timer);
  });
}
