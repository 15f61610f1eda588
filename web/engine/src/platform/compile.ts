// Compiles the wasm code on the page, while the engine worker starts.

/** Compiled code by its address. Compiled once only, because Chromium doesn't free all memory of compiled code. */
const compiled = new Map<string, WebAssembly.Module>();

/** The longest wait for the first frame, in milliseconds. */
const FRAME_MS = 300;

/**
 * Resolves when its first frame is drawn, so that on a slow connection the visible page loads before the code.
 * Resolves at once if something was drawn already, or if nothing will be: in a hidden tab, in a worker.
 */
async function firstFrame(): Promise<void> {
  if (globalThis.document?.visibilityState !== 'visible') return;
  if (performance.getEntriesByName('first-contentful-paint').length > 0) return;
  await new Promise<void>((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, FRAME_MS);
  });
}

/**
 * Compiles a flavour's code while its worker starts, once. Returns null if that fails; then the worker compiles
 * it and reports what is wrong.
 */
export async function compileEarly(url: string): Promise<WebAssembly.Module | null> {
  try {
    const known = compiled.get(url);
    if (known !== undefined) return known;
    await firstFrame();
    const code = await WebAssembly.compileStreaming(fetch(url));
    compiled.set(url, code);
    return code;
  } catch {
    return null;
  }
}
