// The page's headers: every server of it sends the same policy.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { resolveConfig } from 'vite';
import { expect, it } from 'vitest';
import { serve } from '../../../scripts/serve.mjs';

const POLICY = 'Content-Security-Policy';
const ISOLATION = ['Opener', 'Embedder', 'Resource'].map((of) => `Cross-Origin-${of}-Policy`);

/** What our own server sends with the page. */
async function served(isolation: boolean): Promise<Headers> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-headers-'));
  fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html>');
  const site = await serve({ dir, port: 0, isolation });
  try {
    return (await fetch(site.url)).headers;
  } finally {
    await site.close();
    fs.rmSync(dir, { recursive: true });
  }
}

it('are the same from our own server and from Vite', async () => {
  const root = path.join(import.meta.dirname, '..');
  const { server, preview } = await resolveConfig({ root }, 'serve');
  const [isolated, plain] = [await served(true), await served(false)];
  expect(isolated.get(POLICY)).toContain("script-src 'self' 'wasm-unsafe-eval'");
  expect(preview.headers[POLICY]).toBe(isolated.get(POLICY));
  expect(plain.get(POLICY)).toBe(isolated.get(POLICY));
  for (const name of ISOLATION) {
    expect(isolated.get(name), name).not.toBeNull();
    expect(preview.headers[name], name).toBe(isolated.get(name));
    expect(server.headers[name], name).toBe(isolated.get(name));
    expect(plain.get(name), name).toBeNull();
  }
});

it('leave no second policy in the page itself', () => {
  const page = fs.readFileSync(path.join(import.meta.dirname, '../index.html'), 'utf8');
  expect(page).not.toMatch(/http-equiv/i);
});
