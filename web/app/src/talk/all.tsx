import { announcement } from '../announce';
import { copy } from '../clipboard';
import { historyTexts } from '../history/texts';
import { toMarkdown } from '../history/transfer';
import { saveAs } from '../list/state';
import { Menu, MenuItem } from '../page/menu';
import { t } from '../texts';
import { conversation } from './state';

/** What can be done with the whole conversation. */
export function AllOfIt() {
  const { page, talk } = t.value;
  const copyAll = async (): Promise<void> => {
    const copied = await copy(toMarkdown(conversation.peek(), historyTexts.peek().markdown));
    announcement.value = copied ? t.peek().page.copied : t.peek().page.notCopied;
  };
  const save = (kind: 'json' | 'md') => () => void saveAs(conversation.peek().id, kind);
  return (
    <Menu label={talk.all}>
      <MenuItem onClick={() => void copyAll()}>{talk.copyAll}</MenuItem>
      <MenuItem onClick={save('md')}>{page.exportMarkdown}</MenuItem>
      <MenuItem onClick={save('json')}>{page.exportJson}</MenuItem>
    </Menu>
  );
}
