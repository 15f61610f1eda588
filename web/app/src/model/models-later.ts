// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { startList } from './kept-list';
export { learnFrom, startKnown } from './learn';
export { OfferNotice } from './offer-notice';
export { ProblemText } from './problem-text';
export { ReturnNotice, isHere, openByRef, startReturn } from './return';
export { Sheet } from './sheet';
export { startShelf } from './shelf';
