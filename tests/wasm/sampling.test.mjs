// What a model's file recommends for sampling is the default of each option that a run isn't given, also in sessions that
// are cloned.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { kv, withMetadata } from '../cli/helpers.mjs';
import { events, load, NODE_FLAVOURS, open_module, parse } from './module.mjs';

const file = withMetadata('sampling.gguf', {
  'general.sampling.temp': kv.f32(0),
  'general.sampling.penalty_repeat': kv.f32(1.5),
  'general.sampling.top_k': kv.f32(0.5),
});

for (const flavour of NODE_FLAVOURS) {
  test(`${flavour}: begins with what the file recommends`, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(file));
    assert.deepEqual(JSON.parse(engine.inspect()).sampling, { temperature: 0, repeatPenalty: 1.5 });
    assert.deepEqual(
      JSON.parse(engine.notes()).map(({ code, facts }) => [code, facts]),
      [['sampling_value_unusable', { key: 'general.sampling.top_k', value: '0.5' }]],
    );
    const ids_of = (session, options) => {
      parse(session.startText('Once upon a time', JSON.stringify({ maxTokens: 12, ...options })));
      return events(session).flatMap(({ event, id }) => (event === 'token' ? [id] : []));
    };
    const usual = ids_of(engine.session, {});
    assert.deepEqual(ids_of(engine.session, { temperature: 0, repeatPenalty: 1.5 }), usual);
    assert.notDeepEqual(ids_of(engine.session, { repeatPenalty: 1 }), usual);
    assert.notDeepEqual(ids_of(engine.session, { temperature: 5, topP: 1, minP: 0 }), usual);
    const copy = engine.session.clone();
    assert.deepEqual(ids_of(copy, {}), usual);
    copy.delete();
    engine.delete();
  });
}
