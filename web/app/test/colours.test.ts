// The page's colours: those of the dark theme stand twice in base.css, and text has a contrast of 7:1 on what it stands on.
import fs from 'node:fs';
import { expect, it } from 'vitest';

const css = fs.readFileSync(new URL('../src/styles/base.css', import.meta.url), 'utf8');

/** The variables of the rules with this selector, in their order; `within`: the media query they are in, or ''. */
function rules(selector: string): Record<string, string>[] {
  const found: Record<string, string>[] = [];
  let at = css.indexOf(`${selector} {`);
  for (; at >= 0; at = css.indexOf(`${selector} {`, at + 1)) {
    const body = css.slice(css.indexOf('{', at) + 1, css.indexOf('}', at));
    const variables = [...body.matchAll(/(--[\w-]+):\s*([^;]+);/g)];
    if (variables.length > 0)
      found.push(Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value])));
  }
  return found;
}

const [light = {}, lightMore = {}] = rules(':root');
const [dark = {}, darkMore = {}] = rules(":root:not([data-theme='light'])");

it('are the same dark ones by the device and by choice', () => {
  const colours = Object.keys(dark);
  expect(colours.length).toBeGreaterThan(10);
  expect(rules(":root[data-theme='dark']")).toEqual([dark, darkMore]);
  // A colour that only one of the two has would be the other theme's.
  for (const name of colours) expect(light, name).toHaveProperty(name);
});

/** The relative luminance of #rrggbb (WCAG 2). */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
    const share = parseInt(colour.slice(i, i + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

for (const [name, colours] of Object.entries({
  light,
  dark,
  'light, more contrast': { ...light, ...lightMore },
  'dark, more contrast': { ...dark, ...darkMore },
})) {
  it(`can be read: ${name}`, () => {
    const pairs = [
      ...['ink', 'soft', 'accent', 'accent-deep', 'wrong', 'string', 'number'].flatMap((text) =>
        ['paper', 'sheet', 'tint'].map((ground) => [text, ground]),
      ),
      ...[
        ['wet', 'sheet'],
        ['on-accent', 'accent'],
        ['on-accent', 'accent-deep'],
      ],
      ...[
        ['ink', 'wrong-tint'],
        ['wrong', 'wrong-tint'],
      ],
    ];
    for (const [text = '', ground = ''] of pairs) {
      const found = contrast(colours[`--${text}`] ?? '', colours[`--${ground}`] ?? '');
      expect(found, `${text} on ${ground}`).toBeGreaterThanOrEqual(7);
    }
  });
}
