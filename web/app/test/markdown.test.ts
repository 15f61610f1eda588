// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { Drawing } from '../src/markdown/draw';
import { dry } from '../src/ui/wet';
import { ANSWER, cutUp, hostile, random } from './markdown-samples';

function draw(text: string): HTMLElement {
  const element = document.createElement('div');
  new Drawing(element).show(text, false);
  return element;
}

function html(text: string): string {
  return draw(text).innerHTML;
}

/** Lets the test runner have its say: it takes a test that runs too long without for dead. */
function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** What is there when all words have dried. */
function dried(element: HTMLElement): string {
  for (const span of element.querySelectorAll('.wet')) dry(span);
  return element.innerHTML;
}

function streamed(pieces: string[]): string {
  const element = document.createElement('div');
  const drawing = new Drawing(element);
  let text = '';
  for (const piece of pieces) {
    text += piece;
    drawing.show(text, true);
  }
  drawing.show(text, false);
  return dried(element);
}

describe('streaming', () => {
  it('ends with what drawing the whole text gives', async () => {
    const next = random(1);
    for (const longest of [2, 10, 100]) {
      await rest();
      expect(streamed(cutUp(ANSWER, next, longest))).toBe(html(ANSWER));
    }
    for (let i = 0; i < 80; i += 1) {
      await rest();
      const text = hostile(next, 40);
      expect(streamed(cutUp(text, next, i % 20 === 0 ? 1 : 12)), JSON.stringify(text)).toBe(
        html(text),
      );
    }
  });
});

/** Draws piece by piece and returns what is there while the text still grows. */
function growing(...pieces: string[]): HTMLElement {
  const element = document.createElement('div');
  const drawing = new Drawing(element);
  let text = '';
  for (const piece of pieces) drawing.show((text += piece), true);
  return element;
}

describe('a growing text', () => {
  it('keeps the nodes of what is there', () => {
    const element = document.createElement('div');
    const drawing = new Drawing(element);
    drawing.show('# Head\n\nSome *text*\n\n```js\nlet a;\n', true);
    const [head, text] = element.children;
    const em = element.querySelector('em');
    const code = element.querySelector('code')?.firstChild;
    drawing.show('# Head\n\nSome *text*\n\n```js\nlet a;\nlet b;\n```\n\nEnd', true);
    expect([...element.children].slice(0, 2)).toEqual([head, text]);
    expect(element.querySelector('em')).toBe(em);
    expect(element.querySelector('code')?.firstChild).toBe(code);
    expect(code?.textContent).toBe('let a;\nlet b;');
    drawing.show('Something else', true);
    expect(element.textContent).toBe('Something else');
  });

  it('adds to the one text node of long code', () => {
    const element = document.createElement('div');
    const drawing = new Drawing(element);
    let text = '```\n';
    drawing.show(text, true);
    const node = element.querySelector('code')?.firstChild;
    let writes = 0;
    const observer = new MutationObserver((records) => (writes += records.length));
    observer.observe(element, { childList: true, subtree: true });
    const lines = Array.from({ length: 2000 }, (_, i) => `line ${i}`);
    for (const line of lines) drawing.show((text += `${line}\n`), true);
    expect(element.querySelector('code')?.childNodes).toHaveLength(1);
    expect(element.querySelector('code')?.firstChild).toBe(node);
    expect(node?.textContent).toBe(lines.join('\n'));
    expect(observer.takeRecords().length + writes).toBe(0);
  });

  it('shows open marks as what they will be', () => {
    expect(dried(growing('Some **bo'))).toBe('<p dir="auto">Some <strong>bo</strong></p>');
    expect(dried(growing('Some **bold*'))).toBe('<p dir="auto">Some <strong>bold</strong></p>');
    expect(dried(growing('Some **'))).toBe('<p dir="auto">Some </p>');
    expect(dried(growing('A `co'))).toBe('<p dir="auto">A <code dir="auto">co</code></p>');
    expect(growing('A [link](http://exam').textContent).toBe('A link');
    expect(growing('A [link](http://exam').querySelector('a')?.hasAttribute('href')).toBe(false);
    expect(growing('See https://exam').querySelector('a')?.hasAttribute('href')).toBe(false);
    expect(growing('```js\nlet').querySelector('pre')?.textContent).toBe('let');
    expect(growing('```js\nlet\n``').querySelector('pre')?.textContent).toBe('let');
    expect(growing('| a | b |').querySelectorAll('th')).toHaveLength(2);
    expect(growing('Text\n-').querySelector('h4')).toBeNull();
    expect(growing('Text\n\n1').textContent).toBe('Text');
  });

  it('has new words wet, but none in code, and none that were shown', () => {
    const element = growing('One ', 'two ', '*three*');
    expect([...element.querySelectorAll('.wet')].map((span) => span.textContent)).toEqual([
      'One ',
      'two ',
      'three',
    ]);
    expect(growing('```\ncode').querySelector('.wet')).toBeNull();
    const dry = document.createElement('div');
    new Drawing(dry).show('One', true, false);
    expect(dry.querySelector('.wet')).toBeNull();
  });
});

describe('blocks', () => {
  it.each([
    ['# One\n###### Six #', '<h3 dir="auto">One</h3><h6 dir="auto">Six</h6>'],
    ['One\n===\nTwo\n---', '<h3 dir="auto">One</h3><h4 dir="auto">Two</h4>'],
    ['3. a\n4. b', '<ol dir="auto" start="3"><li><p>a</p></li><li><p>b</p></li></ol>'],
    ['- a\n\n  b\n- c', '<ul dir="auto"><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>'],
    ['- a\n+ b', '<ul dir="auto"><li><p>a</p></li></ul><ul dir="auto"><li><p>b</p></li></ul>'],
    ['> a\nb\n\nc', '<blockquote dir="auto"><p>a<br>b</p></blockquote><p dir="auto">c</p>'],
    ['a\n***\nb', '<p dir="auto">a</p><hr><p dir="auto">b</p>'],
    ['In 2024. \n2024. It', '<p dir="auto">In 2024.<br>2024. It</p>'],
    ['<b onclick=x>hi</b>', '<p dir="auto">&lt;b onclick=x&gt;hi&lt;/b&gt;</p>'],
    ['a  \nb\\\nc', '<p dir="auto">a<br>b<br>c</p>'],
    ['\\*a\\* &amp; &#42; &nope;', '<p dir="auto">*a* &amp; * &amp;nope;</p>'],
    [
      'a_b_c __d__ ***e***',
      '<p dir="auto">a_b_c <strong>d</strong> <em><strong>e</strong></em></p>',
    ],
    ['~~a~~ ~b~', '<p dir="auto"><del>a</del> ~b~</p>'],
    ['`` a`b `` `c', '<p dir="auto"><code dir="auto">a`b</code> `c</p>'],
  ])('%j', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it('keeps the text of code as it is', () => {
    const code = (text: string): string | null | undefined =>
      draw(text).querySelector('code')?.textContent;
    expect(code('```\n\ta  \n\n   b\n\n```')).toBe('\ta  \n\n   b\n');
    expect(code('1. x\n   ~~~\n   a\n     b\n   ~~~')).toBe('a\n  b');
    expect(code('    a\n\n      b\n\n\nend')).toBe('a\n\n  b');
    expect(code('````\n```\n````')).toBe('```');
  });

  it('makes tables, tasks and formulas', () => {
    const table = draw('| a | b |\n|:-:|--:|\n| `x` \\| y | 1<br>2 | 3 |\n| z');
    expect([...table.querySelectorAll('td')].map((cell) => cell.innerHTML)).toEqual([
      '<code dir="auto">x</code> | y',
      '1<br>2',
      'z',
    ]);
    expect(table.querySelector('[role="region"]')?.getAttribute('tabindex')).toBe('0');
    const tasks = draw('- [x] a\n- [ ] b').querySelectorAll('.task');
    expect([...tasks].map((task) => task.getAttribute('aria-label'))).toEqual(['Done', 'Not done']);
    const formulas = (text: string): (string | null)[] =>
      [...draw(text).querySelectorAll('.maths')].map((formula) => formula.textContent);
    expect(formulas('It costs $5 or $6, $x$5 and $ x$')).toEqual([]);
    expect(formulas('$x$, \\(y\\) $$z$$ \\[w\\]')).toEqual(['$x$', '\\(y\\)', '$$z$$', '\\[w\\]']);
    expect(formulas('$$\n- a\n= b\n$$')).toEqual(['$$\n- a\n= b\n$$']);
    expect(draw('$$\nno end\n\nmore').textContent).toBe('$$no endmore');
  });
});

describe('emphasis', () => {
  // Examples of CommonMark's section on emphasis.
  it.each([
    ['*foo**bar**baz*', '<em>foo<strong>bar</strong>baz</em>'],
    ['*foo**bar*', '<em>foo**bar</em>'],
    ['***foo** bar*', '<em><strong>foo</strong> bar</em>'],
    ['foo***bar***baz', 'foo<em><strong>bar</strong></em>baz'],
    ['*(*foo*)*', '<em>(<em>foo</em>)</em>'],
    ['**foo "*bar*" foo**', '<strong>foo "<em>bar</em>" foo</strong>'],
    ['**foo [bar](http://a.b)**', null],
    [
      'foo ******bar*********baz',
      'foo <strong><strong><strong>bar</strong></strong></strong>***baz',
    ],
    ['*foo _bar* baz_', '<em>foo _bar</em> baz_'],
    ['**foo*', '*<em>foo</em>'],
    ['_(bar)_.', '<em>(bar)</em>.'],
    ['* a *', null],
    ['a * foo bar*', 'a * foo bar*'],
  ])('%s', (text, expected) => {
    if (expected !== null) expect(html(text)).toBe(`<p dir="auto">${expected}</p>`);
    else expect(draw(text).textContent).toMatch(/^(?:foo bar|a \*)$/);
  });
});

describe('hostile text', () => {
  const ALLOWED =
    'A P H3 H4 H5 H6 UL OL LI BLOCKQUOTE HR BR EM STRONG DEL CODE PRE DIV SPAN BUTTON TABLE THEAD TBODY TR TH TD';
  const allowed = new Set(ALLOWED.split(' '));

  function check(element: HTMLElement, text: string): void {
    for (const node of element.querySelectorAll('*')) {
      expect(allowed.has(node.tagName), `${node.tagName} of ${text}`).toBe(true);
      for (const { name } of node.attributes) expect(name, text).not.toMatch(/^(?:on|style|src)/);
      if (!(node instanceof HTMLAnchorElement) || !node.hasAttribute('href')) continue;
      expect(node.href, text).toMatch(/^(?:https?:\/\/|mailto:)/);
      expect(node.rel).toBe('noopener noreferrer nofollow');
      expect(node.closest('a')?.parentElement?.closest('a') ?? null, text).toBeNull();
    }
  }

  it('makes only nodes that are allowed', async () => {
    const next = random(7);
    for (let i = 0; i < 100; i += 1) {
      await rest();
      const text = hostile(next, 80);
      check(draw(text), text);
      check(growing(...cutUp(text, next, 200)), text);
    }
  });

  it.each([
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt:alert(1))',
    '[a](java\tscript:alert(1))',
    '[a](<javascript:alert(1)>)',
    '[a](java&#115;cript:alert(1))',
    '[a](&#x6A;avascript:alert(1))',
    '[a](\\javascript:alert(1))',
    '[a](vbscript:x)',
    '[a](data:text/html,<script>alert(1)</script>)',
    '![a](data:image/svg+xml,x)',
    '[a](file:///etc/passwd)',
    '[a](//evil.example)',
    '[a](/path)',
    '<javascript:alert(1)>',
    '<data:text/html,x>',
  ])('does not link %s', (text) => {
    expect(draw(text).querySelector('a')).toBeNull();
  });

  it('shows where a link leads that says something else', () => {
    const host = (text: string): string | undefined => draw(text).querySelector('a')?.dataset.host;
    expect(host('[https://bank.example](https://evil.example/bank.example)')).toBe('evil.example');
    expect(host('[bank.example/login](http://evil.example)')).toBe('evil.example');
    expect(host('[www.bank.example](https://bank.example/a)')).toBeUndefined();
    expect(host('[a text](https://bank.example)')).toBeUndefined();
    expect(host('[a@bank.example](mailto:b@evil.example)')).toBe('b@evil.example');
    expect(host('<a@bank.example>')).toBeUndefined();
    const named = draw('[a](https://bank.example@evil.example/)').querySelector('a');
    expect(named?.href).toBe('https://evil.example/');
    expect(named?.title).toContain('evil.example');
    expect(draw('[a\u202eb](http://c.d)').textContent).toBe('a[U+202E]b');
    expect(draw('`a\u2066b`').textContent).toBe('a[U+2066]b');
  });

  it('fetches no pictures', () => {
    const image = draw('![a cat](http://cats.example/cat.png)').querySelector('a');
    expect([image?.textContent, image?.dataset.mark]).toEqual(['a cat', 'Image:']);
  });

  it.each([
    '> ',
    '- ',
    '1. ',
    '*a ',
    '**a ',
    '[',
    '![',
    '[a](',
    '`',
    '<',
    '*',
    '_',
    '$',
    '|',
    '\\(',
  ])('has limits for %j a thousand times and more', (part) => {
    for (const times of [1000, 20_000]) {
      const text = part.repeat(times);
      for (const element of [draw(text), draw(`${text}x`), growing(text)]) {
        let depth = 0;
        let deepest: Element | null = element;
        for (; deepest !== null; deepest = deepest.lastElementChild) depth += 1;
        expect(depth).toBeLessThan(60);
      }
    }
  });

  it('shows what is too much as plain text', async () => {
    await rest();
    const many = draw('a\n\n'.repeat(11_000));
    expect(many.children.length).toBeLessThan(10_100);
    expect(many.lastElementChild?.className).toBe('plain');
    const table = draw(`|${'a|'.repeat(60)}\n|${'-|'.repeat(60)}`);
    expect(table.querySelector('table')).toBeNull();
    const wide = draw(`|${'a|'.repeat(40)}\n|${'-|'.repeat(40)}\n${'|\n'.repeat(500)}`);
    expect(wide.querySelectorAll('td').length).toBeLessThan(1000);
  });
});
