import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { historyTexts } from '../history/texts';
import type { Summary } from '../history/library';
import { library } from '../history/state';
import { IconButton } from '../ui/icons';
import { focusSoon, isComposing } from '../ui/focus';
import { Menu, MenuItem } from '../ui/menu';
import { Question, useQuestion } from '../ui/question';
import { Item } from './item';
import { closeList, listOpen, listOver } from './open';
import { list } from './state';
import { listTexts } from './texts';

/** The conversations on this device, newest first, with what can be done with them. */
export function ConversationList() {
  const page = listTexts.value;
  // Where it lies over the page, the rest can't be reached (app.tsx), so the focus comes here.
  const covers = listOpen.value && listOver.value;
  useEffect(() => {
    if (covers) focusSoon('.list-new');
  }, [covers]);
  const undo = list.deleted.value !== null && <Deleted />;
  // The list may be closed while a conversation can still be taken back.
  if (!listOpen.value) return undo || null;
  return (
    <>
      {listOver.value && <div class="list-veil" onClick={closeList} />}
      <nav class="list" data-over={listOver} aria-label={page.conversations}>
        <div class="list-head">
          <h2>{page.conversations}</h2>
          <More />
          {listOver.value && <IconButton icon="close" label={page.fold} onClick={closeList} />}
        </div>
        <button type="button" class="secondary list-new" onClick={() => list.newConversation()}>
          {page.newConversation}
        </button>
        {undo}
        {(library.summaries.value.length > 0 || list.query.value !== '') && <Search />}
        {library.trouble.value !== null && (
          <p class="note" role="status">
            {historyTexts.value.problems[library.trouble.value]}
          </p>
        )}
        {list.refusal.value !== '' && (
          <p class="hint wrong" role="alert">
            {list.refusal}
          </p>
        )}
        {list.hits.value === null ? <All /> : <Found />}
      </nav>
    </>
  );
}

/** Says that a conversation was deleted, above the message's field, where it is seen with the list and without. */
function Deleted() {
  const page = listTexts.value;
  const notice = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    const top = document.querySelector('.talk-field')?.getBoundingClientRect().top;
    if (top !== undefined)
      notice.current?.style.setProperty('--field', `${window.innerHeight - top}px`);
  }, []);
  return (
    <p class="list-deleted" ref={notice}>
      {page.deleted}{' '}
      <button type="button" class="link" onClick={() => void list.takeBack()}>
        {page.undo}
      </button>
    </p>
  );
}

/** Enter opens the first hit. */
function Search() {
  const page = listTexts.value;
  return (
    <input
      id="search"
      type="search"
      aria-label={page.search}
      placeholder={page.search}
      autocomplete="off"
      value={list.query}
      onInput={(event) => void list.find(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || isComposing(event)) return;
        event.preventDefault();
        void list.openFirst();
      }}
    />
  );
}

/** What concerns all conversations. */
function More() {
  const page = listTexts.value;
  const { asking, ask, close } = useQuestion();
  const input = useRef<HTMLInputElement>(null);
  const n = library.summaries.value.length;
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        aria-hidden="true"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          event.currentTarget.value = '';
          if (file !== undefined) void list.importFile(file);
        }}
      />
      <Menu label={page.allMore}>
        <MenuItem onClick={() => input.current?.click()}>{page.importJson}</MenuItem>
        {n > 0 && <MenuItem onClick={() => void list.saveAll()}>{page.exportAll}</MenuItem>}
        {n > 0 && <MenuItem onClick={ask}>{page.removeAll}</MenuItem>}
      </Menu>
      {asking && (
        <Question
          text={page.removeAllQuestion(n)}
          yes={page.removeAll}
          no={page.keep}
          onYes={() => {
            close();
            void list.removeAll();
          }}
          onNo={() => {
            close();
            focusSoon('.list-head .menu button');
          }}
        />
      )}
    </>
  );
}

/** The days by which the list is divided. */
function groups(all: readonly Summary[]): [string, Summary[]][] {
  const page = listTexts.value;
  const midnight = new Date().setHours(0, 0, 0, 0);
  const day = 86_400_000;
  const names = [page.today, page.yesterday, page.week, page.older] as const;
  const since = [midnight, midnight - day, midnight - 6 * day, -Infinity];
  const divided: [string, Summary[]][] = names.map((name) => [name, []]);
  for (const one of all) divided[since.findIndex((from) => one.changed >= from)]?.[1].push(one);
  return divided.filter(([, some]) => some.length > 0);
}

/** So many more are drawn at once. */
const FEW = 20;

/** How many of a list are drawn now, of so many wanted: the others follow, and the page stays quick meanwhile. */
function useDrawn(wanted: number): number {
  const [limit, setLimit] = useState(FEW);
  useLayoutEffect(() => {
    if (limit > wanted + FEW) setLimit(wanted + FEW);
    if (limit >= wanted) return undefined;
    const timer = setTimeout(() => setLimit(limit + FEW));
    return () => clearTimeout(timer);
  }, [wanted, limit]);
  return Math.min(wanted, limit);
}

function All() {
  const all = library.summaries.value;
  const drawn = useDrawn(Math.min(all.length, list.most.value));
  if (all.length === 0) return <p class="note">{listTexts.value.none}</p>;
  return (
    <>
      {groups(all.slice(0, drawn)).map(([name, some]) => (
        <section key={name} aria-label={name}>
          <h3 class="label">{name}</h3>
          <ul>
            {some.map((one) => (
              <Item key={one.id} id={one.id} title={one.title} />
            ))}
          </ul>
        </section>
      ))}
      <Rest of={all.length} />
    </>
  );
}

/** The way to the conversations that are not drawn yet: each costs time whenever the list changes. */
function Rest({ of }: { of: number }) {
  if (of <= list.most.value) return null;
  return (
    <button type="button" class="secondary list-rest" onClick={() => list.showMore()}>
      {listTexts.value.showMore(of - list.most.value)}
    </button>
  );
}

function Found() {
  const found = list.hits.value ?? [];
  const drawn = useDrawn(Math.min(found.length, list.most.value));
  const page = listTexts.value;
  return (
    <div>
      <p class="label">{list.searching.value ? page.searching : page.found(found.length)}</p>
      <ul>
        {found.slice(0, drawn).map(({ summary: { id, title }, excerpt }) => (
          <Item key={id} id={id} title={title} excerpt={excerpt} />
        ))}
      </ul>
      <Rest of={found.length} />
    </div>
  );
}
