export { cache } from './cache.js';
export { Engine } from './engine.js';
export { SluiceError, type ErrorCode, type ErrorData } from './errors.js';
export { GENERATE_RULES, LOAD_RULES, type Rule, type RuleKind } from './option-table.js';
export type {
  CachedModel,
  CacheOptions,
  CacheRoom,
  DetokenizeOptions,
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
  ModelCache,
  ModelInfo,
  ModelSource,
  ProbeOptions,
  Prompt,
  Session,
  SourceOptions,
  TensorInfo,
  Token,
  TokenizeOptions,
  Verification,
  VerifyOptions,
} from './types.js';
