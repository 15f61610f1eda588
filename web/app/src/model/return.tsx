// The model of the last visit comes back. Where it can't, the page says so and offers it: never silently another one.
import { addressFacts } from '@sluice/engine';
import { effect, signal, untracked } from '@preact/signals';
import { announcement } from '../ui/announce';
import { openFiles } from './offer';
import { focusSoon } from '../ui/focus';
import { plain } from '../texts/plain-text';
import { back as english } from '../texts/en/return';
import { inLanguage } from '../texts/language';
import { anotherTexts } from './another-texts';
import { lastChoice, rememberChoice, type Choice } from './choice';
import { copyOf, startCopies } from './copies';
import {
  canPick,
  filesOf,
  handlesOf,
  keepHandles,
  mayRead,
  pick,
  type FileHandle,
} from './handles';
import { isKept } from './kept';
import { nameOf } from './name';
import { BUNDLED, OWN, fileOf, fromAddress, oneModel, refOf } from './source';
import { loading, model, open, problem, seek, seekNoMore, sought, type Model } from './state';
import { modelsTexts } from './models-texts';

/**
 * 'removed': it is no more on this device. 'file': the page may not read it yet; 'refused': nor now; 'unknown': nor can it
 * find it; 'gone': it was moved. 'changed': it is not what it was; 'other': nor is what the reader has chosen.
 */
type Why = 'removed' | 'file' | 'refused' | 'unknown' | 'gone' | 'changed' | 'other';

interface Lost extends Choice {
  why: Why;
  handles: FileHandle[];
  /** What could be used instead. */
  files: File[];
}

/** The model that was used last, and can't be used without a press. */
const lost = signal<Lost | null>(null);
/** The next load is the page's own, and not the reader's. */
let ownLoad = true;

const back = inLanguage('back', english);
const words = (): typeof english => back.value;

/** The name of the file that it is about. */
function fileIn({ name, why, ref, files }: Lost): string {
  return plain((why === 'other' ? files[0]?.name : fileOf(ref)) ?? name);
}

function sentence(about: Lost): string {
  return words()[about.why](about.name, fileIn(about));
}

function lose(choice: Choice, why: Why, handles: FileHandle[] = [], files: File[] = []): void {
  const { name, ref } = choice;
  seekNoMore();
  ownLoad = false;
  lost.value = { name, ref, why, handles, files };
  announcement.value = sentence(lost.value);
}

/** Whether a model can be opened by what is remembered of it, without its server or a choice of the reader's. */
export async function isHere(ref: string): Promise<boolean> {
  if (ref === OWN) return true;
  if (fileOf(ref) === null) return isKept(ref);
  const handles = await handlesOf(ref);
  if (handles.length === 0) return (await copyOf(ref)).length > 0;
  // Where it may be read, it is known whether it is still the same.
  const files = (await mayRead(handles, false).catch(() => false)) ? await filesOf(handles) : [];
  const source = files === null ? null : oneModel(files);
  return files?.length === 0 || (source !== null && refOf(source) === ref);
}

/** Opens a model by what is remembered of it. */
export async function openByRef(choice: Choice): Promise<void> {
  const { ref } = choice;
  if (ref === OWN) return open(BUNDLED);
  if (fileOf(ref) === null) return open(fromAddress(ref));
  await openAgain(choice, await handlesOf(ref));
}

/** Opens a file again, within a press. */
async function openAgain(choice: Choice, handles: FileHandle[]): Promise<void> {
  if (handles.length === 0) {
    const copy = await copyOf(choice.ref);
    return copy.length > 0 ? openFiles(copy) : choose(choice);
  }
  if (!(await mayRead(handles, true).catch(() => false))) return lose(choice, 'refused', handles);
  const files = await filesOf(handles);
  if (files === null) lose(choice, 'gone', handles);
  else take(files, handles, choice, 'changed');
}

/** Opens files. If they are not those of the model that is expected, the reader is asked first. */
function take(files: File[], handles: FileHandle[], expected: Choice | null, or: Why): void {
  const source = oneModel(files);
  if (expected !== null && source !== null && refOf(source) !== expected.ref)
    lose(expected, or, handles, files);
  else openFiles(files, Promise.resolve(handles));
}

/** Lets the reader choose a file; `expected`: that of this model. */
export async function choose(expected: Choice | null = null): Promise<void> {
  if (canPick) {
    const handles = await pick();
    take((await filesOf(handles)) ?? [], handles, expected, 'other');
    return;
  }
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = '.gguf';
  input.multiple = true;
  input.onchange = () => take([...(input.files ?? [])], [], expected, 'other');
  input.click();
}

async function goBack(choice: Choice): Promise<void> {
  const { ref } = choice;
  const still = (): boolean => sought.peek() === choice;
  if (fileOf(ref) === null) {
    const whole = await isKept(ref);
    if (!still()) return;
    if (whole) await open(fromAddress(ref));
    else lose(choice, 'removed');
    return;
  }
  const handles = await handlesOf(ref);
  const readable = await mayRead(handles, false).catch(() => false);
  const files = readable ? await filesOf(handles) : null;
  const copy = handles.length === 0 ? await copyOf(ref) : [];
  if (!still()) return;
  if (copy.length > 0) openFiles(copy);
  else if (files !== null) take(files, handles, choice, 'changed');
  else lose(choice, handles.length === 0 ? 'unknown' : 'file', handles);
}

/** Remembers from now on which model is used, and its files. */
function keepChoice(): void {
  const known = lastChoice()?.ref ?? OWN;
  let back = false;
  let shown: Model | null = null;
  effect(() => {
    const [current, coming] = [model.value, loading.value];
    if (coming !== null) ({ back } = coming);
    if (current === null || coming !== null || current === shown) return;
    shown = current;
    const { source } = current;
    const ref = refOf(source);
    // Also one that is in use already: another tab may have chosen another one since.
    const chosen = !back && !(ownLoad && ref === known);
    ownLoad = false;
    rememberChoice({ name: nameOf(source, current.info), ref }, chosen);
    if (source.kind !== 'files') return;
    const names = new Set(source.files.map(({ name }) => name));
    void source.handles?.then((handles) =>
      keepHandles(
        ref,
        handles.filter((one) => one !== null && names.has(one.name)) as FileHandle[],
      ),
    );
  });
}

/** Opens what was used last, and remembers what is used from now on. */
export function startReturn(): void {
  keepChoice();
  startCopies();
  effect(() => {
    if (loading.value !== null) lost.value = null;
  });
  untracked(() => {
    const nothing = model.value === null && loading.value === null && problem.value === null;
    if (sought.value === null && nothing) {
      const last = lastChoice();
      if (last !== null && last.ref !== OWN) seek(last);
    }
    if (sought.value !== null) void goBack(sought.value);
  });
}

/** What the notice offers first: the button's words, and whether it certainly goes away; null: to choose a file. */
function offered(about: Lost): { label: string; goes: boolean; work(): void } | null {
  const { name, ref, why, handles, files } = about;
  const file = fileIn(about);
  switch (why) {
    case 'removed':
      return {
        label: words().again(addressFacts(ref).host),
        goes: true,
        work: () => void open(fromAddress(ref)),
      };
    case 'file':
    case 'refused':
      return {
        label: words().open(name),
        goes: false,
        work: () => void openAgain(about, handles),
      };
    case 'unknown':
      return { label: words().find(file), goes: false, work: () => void choose(about) };
    case 'changed':
    case 'other':
      return { label: words().use(file), goes: true, work: () => take(files, handles, null, why) };
    case 'gone':
      return null;
  }
}

/** Says that the model of the last visit is not there, and offers it. */
export function ReturnNotice() {
  const about = lost.value;
  if (about === null) return null;
  const { why } = about;
  const act = (work: () => void) => () => {
    // The buttons go away.
    focusSoon('#draft', '.composer textarea');
    work();
  };
  const first = offered(about);
  const chooses = why === 'refused' || why === 'gone' || why === 'changed' || why === 'other';
  const stays = model.value !== null;
  return (
    <section class="notice" aria-labelledby="return-title">
      <p id="return-title">{sentence(about)}</p>
      <div class="buttons">
        {first !== null && (
          <button
            type="button"
            class="secondary"
            onClick={first.goes ? act(first.work) : first.work}
          >
            {first.label}
          </button>
        )}
        {chooses && (
          <button type="button" class="secondary" onClick={() => void choose()}>
            {anotherTexts.value.choose}
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={act(() => {
            lost.value = null;
            if (!stays) void open(BUNDLED);
          })}
        >
          {stays ? modelsTexts.value.notices.no : words().own}
        </button>
      </div>
    </section>
  );
}
