// The sheet of models, and the model of the last visit. It comes with the other parts (later.ts), as a file of its own.
export { ReturnNotice, choose, isHere, openByRef, startReturn } from '../model/return';
export { Sheet } from '../model/sheet';
