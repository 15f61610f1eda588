// If a page, its policy or its server does something wrong with the library's own files, the error names the cause and
// says what to do.
import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { harness } from './library';
import { outcome, policy, serveOddly, type Answer, type Oddity } from './odd-site';

function only(name: string, change: (answer: Answer) => void): Oddity {
  return (pathname, answer) => {
    if (pathname.endsWith(name)) change(answer);
  };
}

const missing = (answer: Answer): void => {
  Object.assign(answer, { status: 404, body: Buffer.from('no'), headers: {} });
};
/** Some servers answer every unknown address with the application's page. */
const asPage = (answer: Answer): void => {
  answer.headers['Content-Type'] = 'text/html';
  answer.body = Buffer.from('<!doctype html><title>Application</title>');
};
const typed =
  (type: string) =>
  (answer: Answer): void => {
    answer.headers['Content-Type'] = type;
  };
const withoutCoep = (answer: Answer): void => {
  delete answer.headers['Cross-Origin-Embedder-Policy'];
};

const GLUE = 'relaxed-mt.mjs';
const WASM = 'relaxed-mt.wasm';
const COPY =
  "put the package's whole dist folder on the server, or all that your bundler has made, .*baseUrl.*";
const TRUSTED = "require-trusted-types-for 'script'";
/** The browser's own messages in the console. */
const SAID = [/Failed to load resource/, /Content.Security.Policy/i, /requires 'TrustedScriptURL'/];

type Case = [what: string, odd: Oddity, told: RegExp];

const POLICIES: Case[] = [
  [
    "a policy without 'wasm-unsafe-eval'",
    policy("script-src 'self'"),
    /^unsupported_environment: .*Security-Policy .* forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src$/,
  ],
  [
    'a policy against workers',
    policy("script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'"),
    /^unsupported_environment: this page's .*\(worker-src\) forbids .*-worker.js, .*; add 'self' to its worker-src$/,
  ],
  [
    "a policy against the workers' own threads",
    policy("worker-src 'none'", /engine-worker/),
    /^unsupported_environment: .* sent with the library's workers \(worker-src\) forbids .*sluice-relaxed-mt.mjs/,
  ],
  [
    "a policy against the workers' imports",
    policy("script-src 'none'", /engine-worker/),
    /^unsupported_environment: .*\(script-src\) forbids .*sluice-relaxed-mt.mjs, .*; add 'self' to its script-src$/,
  ],
  [
    'a policy against fetching the wasm',
    policy("connect-src 'none'", /harness|engine-worker/),
    /^unsupported_environment: .*\(connect-src\) forbids .*sluice-relaxed-mt.wasm, .*; add 'self' to its connect-src$/,
  ],
  [
    'a policy against fetching the model',
    policy("connect-src 'none'", /loader-worker/),
    /^download_failed: localhost:\d+ could not be read: .*\(connect-src\) forbids it; add 'self' to its connect-src$/,
  ],
  [
    'trusted types without a policy of this name',
    policy(`${TRUSTED}; trusted-types other`),
    /^unsupported_environment: this page's .* refuses the policy 'sluice', .*; add sluice to its trusted-types/,
  ],
  [
    "trusted types without a policy of this name, the workers'",
    policy(`${TRUSTED}; trusted-types other`, /engine-worker/),
    /^unsupported_environment: .* sent with the library's workers .* refuses the policy 'sluice'/,
  ],
];

const FILES: Case[] = [
  ...['engine-worker.js', 'loader-worker.js', GLUE, WASM].flatMap((name): Case[] => [
    [
      `${name} missing`,
      only(name, missing),
      new RegExp(
        `^download_failed 404: http://localhost:\\d+/.*${name}, .* answered 404; ${COPY}$`,
      ),
    ],
    [
      `a web page for ${name}`,
      only(name, asPage),
      new RegExp(
        `^download_failed: http://localhost:\\d+/.*${name}, .* came as text/html, where .*: ${COPY}$`,
      ),
    ],
  ]),
  ...['engine-worker.js', GLUE].map((name): Case => [
    `${name} as text/plain`,
    only(name, typed('text/plain')),
    new RegExp(`^download_failed: .*${name}, .* came as text/plain, .* send it as text/javascript`),
  ]),
  [
    'half the wasm',
    only(WASM, (answer) => {
      answer.body = answer.body.subarray(0, answer.body.length / 2);
    }),
    /^download_failed: .*relaxed-mt.wasm, .* is damaged \(.*\); put the package/,
  ],
  ...['engine-worker.js', 'loader-worker.js', GLUE].map((name): Case => [
    `${name} without the header that isolated pages want`,
    only(name, withoutCoep),
    new RegExp(
      `^download_failed: this page is cross-origin isolated, and .*${name}.* require-corp`,
    ),
  ]),
];

async function toldIn(page: Page, cases: Case[]): Promise<void> {
  const site = await serveOddly();
  for (const [what, odd, told] of cases) {
    site.odd = odd;
    await harness(page, site);
    expect.soft(await outcome(page, { threads: 2 }), what).toMatch(told);
  }
  await site.close();
}

test("a Content-Security-Policy is named, and the directive's change", async ({
  page,
  allowed,
}) => {
  allowed.push(...SAID);
  await toldIn(page, POLICIES);
});

test('a file of the library that is missing or served wrongly is named', async ({
  page,
  allowed,
}) => {
  allowed.push(...SAID);
  await toldIn(page, FILES);
});

test('trusted types are no hindrance, nor is wasm without its type', async ({ page }) => {
  const site = await serveOddly();
  const cases: [string, boolean, Oddity][] = [
    ['trusted types', true, policy(TRUSTED)],
    ['trusted types, not isolated', false, policy(TRUSTED)],
    ['trusted types that are listed', true, policy(`${TRUSTED}; trusted-types sluice`)],
    ['trusted types on the page alone', true, policy(TRUSTED, /harness/)],
    ['wasm of no type', true, only(WASM, typed('application/octet-stream'))],
  ];
  for (const [what, isolation, odd] of cases) {
    Object.assign(site, { odd, isolation });
    await harness(page, site);
    const worker = await page.evaluateHandle(() => window.Worker);
    for (let i = 0; i < 2; ++i) {
      const told = isolation ? /^3 tokens, relaxed-mt$/ : /^3 tokens, relaxed, One thread/;
      expect.soft(await outcome(page), what).toMatch(told);
    }
    expect(await worker.evaluate((before) => before === window.Worker)).toBe(true);
  }
  await site.close();
});
