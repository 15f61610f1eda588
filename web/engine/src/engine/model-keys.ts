// What a file's keys say of a model, for those who shouldn't have to know the keys.
import type { ModelInfo } from '../shared/types.js';

type Told = Pick<ModelInfo, 'purpose' | 'chatTemplate' | 'license'>;

/** A model of texts makes vectors as well, but good ones only if it was trained for that: then its file says how to pool them. */
function purposeOf({ makes, architecture, metadata }: ModelInfo): ModelInfo['purpose'] {
  if (makes.includes('masks')) return 'masks';
  const pools = Number(metadata[`${architecture}.pooling_type`] ?? 0) > 0;
  if (makes.includes('vectors') && (pools || !makes.includes('text'))) return 'vectors';
  return makes.includes('text') ? 'text' : null;
}

/** `info`: with what the model makes, and its metadata. */
export function toldByKeys(info: ModelInfo): Told {
  const { metadata } = info;
  const license = metadata['general.license'];
  return {
    purpose: purposeOf(info),
    chatTemplate: 'tokenizer.chat_template' in metadata,
    license: typeof license === 'string' && license !== '' ? license : null,
  };
}
