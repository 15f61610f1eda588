// The public types of what is told while a model loads and while a prompt is computed.

/** 'server': it asks to wait, or can't serve now; 'network': the connection is broken; 'tab': another tab downloads the model. */
export type WaitingFor = 'server' | 'network' | 'tab';

export interface LoadProgress {
  /**
   * 'header' until the header is read, then 'download' (network) or 'load' (local), 'verify' while a sha256 is computed after
   * the last byte, at last 'ready'. A download may continue after Engine.ready, until Engine.arrived: under a `memoryBudget`,
   * and if there is a table of which single rows are enough.
   */
  phase: 'header' | 'download' | 'load' | 'verify' | 'ready';
  /** Bytes of the model that have arrived; after Engine.ready, those that are cached. */
  loaded: number;
  /** Bytes of the whole file, but for a table of which only rows are read (a download brings it, too); 0 if unknown. */
  total: number;
  /** Of the last few seconds. */
  bytesPerSecond: number;
  /** 'cache': no byte was needed from the network so far. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes that were read from the cache. */
  cachedBytes: number;
  /** What the download waits for, in words; '' while it doesn't wait. */
  waiting: string;
  /** The same as a code; null while it doesn't wait. */
  waitingFor: WaitingFor | null;
  layersReady: number;
  /** 0 until the header is read. */
  layersTotal: number;
}

/** How far a prompt is computed. */
export interface PromptProgress {
  /**
   * Tokens, those that were reused included. All tokens are computed together, layer by layer: so this is the share of the work
   * that is done, times the number of tokens. It never falls.
   */
  computed: number;
  /** Tokens of the prompt. */
  total: number;
  /** Of these, the ones whose state the session had already. */
  reused: number;
  /** @deprecated The same as `reused`; goes with the next version. */
  cached: number;
  /** At the rate so far; null until that is known. */
  secondsLeft: number | null;
  /** It waits for weights that have not arrived yet. */
  waiting: boolean;
}

/** A slot: weights that are loaded and evicted together. */
export interface SlotView {
  /** 'embedding': its small tensors, and its table, unless that has its own slot, 'table'. The head may have several slots. */
  kind: 'embedding' | 'layer' | 'head' | 'table';
  /** Bytes in the file, and how many of these have arrived since the slot last began to load. */
  bytes: number;
  arrived: number;
  state: 'absent' | 'arriving' | 'resident' | 'computing';
  /** It is streamed: it shares its memory with other slots, and is read again for each pass. */
  reread: boolean;
  /** @deprecated The same as `reread`; goes with the next version. */
  streamed: boolean;
  /** How often it became resident; of a layer with experts the mean over its bytes. */
  fills: number;
}

/** The state of a model's weights. */
export interface WeightsView {
  /** In the order of execution. */
  slots: SlotView[];
  /** The rate at which weights arrive, from network or disk, over about the last second. */
  bytesPerSecond: number;
  /** The source that they are read from now. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes of streamed weights that were read again since the model was loaded. */
  rereadBytes: number;
  /** @deprecated The same as `rereadBytes`; goes with the next version. */
  streamedBytes: number;
  /** The milliseconds for which the last run has waited for weights. */
  waitedMs: number;
}
