import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Excerpt } from '../history/search';
import { MOST_TITLE } from '../history/tree';
import { focusSoon } from '../page/focus';
import { Menu, MenuItem } from '../page/menu';
import { Question } from '../page/question';
import { openConversation, remove, rename, saveAs, shownId } from './state';
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
  const doing = useSignal<'nothing' | 'renaming' | 'asking'>('nothing');
  const name = title === '' ? page.untitled : title;
  const rest = (): void => {
    doing.value = 'nothing';
    focusSoon(`.item[data-id="${id}"] .item-open`);
  };
  if (doing.value === 'renaming') return <Rename id={id} title={title} done={rest} />;
  return (
    <li class="item" data-id={id} data-shown={shownId.value === id}>
      <button
        type="button"
        class="item-open"
        aria-current={shownId.value === id ? 'true' : undefined}
        onClick={() => void openConversation(id)}
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
            doing.value = 'renaming';
          }}
        >
          {page.rename}
        </MenuItem>
        <MenuItem onClick={() => void saveAs(id, 'md')}>{page.exportMarkdown}</MenuItem>
        <MenuItem onClick={() => void saveAs(id, 'json')}>{page.exportJson}</MenuItem>
        <MenuItem
          onClick={() => {
            doing.value = 'asking';
          }}
        >
          {page.remove}
        </MenuItem>
      </Menu>
      {doing.value === 'asking' && (
        <Question
          text={page.removeQuestion(name)}
          yes={page.remove}
          no={page.keep}
          onYes={() => void remove(id, name)}
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
          void rename(id, typeof field === 'string' ? field : '');
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
