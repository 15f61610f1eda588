export { Engine } from './engine.js';
export { SluiceError, type ErrorCode, type ErrorData } from './errors.js';
export type {
  EngineStats,
  Finish,
  Flavour,
  GenerateOptions,
  KvType,
  LoadOptions,
  LoadProgress,
  Logits,
  LogitsOptions,
  MemoryOptions,
  MemoryPlan,
  MetadataValue,
  ModelInfo,
  ModelSource,
  ProbeOptions,
  Prompt,
  SourceOptions,
  TensorInfo,
  Token,
  TokenizeOptions,
} from './types.js';
