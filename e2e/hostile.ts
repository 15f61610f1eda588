// Hostile texts, and a watch over a page that shows them: nothing of them may run, and nothing may be fetched for them.
import { expect, type Page } from '@playwright/test';

const HOST = 'evil.example';
const SITE = `https://${HOST}`;
/** What the texts try to run. */
const RUN = "globalThis.pwned=1;alert(1);fetch('https://evil.example/ran')";
const CODED = Buffer.from(`<script>${RUN}</script>`).toString('base64');

/** HTML and SVG that runs or fetches, if it becomes part of a page. */
export const MARKUP: readonly string[] = [
  `<script>${RUN}</script>`,
  `<SCRIPT SRC=${SITE}/x.js></SCRIPT>`,
  `"><script>${RUN}</script>`,
  `'"></textarea></title></style><script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<img src="${SITE}/pixel.png" srcset="${SITE}/pixel2.png 2x">`,
  `<img src="pixel.png">`,
  `<image href="${SITE}/image.png">`,
  `<svg onload="${RUN}"></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin="${RUN}" attributeName=x dur=1s></svg>`,
  `<svg><use href="data:image/svg+xml;base64,${CODED}#x"></use></svg>`,
  `<svg><foreignObject><iframe srcdoc="&lt;script&gt;${RUN}&lt;/script&gt;"></iframe></foreignObject></svg>`,
  `<math><mtext><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${RUN}&gt;">`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
  `<iframe src="${SITE}/frame"></iframe>`,
  `<object data="${SITE}/object"></object><embed src="${SITE}/embed">`,
  `<link rel=stylesheet href="${SITE}/x.css"><link rel=prefetch href="${SITE}/prefetch">`,
  `<style>@import url(${SITE}/y.css); body { display: none; background: url(${SITE}/b.png) }</style>`,
  `<div style="background:url(${SITE}/c.png);position:fixed;inset:0">over all</div>`,
  `<meta http-equiv=refresh content="0;url=${SITE}/refresh">`,
  `<base href="${SITE}/">`,
  `<form action="${SITE}/form"><input name=x autofocus onfocus="${RUN}"><button id=b>x</button></form>`,
  `<details open ontoggle="${RUN}"><summary>x</summary></details>`,
  `<video autoplay poster="${SITE}/poster.png"><source src="${SITE}/v.mp4" onerror="${RUN}"></video>`,
  `<audio src="${SITE}/a.mp3" autoplay onerror="${RUN}"></audio>`,
  `<a href="javascript:${RUN}" id=app name=body>a</a>`,
  `<template><script>${RUN}</script></template><noscript><img src=x onerror="${RUN}"></noscript>`,
  `<!--><img src=x onerror="${RUN}">--> <![CDATA[<script>${RUN}</script>]]> <?php ?>`,
  `&lt;script&gt;${RUN}&lt;/script&gt; &#60;img src=x onerror=${RUN}&#62;`,
];

/** Markdown that leads elsewhere than it says, or would fetch. */
export const MARKDOWN: readonly string[] = [
  ...[
    `javascript:${RUN}`,
    'JaVaScRiPt:alert(1)',
    'java&#x73;cript:alert(1)',
    '&#106;avascript&colon;alert(1)',
    'javascript&Tab;:alert(1)',
    'java\tscript:alert(1)',
    '<java\tscript:alert(1)>',
    '<\u0001javascript:alert(1)>',
    '<  javascript:alert(1)>',
    '%6aavascript:alert(1)',
    'javascript\\:alert(1)',
    'javascript%3aalert(1)',
    'vbscript:msgbox(1)',
    'VBSCRIPT&#58;msgbox(1)',
    `data:text/html;base64,${CODED}`,
    'data:text/html,<script>alert(1)</script>',
    'blob:https://evil.example/0',
    'filesystem:https://evil.example/0',
    'file:///etc/passwd',
    'view-source:https://evil.example',
    '//evil.example/relative',
    '/relative',
    '#relative',
    'https://good.example@evil.example/',
    'https://evil.example/" onmouseover="alert(1)',
    '<https://evil.example/" onmouseover="alert(1)>',
    'https://evil.example "title" onmouseover="alert(1)"',
  ].flatMap((to) => [`[a](${to})`, `![i](${to})`, `[![i](${to})](${to})`]),
  '<javascript:alert(1)>',
  '<data:text/html,x>',
  `[r]: javascript:${RUN}\n\n[r] [a][r] ![i][r]`,
  `![pixel](${SITE}/pixel.png "title") ![pixel](pixel.png)`,
  '[https://good.example](https://evil.example/misleads)',
  '[good.example\u202e](https://evil.example/\u202emoc.doog)',
  `\`\`\`"><img src=x onerror=${RUN}>\n</code></pre><script>${RUN}</script>\n\`\`\``,
  `$\\href{javascript:${RUN}}{x}$ and $\\url{javascript:alert(1)}$ and $\\includegraphics{${SITE}/m.png}$`,
  '$\\htmlData{onclick=alert(1)}{x}$ and $\\htmlStyle{background:url(https://evil.example/s)}{x}$',
  '$$\\def\\x{\\x\\x}\\x$$',
  `| <img src=x onerror=${RUN}> | [a](javascript:alert(1)) |\n|---|---|\n| <script>${RUN}</script> | ![i](${SITE}/t.png) |`,
];

/** Signs that turn text around, and halves of characters. */
export const SIGNS =
  'a\u202egnp.exe\u202c \u2066b\u2067c\u2069 \u200f\u061c \ud800 \udfff\ud800 \u0000\u0007\ufeff';

const deep = (mark: string, times: number): string => mark.repeat(times);

/** Nesting, width and length beyond what anybody writes. */
export const HUGE: readonly string[] = [
  `${deep('> ', 3000)}deep`,
  Array.from({ length: 400 }, (_, i) => `${deep('  ', i)}- deep`).join('\n'),
  `${deep('[', 5000)}a${deep('](b)', 5000)}`,
  `${deep('*a ', 5000)}`,
  `${deep('**_', 3000)}a${deep('_**', 3000)}`,
  `${deep('`', 3001)}a${deep('$', 3001)}`,
  `$${deep('{', 1500)}x${deep('}', 1500)}$`,
  `${deep('<div>', 5000)}`,
  [
    `|${deep('a|', 300)}`,
    `|${deep('-|', 300)}`,
    ...Array.from({ length: 200 }, () => `|${deep('b|', 300)}`),
  ].join('\n'),
  `|a|b|\n|-|-|\n${deep('|c|d|\n', 3000)}`,
];

/** A line of a megabyte. */
export const LINE = `<img src=x onerror=alert(1)> ${deep('x', (1 << 20) - 29)}`;

export interface Watch {
  /** What is fetched from now on has to be a file of the built page. `more`: addresses that may be fetched, too. */
  begin(more?: string[]): Promise<void>;
  /** Fails if anything of a hostile text has run, was fetched, or became an element that could. */
  expectNothing(): Promise<void>;
}

/** Watches a page. Has to be called before it is opened. */
export async function watch(page: Page, site: string): Promise<Watch> {
  const happened: string[] = [];
  const requests: string[] = [];
  let globals: string[] = [];
  let own: string[] = [];
  page.on('dialog', (dialog) => {
    happened.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('frameattached', () => happened.push('a frame'));
  page.on('framenavigated', (frame) => {
    const url = frame.url();
    if (!url.startsWith(site) && url !== 'about:blank') happened.push(`navigated to ${url}`);
  });
  page.context().on('page', (other) => happened.push(`another page: ${other.url()}`));
  page.context().on('request', (request) => requests.push(request.url()));
  await page.addInitScript(() => {
    const refused: string[] = [];
    Object.defineProperty(window, 'refused', { value: refused });
    document.addEventListener('securitypolicyviolation', (event) => {
      refused.push(`${event.effectiveDirective}: ${event.blockedURI}`);
    });
  });

  return {
    async begin(more = []) {
      own = more;
      requests.length = 0;
      globals = await page.evaluate(() => Object.getOwnPropertyNames(window));
    },
    async expectNothing() {
      const found = await page.evaluate(inspect);
      const fresh = found.globals.filter((name) => !globals.includes(name));
      // Browsers fetch the icon when they like.
      const allowed = [`${site}assets/`, `${site}icon.svg`, ...own];
      const strange = requests.filter((url) => !allowed.some((start) => url.startsWith(start)));
      expect({ happened, strange, fresh, refused: found.refused, bad: found.bad }).toEqual({
        happened: [],
        strange: [],
        fresh: [],
        refused: [],
        bad: [],
      });
    },
  };
}

/** Runs in the page: looks at every element, after all that was to be drawn is. */
async function inspect(): Promise<{ globals: string[]; refused: string[]; bad: string[] }> {
  for (let i = 0; i < 2; ++i) await new Promise((drawn) => requestAnimationFrame(drawn));
  const bad: string[] = [];
  const active = 'script, iframe, frame, object, embed, img, image, video, audio, source, style';
  const never = `${active}, link, meta, base, form[action], foreignObject, animate, use, template`;
  for (const element of document.body.querySelectorAll(never)) bad.push(element.outerHTML);
  for (const element of document.body.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on') || /^(?:src|srcset|srcdoc|action|formaction|poster)$/.test(name))
        bad.push(`${element.tagName} ${name}=${value}`);
    }
    if (!(element instanceof HTMLAnchorElement) || element.closest('footer') !== null) continue;
    const away = /^(?:https?|mailto):$/.test(element.protocol) && element.target === '_blank';
    const { username, rel, href } = element;
    if (!away || username !== '' || !/noopener/.test(rel) || href.startsWith(location.origin))
      bad.push(element.outerHTML);
  }
  const { refused } = window as unknown as { refused: string[] };
  return { globals: Object.getOwnPropertyNames(window), refused, bad: bad.slice(0, 20) };
}

/** Types a word into a field, key by key, and empties it again. */
export async function expectUsable(page: Page, field: string): Promise<void> {
  const place = page.locator(field);
  await place.fill('');
  await place.pressSequentially('word');
  await expect(place).toHaveValue('word');
  await place.fill('');
}
