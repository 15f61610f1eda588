import { historyTexts } from '../history/texts';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Excerpt } from '../history/search';
import { MOST_TITLE } from '../history/tree';
import { focusSoon } from '../ui/focus';
import { Menu, MenuItem } from '../ui/menu';
import { Question, useQuestion } from '../ui/question';
import { list } from './state';
import { listTexts } from './texts';

interface Props {
  id: string;
  title: string;
  /** Where the words of a search were found. */
  excerpt?: Excerpt | null;
}

/** One conversation of the list. */
export function Item({ id, title, excerpt }: Props) {
  const page = listTexts.value;
  const renaming = useSignal(false);
  const { asking, ask, close } = useQuestion();
  const name = title === '' ? page.untitled : title;
  const rest = (): void => {
    renaming.value = false;
    close();
    focusSoon(`.item[data-id="${id}"] .item-open`);
  };
  if (renaming.value) return <Rename id={id} title={title} done={rest} />;
  return (
    <li class="item" data-id={id} data-shown={list.shownId.value === id}>
      <button
        type="button"
        class="item-open"
        aria-current={list.shownId.value === id ? 'true' : undefined}
        onClick={() => void list.openConversation(id)}
      >
        <span class="item-title" dir="auto">
          {name}
        </span>
        {excerpt != null && (
          <span class="item-excerpt" dir="auto">
            {excerpt.before}
            <mark>{excerpt.match}</mark>
            {excerpt.after}
          </span>
        )}
      </button>
      <Menu label={page.more(name)}>
        <MenuItem
          onClick={() => {
            renaming.value = true;
          }}
        >
          {page.rename}
        </MenuItem>
        <MenuItem onClick={() => void list.saveAs(id, 'md')}>
          {historyTexts.value.exportMarkdown}
        </MenuItem>
        <MenuItem onClick={() => void list.saveAs(id, 'json')}>
          {historyTexts.value.exportJson}
        </MenuItem>
        <MenuItem onClick={ask}>{page.remove}</MenuItem>
      </Menu>
      {asking && (
        <Question
          text={page.removeQuestion(name)}
          yes={page.remove}
          no={page.keep}
          onYes={() => void list.remove(id, name)}
          onNo={rest}
        />
      )}
    </li>
  );
}

function Rename({ id, title, done }: { id: string; title: string; done: () => void }) {
  const page = listTexts.value;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  return (
    <li class="item renaming">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const field = new FormData(event.currentTarget).get('title');
          void list.rename(id, typeof field === 'string' ? field : '');
          done();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.preventDefault();
          event.stopPropagation();
          done();
        }}
      >
        <input
          ref={input}
          name="title"
          type="text"
          aria-label={page.renameField}
          maxLength={MOST_TITLE}
          defaultValue={title}
        />
        <button type="submit" class="quiet">
          {page.save}
        </button>
      </form>
    </li>
  );
}
