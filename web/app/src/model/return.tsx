// The model of the last visit comes back. Where it can't, the page says so and offers it: never silently another one.
import { effect, signal, untracked } from '@preact/signals';
import { announcement } from '../announce';
import { openFiles } from '../page/link';
import { focusSoon } from '../page/focus';
import { back as english } from '../texts/en/return';
import { inLanguage } from '../texts/language';
import { anotherTexts } from './another-texts';
import { lastChoice, rememberChoice, type Choice } from './choice';
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
import { BUNDLED, OWN, fromAddress, hostOf, refOf } from './source';
import { loading, model, modelName, open, problem, sought } from './state';

/** 'removed': it is no more on this device. 'file': the page may not read it yet; 'refused': nor now; 'gone': it was moved. */
type Why = 'removed' | 'file' | 'refused' | 'gone';

interface Lost extends Choice {
  why: Why;
  handles: FileHandle[];
}

/** The model that was used last, and can't be used without a press. */
const lost = signal<Lost | null>(null);

const back = inLanguage('back', english);
const words = (): typeof english => back.value;

function sentence({ name, why }: Lost): string {
  return words()[why](name);
}

function lose(choice: Choice, why: Why, handles: FileHandle[] = []): void {
  sought.value = null;
  lost.value = { ...choice, why, handles };
  announcement.value = sentence(lost.value);
}

const FILE = /^file:/;

/** Opens a model by what is remembered of it. */
export async function openByRef(choice: Choice): Promise<void> {
  if (choice.ref === OWN) return open(BUNDLED);
  if (!FILE.test(choice.ref)) return open(fromAddress(choice.ref));
  const handles = await handlesOf(choice.ref.replace(FILE, ''));
  await openFile({ ...choice, why: 'file', handles });
}

/** Opens a file again, within a press. */
async function openFile(file: Lost): Promise<void> {
  const { handles } = file;
  if (handles.length === 0 || file.why === 'gone') return choose();
  if (!(await mayRead(handles, true).catch(() => false))) return lose(file, 'refused', handles);
  const files = await filesOf(handles);
  if (files === null) return lose(file, 'gone', handles);
  openFiles(files, Promise.resolve(handles));
}

/** Lets the reader choose a file. */
export async function choose(): Promise<void> {
  if (canPick) {
    const handles = await pick();
    openFiles((await filesOf(handles)) ?? [], Promise.resolve(handles));
    return;
  }
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = '.gguf';
  input.multiple = true;
  input.onchange = () => openFiles([...(input.files ?? [])]);
  input.click();
}

async function goBack(choice: Choice): Promise<void> {
  const still = (): boolean => sought.peek() === choice;
  if (!FILE.test(choice.ref)) {
    const whole = await isKept(choice.ref);
    if (!still()) return;
    if (whole) await open(fromAddress(choice.ref));
    else lose(choice, 'removed');
    return;
  }
  const handles = await handlesOf(choice.ref.replace(FILE, ''));
  const files = (await mayRead(handles, false).catch(() => false)) ? await filesOf(handles) : null;
  if (!still()) return;
  if (files === null) lose(choice, 'file', handles);
  else openFiles(files, Promise.resolve(handles));
}

/** Remembers from now on which model is used, and its files. */
function keepChoice(): void {
  let known = lastChoice()?.ref ?? OWN;
  effect(() => {
    const current = model.value;
    if (current === null || loading.value !== null) return;
    const ref = refOf(current.source);
    rememberChoice({ name: modelName(current), ref }, ref !== known);
    known = ref;
    if (current.source.kind !== 'files') return;
    const names = new Set(current.source.files.map(({ name }) => name));
    void current.source.handles?.then((handles) =>
      keepHandles(handles.filter((one) => one !== null && names.has(one.name)) as FileHandle[]),
    );
  });
}

/** Opens what was used last, and remembers what is used from now on. */
export function startReturn(): void {
  keepChoice();
  effect(() => {
    if (loading.value !== null) lost.value = null;
  });
  untracked(() => {
    const nothing = model.value === null && loading.value === null && problem.value === null;
    if (sought.value === null && nothing) {
      const last = lastChoice();
      if (last !== null && last.ref !== OWN) sought.value = last;
    }
    if (sought.value !== null) void goBack(sought.value);
  });
}

/** Says that the model of the last visit is not there, and offers it. */
export function ReturnNotice() {
  const about = lost.value;
  if (about === null) return null;
  const { name, ref, why } = about;
  const file = FILE.test(ref);
  const act = (work: () => void) => () => {
    // The buttons go away.
    focusSoon('#draft', '.composer textarea');
    work();
  };
  return (
    <section class="notice" aria-labelledby="return-title">
      <p id="return-title">{sentence(about)}</p>
      <div class="buttons">
        <button
          type="button"
          class="secondary"
          onClick={file ? () => void openFile(about) : act(() => void open(fromAddress(ref)))}
        >
          {!file
            ? words().again(hostOf(ref))
            : why === 'gone'
              ? anotherTexts.value.choose
              : words().open(name)}
        </button>
        {why === 'refused' && (
          <button type="button" class="secondary" onClick={() => void choose()}>
            {anotherTexts.value.choose}
          </button>
        )}
        <button type="button" class="quiet" onClick={act(() => void open(BUNDLED))}>
          {words().own}
        </button>
      </div>
    </section>
  );
}
