// Whether the model there is can stay until another one is loaded.

const GIB = 1024 ** 3;
/** What is assumed of a browser that doesn't name its device's memory. */
const USUAL_GIB = 4;

/**
 * Two models fit at once where together they take a quarter of the device's memory at most. `next`: bytes that the new
 * one will take; `held`: bytes that the old one has; `deviceGib`: navigator.deviceMemory, where there is one.
 */
export function bothFit(next: number, held: number, deviceGib: number | undefined): boolean {
  return next + held <= ((deviceGib ?? USUAL_GIB) * GIB) / 4;
}
