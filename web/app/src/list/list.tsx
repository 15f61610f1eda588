import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { historyTexts } from '../history/texts';
import { trouble, summaries, type Summary } from '../history/library';
import { IconButton } from '../page/icons';
import { focusSoon, isComposing } from '../page/focus';
import { Menu, MenuItem } from '../page/menu';
import { Question, useQuestion } from '../page/question';
import { Item } from './item';
import { closeList, listOpen, listOver } from './open';
import {
  deleted,
  find,
  hits,
  importFile,
  most,
  newConversation,
  openFirst,
  query,
  refusal,
  removeAll,
  saveAll,
  searching,
  showMore,
  takeBack,
} from './state';
import { listTexts } from './texts';

/** The conversations on this device, newest first, with what can be done with them. */
export function ConversationList() {
  const page = listTexts.value;
  // Where it lies over the page, the rest can't be reached (app.tsx), so the focus comes here.
  const covers = listOpen.value && listOver.value;
  useEffect(() => {
    if (covers) focusSoon('.list-new');
  }, [covers]);
  const undo = deleted.value !== null && <Deleted />;
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
        <button type="button" class="secondary list-new" onClick={newConversation}>
          {page.newConversation}
        </button>
        {undo}
        {(summaries.value.length > 0 || query.value !== '') && <Search />}
        {trouble.value !== null && (
          <p class="note" role="status">
            {historyTexts.value.problems[trouble.value]}
          </p>
        )}
        {refusal.value !== '' && (
          <p class="hint wrong" role="alert">
            {refusal}
          </p>
        )}
        {hits.value === null ? <All /> : <Found />}
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
      <button type="button" class="link" onClick={() => void takeBack()}>
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
      value={query}
      onInput={(event) => void find(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || isComposing(event)) return;
        event.preventDefault();
        void openFirst();
      }}
    />
  );
}

/** What concerns all conversations. */
function More() {
  const page = listTexts.value;
  const { asking, ask, close } = useQuestion();
  const input = useRef<HTMLInputElement>(null);
  const n = summaries.value.length;
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
          if (file !== undefined) void importFile(file);
        }}
      />
      <Menu label={page.allMore}>
        <MenuItem onClick={() => input.current?.click()}>{page.importJson}</MenuItem>
        {n > 0 && <MenuItem onClick={() => void saveAll()}>{page.exportAll}</MenuItem>}
        {n > 0 && <MenuItem onClick={ask}>{page.removeAll}</MenuItem>}
      </Menu>
      {asking && (
        <Question
          text={page.removeAllQuestion(n)}
          yes={page.removeAll}
          no={page.keep}
          onYes={() => {
            close();
            void removeAll();
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
  const all = summaries.value;
  const drawn = useDrawn(Math.min(all.length, most.value));
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
  if (of <= most.value) return null;
  return (
    <button type="button" class="secondary list-rest" onClick={showMore}>
      {listTexts.value.showMore(of - most.value)}
    </button>
  );
}

function Found() {
  const found = hits.value ?? [];
  const drawn = useDrawn(Math.min(found.length, most.value));
  const page = listTexts.value;
  return (
    <div>
      <p class="label">{searching.value ? page.searching : page.found(found.length)}</p>
      <ul>
        {found.slice(0, drawn).map(({ summary: { id, title }, excerpt }) => (
          <Item key={id} id={id} title={title} excerpt={excerpt} />
        ))}
      </ul>
      <Rest of={found.length} />
    </div>
  );
}
