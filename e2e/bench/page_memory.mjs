// What a page takes, for its measurements and tests.

/** The DOM's nodes and listeners, and the heap in bytes, after a collection. `cdp`: a session with Performance enabled. */
export async function counts(cdp) {
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? NaN;
  return { nodes: of('Nodes'), listeners: of('JSEventListeners'), heap: of('JSHeapUsedSize') };
}
