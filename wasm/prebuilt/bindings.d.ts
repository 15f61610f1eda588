// TypeScript bindings for emscripten-generated code.  Automatically generated at compile time.
interface WasmModule {
}

type EmbindString = ArrayBuffer|Uint8Array|Uint8ClampedArray|Int8Array|string;
export interface ClassHandle {
  isAliasOf(other: ClassHandle): boolean;
  delete(): void;
  deleteLater(): this;
  isDeleted(): boolean;
  // @ts-ignore - If targeting lower than ESNext, this symbol might not exist.
  [Symbol.dispose](): void;
  clone(): this;
}
export type Progress = {
  loaded: number,
  total: number,
  layersReady: number,
  layersTotal: number
};

export type PromptProgress = {
  computed: number,
  total: number,
  reused: number,
  secondsLeft: number,
  waiting: boolean
};

export interface Engine extends ClassHandle {
  open(_0: EmbindString, _1: any, _2: EmbindString): string;
  wants(_0: number): any;
  filled(_0: number, _1: number, _2: boolean): string;
  keepsPacked(_0: boolean): void;
  takePacked(): any;
  endOfFile(_0: number): string;
  hasLayout(): boolean;
  buildTokenizer(): string;
  files(): any;
  identify(): string;
  stopIdentifying(): void;
  hasTokenizer(): boolean;
  ready(): boolean;
  loaded(): boolean;
  rowWants(): any;
  rowsFilled(_0: number, _1: number): string;
  slots(): any;
  progress(): Progress;
  inspect(): string;
  notes(): string;
  detokenize(_0: any): string;
  stopWhen(_0: any): void;
  applyTemplate(_0: EmbindString, _1: EmbindString, _2: EmbindString, _3: boolean, _4: boolean, _5: number, _6: number): string;
  tokenBytes(_0: any): string;
  textPrefix(_0: boolean): string;
  textIds(_0: any, _1: number): any;
  mask(): number;
  tokenText(_0: number): string;
  stats(): string;
}

export interface Prompt extends ClassHandle {
  openChat(_0: EmbindString, _1: EmbindString, _2: EmbindString, _3: number, _4: number, _5: number, _6: number): string;
  openText(_0: EmbindString): string;
  openIds(_0: any): string;
  sharedWritten(_0: any): number;
  reusable(_0: Session): number;
}

export interface Session extends ClassHandle {
  startText(_0: EmbindString, _1: EmbindString): string;
  startIds(_0: any, _1: EmbindString): string;
  startReply(_0: Prompt, _1: EmbindString, _2: number): string;
  resume(_0: EmbindString): string;
  startLogits(_0: any, _1: number, _2: any): string;
  startVectors(_0: any, _1: any, _2: number): string;
  vectors(_0: number): any;
  startStates(_0: any, _1: any, _2: number, _3: number, _4: any): string;
  states(_0: number): any;
  startHidden(_0: any, _1: number, _2: number): string;
  hidden(): any;
  startHead(_0: any, _1: number): string;
  rawLogits(_0: number, _1: number): any;
  choice(_0: Engine, _1: any, _2: any, _3: number, _4: EmbindString, _5: number, _6: number): string;
  startAttention(_0: any): string;
  attentionLayers(): any;
  attention(): any;
  startLens(_0: Engine, _1: any, _2: any, _3: any, _4: number): string;
  lensDone(): number;
  lens(): any;
  step(): string;
  cancel(): void;
  running(): boolean;
  logits(_0: number, _1: number): string;
  stats(): string;
  promptProgress(): PromptProgress;
  clone(): Session | null;
  truncate(_0: number): void;
  tokens(): any;
  pieces(): number;
  pieceBytes(): number;
}

export interface SessionWriter extends ClassHandle {
  open(_0: Session): string;
  openPiece(_0: Session, _1: number): string;
  bytes(): number;
  next(_0: number, _1: number): number;
}

export interface SessionReader extends ClassHandle {
  push(_0: number, _1: number): string;
  finish(): string;
  take(): Session | null;
}

export interface Encoding extends ClassHandle {
  step(): boolean;
  take(): any;
}

export interface Header extends ClassHandle {
  position(): number;
  push(_0: number, _1: number): string;
  done(): boolean;
  endOfFile(): string;
  files(): any;
  inspect(_0: EmbindString, _1: number): string;
}

interface EmbindModule {
  Engine: {
    new(): Engine;
  };
  Prompt: {
    new(_0: Engine): Prompt;
  };
  Session: {
    new(_0: Engine): Session;
  };
  SessionWriter: {
    new(): SessionWriter;
  };
  SessionReader: {
    new(_0: Engine, _1: number, _2: Session | null): SessionReader;
  };
  Encoding: {
    new(_0: Engine, _1: EmbindString, _2: boolean): Encoding;
  };
  Header: {
    new(_0: any): Header;
  };
  allocate(_0: number): number;
  release(_0: number): void;
  packedLayout(): number;
  decodeRate(_0: boolean, _1: number): number;
}

export type MainModule = WasmModule & EmbindModule;
export default function MainModuleFactory (options?: unknown): Promise<MainModule>;
