// The table of options: a row that is wrong is named, with what is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check_table } from '../../scripts/options.mjs';

const ROW = {
  name: 'some',
  type: 'int32_t',
  least: 0,
  most: 9,
  default: 1,
  help: 'does something',
};
const complaint = (...rows) => {
  try {
    check_table({ generate: rows });
    return '';
  } catch (error) {
    return error.message;
  }
};

test('the table itself is right', () => check_table());

test('a row that is right passes', () => assert.equal(complaint(ROW), ''));

for (const [what, change, message] of [
  ['a name', { name: undefined }, /without a name: name must be/],
  ['help', { help: '' }, /generate, some: help is missing/],
  ['its limits', { most: undefined }, /some: least and most are missing/],
  ['a default within the limits', { default: 10 }, /default is not between/],
  ['a default', { default: undefined }, /default or otherwise is missing/],
  ['a known type', { type: 'int' }, /the type int is none of bool, .*int32_t/],
  ['its commands', { flags: '-s', value: 'N', group: 'Model' }, /has commands and a group/],
  ['choices and an alias', { type: 'choice', choices: ['a'], default: 'a' }, /and an alias/],
  ['a flag that is off', { type: 'bool', default: true }, /false by default/],
]) {
  test(`a row without ${what} is refused`, () =>
    assert.match(complaint({ ...ROW, ...change }), message));
}

test('a name that is there twice is refused', () => assert.match(complaint(ROW, ROW), /twice/));
