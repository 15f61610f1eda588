// The page's offers.
import { isKept, partOf } from './kept';
import { OfferController } from './offer-controller';
import { open, putAside, tell } from './state';

export type { Offer } from './offer-controller';

export const offers = new OfferController({
  open,
  putAside,
  tell,
  isKept,
  partOf,
});

export const { offer, address, openAddress, openFiles, close: closeOffer } = offers;
