// @vitest-environment happy-dom
// The map of what each layer would have said, and the arcs to what was looked at, as they are shown.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ArcsPart, ranges } from '../src/inside/arcs';
import { LensPart, led, strength } from '../src/inside/lens';
import type { OnDemand } from '../src/inside/on-demand';
import { FakeLayers, looking } from './fake-layers';

let root: HTMLElement;
beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
});
afterEach(() => {
  render(null, root);
  root.remove();
  vi.restoreAllMocks();
});

const find = (selector: string): HTMLElement => {
  const found = root.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`no ${selector}`);
  return found;
};
/** With plain spaces. */
const plain = (text: string | null | undefined): string => (text ?? '').replaceAll('\u00a0', ' ');
const all = (selector: string): string[] =>
  [...root.querySelectorAll(selector)].map(({ textContent }) => plain(textContent));
const button = (label: string): HTMLElement => {
  const found = [...root.querySelectorAll('button')].find((one) => one.textContent === label);
  if (found === undefined) throw new Error(`no button ${label}`);
  return found;
};
/** Presses the button, and waits until what it computes is there. */
const compute = (label: string, of: OnDemand<unknown>): Promise<void> =>
  act(async () => {
    button(label).click();
    await new Promise<void>((resolve) => {
      const end = effect(() => {
        if (of.progress.value === null) queueMicrotask(() => (end(), resolve()));
      });
    });
  });
const press = (key: string): Promise<void> =>
  act(() => {
    document.activeElement?.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
    );
  });

it('leads through a map by keys, and not out of it', () => {
  const at = { row: 1, column: 1 };
  const by = (key: string, ctrlKey = false): unknown => led({ key, ctrlKey }, at, 3, 4);
  expect(by('ArrowUp')).toEqual({ row: 0, column: 1 });
  expect(by('ArrowDown')).toEqual({ row: 2, column: 1 });
  expect(by('ArrowLeft')).toEqual({ row: 1, column: 0 });
  expect(by('ArrowRight')).toEqual({ row: 1, column: 2 });
  expect(by('Home')).toEqual({ row: 1, column: 0 });
  expect(by('End')).toEqual({ row: 1, column: 3 });
  expect(by('End', true)).toEqual({ row: 2, column: 3 });
  expect(by('PageUp')).toEqual({ row: 0, column: 1 });
  expect(by(' ')).toBeNull();
  expect(led({ key: 'ArrowRight', ctrlKey: false }, { row: 2, column: 3 }, 3, 4)).toEqual({
    row: 2,
    column: 3,
  });
});

it('colours a cell by the probability of its first token, or by its divergence', () => {
  const cell = {
    top: [[5, Math.log(0.25)]] as [number, number][],
    entropy: 1,
    divergence: Math.LN2,
  };
  expect(strength(cell, 'probability')).toBeCloseTo(0.25);
  expect(strength(cell, 'divergence')).toBe(1);
  expect(strength({ top: [], entropy: 0, divergence: -1e-9 }, 'divergence')).toBe(0);
  expect(strength({ top: [], entropy: 0, divergence: 0 }, 'probability')).toBe(0);
});

it('shows a map with a row for each layer and a column for each token; a cell tells its top three', async () => {
  const { of, needs } = looking(new FakeLayers(), 6);
  needs.at.value = 2;
  await act(() => render(<LensPart of={of} />, root));
  await compute('Compute the map', of.lens);
  expect(all('thead th')).toEqual(['Layer', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8']);
  expect(all('tbody th')).toEqual(['3', '2', '1']);
  expect(find('thead [aria-current="true"]').textContent).toBe('w5');
  // The last layer says what came.
  expect(all('tbody tr:first-child td').map((text) => text.trim())).toEqual(
    all('thead th').slice(1),
  );
  expect(plain(find('td[tabindex="0"]').getAttribute('aria-label'))).toBe('“w5”, 90.0 %');
  expect(all('.lens-told li')).toEqual(['w5 90.0 %', 'w6 5.0 %', 'w7 1.0 %']);
  expect(find('.lens-told .label').textContent).toBe('Layer 3, before “w5”');
  // There is nothing more to compute, until another token is looked at.
  expect(root.querySelectorAll('.demand button')).toHaveLength(0);

  find('td[tabindex="0"]').focus();
  await press('ArrowDown');
  await press('ArrowRight');
  expect(document.activeElement?.textContent).toBe('w155');
  expect(find('.lens-told .label').textContent).toBe('Layer 2, before “w6”');
  expect(root.querySelectorAll('td[tabindex="0"]')).toHaveLength(1);
  await act(() => (document.activeElement as HTMLElement).click());
  expect(needs.at.value).toBe(3);

  const cell = find('tbody tr:first-child td');
  expect(cell.style.getPropertyValue('--strength')).toBe('0.900');
  const select = find('select') as HTMLSelectElement;
  await act(() => {
    select.value = 'divergence';
    select.dispatchEvent(new Event('change', { bubbles: true }));
  });
  expect(find('tbody tr:first-child td').style.getPropertyValue('--strength')).toBe('0.000');
});

it('the focus stays with what is computed: on stop, and then on a cell or a word', async () => {
  const fake = new FakeLayers();
  fake.holds = true;
  const { of, needs } = looking(fake, 6);
  needs.at.value = 2;
  await act(() =>
    render(
      <>
        <LensPart of={of} />
        <ArcsPart of={of} layers={3} />
      </>,
      root,
    ),
  );
  const focused = (): Element | null => document.activeElement;
  button('Compute the map').focus();
  await act(() => button('Compute the map').click());
  expect(focused()?.textContent).toBe('Stop');
  await act(() => button('Stop').click());
  expect(focused()?.textContent).toBe('Compute the map');
  for (const [label, selector] of [
    ['Compute the map', 'td[tabindex="0"]'],
    ['Compute the attention', '.arcs li[tabindex="0"]'],
  ] as const) {
    button(label).focus();
    await act(() => button(label).click());
    await act(async () => {
      fake.go?.();
      await new Promise((resolve) => setTimeout(resolve));
    });
    expect(focused()).toBe(find(selector));
  }
  // Who has gone elsewhere meanwhile stays there.
  await act(() => {
    needs.at.value = 3;
  });
  button('Compute it for this token').focus();
  await act(() => button('Compute it for this token').click());
  find('td[tabindex="0"]').focus();
  await act(async () => {
    fake.go?.();
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(focused()).toBe(find('td[tabindex="0"]'));
});

it('says how far the map is, and is stopped', async () => {
  const fake = new FakeLayers();
  fake.holds = true;
  const { of } = looking(fake, 6);
  await act(() => render(<LensPart of={of} />, root));
  await act(() => button('Compute the map').click());
  const progress = find('progress') as HTMLProgressElement;
  expect([progress.getAttribute('max'), progress.getAttribute('value')]).toEqual(['4', '1']);
  await act(() => button('Stop').click());
  expect(button('Compute the map')).toBeTruthy();
});

it('waits while the model writes, and says so', async () => {
  const { of, needs } = looking(new FakeLayers(), 6);
  needs.busy.value = true;
  await act(() => render(<LensPart of={of} />, root));
  expect((button('Compute the map') as HTMLButtonElement).disabled).toBe(true);
  expect(root.textContent).toContain('Not while the model is writing.');
});

it('shows what was looked at, by layer and head, and names it in a table', async () => {
  const { of, needs } = looking(new FakeLayers(3, [0, 2]), 6);
  needs.at.value = 2;
  await act(() => render(<ArcsPart of={of} layers={3} />, root));
  await compute('Compute the attention', of.looks);
  expect(find('.note').textContent).toMatch(/^Layer 2 does not attend/);
  expect(all('.arcs-box li')).toEqual(['w0', 'w1', 'w2', 'w3', 'w4']);
  // The last layer that attends, the mean of its heads: 2 and 3
  expect(all('tbody tr').map((row) => row.trim())).toEqual([
    '3: “w2”37.5 %',
    '4: “w3”37.5 %',
    '5: “w4”25.0 %',
  ]);
  const [layer, head] = [...root.querySelectorAll('select')];
  await act(() => {
    if (head === undefined) throw new Error('no head');
    head.value = '1';
    head.dispatchEvent(new Event('change', { bubbles: true }));
  });
  expect(all('tbody tr')[0]).toBe('4: “w3”75.0 %');
  find('.arcs-box li[tabindex="0"]').focus();
  expect(plain(document.activeElement?.getAttribute('aria-label'))).toBe('5: “w4”, 25.0 %');
  await press('ArrowLeft');
  expect(plain(document.activeElement?.getAttribute('aria-label'))).toBe('4: “w3”, 75.0 %');
  await press('ArrowDown');
  expect(layer?.value).toBe('0');
  expect(find('caption').textContent).toContain('Layer 1, Head 2');
  expect(plain(document.activeElement?.getAttribute('aria-label'))).toBe('4: “w3”, 0 %');
  await press('Home');
  expect(document.activeElement?.textContent).toBe('w0');
});

it('sums up the words of a long text that are not drawn', async () => {
  const { of, needs } = looking(new FakeLayers(), 100);
  needs.at.value = 97;
  await act(() => render(<ArcsPart of={of} layers={3} />, root));
  await compute('Compute the attention', of.looks);
  expect(root.querySelectorAll('.arcs-box li')).toHaveLength(61);
  expect(find('.arcs-box li').textContent).toBe('… 40 tokens before these');
  expect(plain(find('.arcs-box li').title)).toBe('75.0 %');
  expect(all('tbody tr')[0]).toBe('3: “w2”37.5 %');
});

it('says that the layers of a model do not attend', async () => {
  const { of } = looking(new FakeLayers(3, []), 6);
  await act(() => render(<ArcsPart of={of} layers={3} />, root));
  await compute('Compute the attention', of.looks);
  expect(find('.note').textContent).toMatch(/^The layers of this model do not attend/);
  expect(root.querySelector('.arcs-box')).toBeNull();
});

it('writes layers as people do', () => {
  expect(ranges([0, 1, 2, 4, 6, 7])).toBe('1–3, 5, 7–8');
  expect(ranges([])).toBe('');
});
