import { announcement } from '../ui/announce';
import { copy } from '../ui/clipboard';
import { historyTexts } from '../history/texts';
import { list } from './state';
import { Menu, MenuItem } from '../ui/menu';
import { t } from '../texts';
import { talk } from '../talk/state';
import { talkTexts } from '../talk/texts';

/** What can be done with the whole conversation. */
export function AllOfIt() {
  const words = talkTexts.value;
  const files = historyTexts.value;
  const copyAll = async (): Promise<void> => {
    const copied = await copy(list.asMarkdown(talk.conversation.peek()));
    announcement.value = copied ? t.peek().page.copied : t.peek().page.notCopied;
  };
  const save = (kind: 'json' | 'md') => () => void list.saveAs(talk.conversation.peek().id, kind);
  return (
    <Menu label={words.all}>
      <MenuItem onClick={() => void copyAll()}>{words.copyAll}</MenuItem>
      <MenuItem onClick={save('md')}>{files.exportMarkdown}</MenuItem>
      <MenuItem onClick={save('json')}>{files.exportJson}</MenuItem>
    </Menu>
  );
}
