/** The id of the x-ray's heading. */
export const TITLE = 'xray-title';

/** The focus goes to the heading: what had it goes away. */
export function toTitle(): void {
  document.getElementById(TITLE)?.focus({ preventScroll: true });
}
