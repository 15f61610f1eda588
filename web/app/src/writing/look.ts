// The text that is shown, as it can be looked into.
import { computed, untracked } from '@preact/signals';
import { encode, type Insight } from '../inside/library';
import type { Related, Subject } from '../inside/subject';
import type { WritingController } from './controller';
import type { Written } from './kept-texts';

/** The texts that a text was written on from, or that were written on from it. */
export function relatedTo(so: Written, texts: readonly Written[]): Related[] {
  const relation = (of: Written, id: string, kind: Related['kind']): Related => {
    const at = of.branch?.at ?? 0;
    const chosen = of.runs.find(({ from, begun }) => from === 'reader' && begun === at);
    return { id, at, text: of.text.slice(at, at + (chosen?.lengths[0] ?? 0)), kind };
  };
  const parent = texts.find(({ id }) => id === so.branch?.of);
  const children = texts.filter(({ branch }) => branch?.of === so.id);
  return [
    ...(parent === undefined ? [] : [relation(so, parent.id, 'parent')]),
    ...children.map((one) => relation(one, one.id, 'branch')).sort((a, b) => a.at - b.at),
  ];
}

/** Stays the same object while tokens come. */
export function subjectOf(writing: WritingController) {
  const id = computed(() => writing.written.value?.id ?? null);
  const by = computed(() => writing.written.value?.by ?? null);
  const own = computed(() => {
    const so = writing.written.value;
    return so !== null && writing.isByModel(so);
  });
  return computed((): Subject | null => {
    const all = writing.texts.value.texts;
    const growing = writing.writingNow.value;
    if (id.value === null) return null;
    const [name, isOwn] = [by.value?.name ?? null, own.value];
    return untracked(() => {
      const so = writing.written.peek();
      return so === null
        ? null
        : subject(writing, so, { growing, by: name, own: isOwn, related: relatedTo(so, all) });
    });
  });
}

function subject(
  writing: WritingController,
  { id, prompt, runs }: Written,
  how: Pick<Subject, 'growing' | 'by' | 'own' | 'related'>,
): Subject {
  const text = (): string => {
    const now = writing.written.peek();
    return now?.id === id ? now.text : '';
  };
  const before = (begun: number): string => prompt + text().slice(0, begun);
  return {
    id,
    ...how,
    log: writing.logOf({ id, runs }),
    keptAs: { conversation: null, id },
    text,
    before,
    element: () => document.getElementById('written'),
    encode: (by: Insight, begun) => encode(by, before(begun)),
    branch: (first, at, { id: token, text: chosen, logprob }, ids) => {
      const log = writing.logOf({ id, runs });
      const length = chosen.length;
      const branch = log.branch(first, at, { id: token, length, logprob });
      const all = [...ids, ...branch.runs.flatMap((run) => run.ids)];
      return writing.branch(branch.runs.at(-1)?.begun ?? 0, chosen, all, branch);
    },
    show: (other) => {
      writing.show(writing.texts.peek().texts.findIndex((one) => one.id === other));
    },
  };
}
