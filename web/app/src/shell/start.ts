// The page's address: what reads it and keeps it up to date.
import { lastChoice } from '../model/choice';
import { offers } from '../model/offer';
import { modelParts } from '../model/parts';
import { models } from '../model/state';
import { LinkController } from './link';

export const { start, ignored, closeIgnored } = new LinkController({
  page: window,
  base: document.baseURI,
  models,
  offers,
  lastChoice,
  fetchReturn: async () => (await modelParts.fetch()) !== null,
});
