// Measures the time from navigation to the first token of the built page's own model, and compares it with another
// checkout's page. In the writing view Write is pressed as soon as it is enabled; the page then waits for its model.
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Failure, ROOT } from '../../scripts/lib.mjs';
import { launch_profile } from './chromium.mjs';
import { median } from './figures.mjs';

/** Networks: the round trip in milliseconds, and downstream bytes per second. slow-4g is Lighthouse's "Slow 4G". */
export const NETWORKS = {
  localhost: null,
  'fast-4g': { rtt: 60, rate: 9e6 / 8 },
  'slow-4g': { rtt: 150, rate: 1.6e6 / 8 },
};

/**
 * A relay to `port` that delays every byte by half a round trip; all connections share one rate. The browser's own
 * throttling would leave out the workers.
 */
async function slow_relay(port, { rtt, rate }) {
  let free_at = 0;
  const sockets = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket.setNoDelay(true));
      socket.on('error', () => {});
      socket.on('close', () => (near.destroy(), far.destroy(), sockets.delete(socket)));
    }
    near.on('data', (bytes) => setTimeout(() => far.write(bytes), rtt / 2));
    far.on('data', (bytes) => {
      const now = performance.now();
      free_at = Math.max(free_at, now) + (bytes.length / rate) * 1000;
      // Read on only when these bytes have been sent, so that the connections share the rate.
      far.pause();
      setTimeout(() => far.resume(), free_at - now);
      setTimeout(() => near.write(bytes), free_at - now + rtt / 2);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${server.address().port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Runs in the page before its own scripts: presses Write when it is enabled, and keeps the time of the first word. */
function press_and_watch() {
  globalThis.first_token = new Promise((resolve) => {
    let pressed = false;
    const look = () => {
      const button = document.querySelector('.composer .primary');
      if (!pressed && button !== null && !button.disabled) {
        pressed = true;
        button.click();
      }
      const text = document.getElementById('written')?.textContent ?? '';
      if (text === '') return;
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      observer.disconnect();
      resolve({ first_token: performance.now(), first_paint: paint?.startTime ?? null });
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true, attributes: true });
  });
}

/** Navigates in a new page. The figures are milliseconds since the navigation began. */
async function visit(context, url, cpu) {
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    if (cpu > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: cpu });
    await page.addInitScript(press_and_watch);
    await page.goto(`${url}#view=write&length=8&seed=1`, { waitUntil: 'commit' });
    return await page.evaluate(() => globalThis.first_token);
  } finally {
    await page.close();
  }
}

/** One cold visit (a new profile with empty caches), then `warm` more. */
async function visits(url, { warm, cpu }) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-profile-'));
  const context = await launch_profile(profile);
  try {
    // Let the browser finish its own start.
    const blank = await context.newPage();
    await blank.goto('about:blank', { waitUntil: 'networkidle' });
    const cold = await visit(context, url, cpu);
    const later = [];
    for (let i = 0; i < warm; ++i) later.push(await visit(context, url, cpu));
    return { cold: [cold], warm: later };
  } finally {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
}

/** Serves a checkout's built page with that checkout's server, through a slow relay unless `network` is null. */
async function serve_page(checkout, network) {
  const dir = path.join(checkout, 'web/app/dist');
  if (!fs.existsSync(path.join(dir, 'index.html'))) {
    throw new Failure(`${checkout} has no built page: run node scripts/build.mjs web there`);
  }
  const { serve } = await import(pathToFileURL(path.join(checkout, 'scripts/serve.mjs')).href);
  const server = await serve({ port: 0, dir });
  if (network === null) return server;
  const relay = await slow_relay(server.port, network);
  return { url: relay.url, close: () => Promise.all([relay.close(), server.close()]) };
}

/**
 * Visits this checkout's page and, unless `against` is null, that checkout's page, in turn: `rounds` times cold, then
 * warm. Returns rows {side, visit: 'cold' | 'warm', first_token, first_paint: medians in ms, samples, ratio: to `against`}.
 */
export async function measure_first_token({ against, rounds, network, cpu }) {
  const sides = { this: ROOT, ...(against === null ? {} : { against }) };
  const found = {};
  const servers = {};
  try {
    for (const [side, dir] of Object.entries(sides)) {
      servers[side] = await serve_page(dir, NETWORKS[network]);
      found[side] = { cold: [], warm: [] };
    }
    for (let round = 0; round < rounds; ++round) {
      // Each side is first in every other round.
      const order = Object.keys(sides);
      if (round % 2 === 1) order.reverse();
      for (const side of order) {
        console.error(`round ${round + 1} of ${rounds}: ${side}, ${network}, CPU 1/${cpu}`);
        const { cold, warm } = await visits(servers[side].url, { warm: 1, cpu });
        found[side].cold.push(...cold);
        found[side].warm.push(...warm);
      }
    }
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.close()));
  }
  const rows = [];
  for (const [side, visited] of Object.entries(found)) {
    for (const [visit, samples] of Object.entries(visited)) {
      const first_token = median(samples.map((sample) => sample.first_token));
      const first_paint = median(samples.map((sample) => sample.first_paint));
      rows.push({ side, visit, first_token, first_paint, samples });
    }
  }
  for (const row of rows) {
    const other = rows.find(({ side, visit }) => side === 'against' && visit === row.visit);
    if (other !== undefined && row.side === 'this') row.ratio = row.first_token / other.first_token;
  }
  return { network, cpu, rounds, rows };
}
