export { Engine } from './engine.js';
export { SluiceError, type ErrorCode, type ErrorData } from './errors.js';
export { GENERATE_RULES, LOAD_RULES, type Rule, type RuleKind } from './option-table.js';
export type {
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
  ModelInfo,
  ModelSource,
  ProbeOptions,
  Prompt,
  Session,
  SourceOptions,
  TensorInfo,
  Token,
  TokenizeOptions,
} from './types.js';
