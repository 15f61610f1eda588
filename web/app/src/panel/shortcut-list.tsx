import { t } from '../texts';
import { command } from '../ui/keys';
import { view, type View } from '../ui/view';
import { roomTexts } from './texts';

/** The keys that do something in the view that is open. */
export function ShortcutList() {
  const { shift, enter } = t.value.page.keys;
  const { keys } = roomTexts.value;
  const held = command();
  const xray: [string[], string][] = [
    [['X'], keys.xray],
    [['←', '→'], keys.steps],
    [[keys.space], keys.play],
  ];
  const ofViews: Record<View, [string[], string][]> = {
    talk: [[[enter], keys.send], [[shift, enter], keys.line], [['↑'], keys.edit], ...xray],
    write: [[[held, enter], keys.write], ...xray],
    find: [
      [[enter], keys.find],
      [['↑', '↓'], keys.hits],
    ],
  };
  const rows: [string[], string][] = [
    ...ofViews[view.value],
    [['Esc'], keys.stop],
    [['/'], keys.field],
    [[held, shift, 'O'], keys.new],
    [[held, 'K'], keys.search],
    [[held, 'M'], keys.model],
    [[held, ','], keys.settings],
    [['?'], keys.list],
  ];
  return (
    // On a small screen it is scrolled by keys.
    <dl class="shortcuts" tabIndex={0}>
      {rows.map(([names, what]) => (
        <div key={what}>
          <dt>
            {names.map((name) => (
              <kbd key={name}>{name}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
