// The memory that models take: whether a model can stay until another one is loaded.

const GIB = 1024 ** 3;
/** Assumed if the browser does not tell the device's memory. */
const USUAL_GIB = 4;

/**
 * Two models fit if together they take at most a quarter of the device's memory. `next`: the bytes of the new model;
 * `held`: the bytes of the old one; `deviceGib`: navigator.deviceMemory, if the browser has it.
 */
export function bothFit(next: number, held: number, deviceGib: number | undefined): boolean {
  return next + held <= ((deviceGib ?? USUAL_GIB) * GIB) / 4;
}
