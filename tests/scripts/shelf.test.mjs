// The shelf's file is what its script writes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { SHELF_FILE, shelf_text } from '../../scripts/shelf.mjs';

const list = path.join(ROOT, '..', 'shared', 'reference', 'models.json');

it('models/shelf.json is up to date', { skip: !fs.existsSync(list) && `no ${list}` }, () => {
  assert.equal(fs.readFileSync(SHELF_FILE, 'utf8'), shelf_text(list));
});
