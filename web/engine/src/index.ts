// The types of `await using`, for sites whose TypeScript setting `lib` lacks them.
/// <reference lib="esnext.disposable" preserve="true" />
export type {
  Answer,
  AnswerMessage,
  AnswerPart,
  AnswerRequest,
  AnswerStream,
  AnswerToken,
  Completion,
  ReasoningPart,
  TextEnd,
  TextPart,
  TextStream,
} from './shared/answer-types.js';
export { addressFacts, type AddressFacts } from './page/address-facts.js';
export { cache, listModels } from './page/cache.js';
export { foldParts } from './page/chat/parts.js';
export { createOpenAIFetch, type OpenAIEngine } from './page/chat/openai-fetch.js';
export type {
  ChatCompletion,
  ChatCompletionChoice,
  ChatCompletionChunk,
  ChatCompletionDelta,
  ChatCompletionMessage,
  ChatCompletionRequest,
  ChatCompletions,
  ChatCompletionStreamRequest,
  ChatCompletionWholeRequest,
  ChatLogprobs,
  ChatMessageParam,
  ChunkStream,
  CompletionRequest,
  Completions,
  CompletionStreamRequest,
  CompletionWholeRequest,
  ContentLogprob,
  FinishReason,
  RequestOptions,
  SamplingRequest,
  StreamOptions,
  TextChoice,
  TextCompletion,
  TextCompletionChunk,
  TextLogprobs,
  Timings,
  TokenLogprob,
  Usage,
} from './shared/chat-types.js';
export {
  configure,
  type Configuration,
  type FileUrl,
  type WasmFile,
  type WorkerFile,
} from './page/configure.js';
export { Engine } from './page/engine.js';
export { shardOf, type Shard } from './shared/shards.js';
export { memoryLimit } from './shared/budget.js';
export {
  SluiceError,
  fromErrorData,
  toErrorData,
  type ErrorCode,
  type ErrorData,
} from './shared/errors.js';
export type { DownloadReason, Facts, NotKeptReason } from './shared/facts.js';
export type {
  Attention,
  AttentionOptions,
  Choice,
  ChoiceCandidate,
  ChoiceOptions,
  ChoiceStep,
  HiddenStatesOptions,
  InsideCalls,
  Lens,
  LensCell,
  LensOptions,
  LensProgress,
  PiecesOptions,
  RawLogits,
  RawLogitsOptions,
  StatesAt,
  StatesOf,
  StatesProgress,
} from './shared/inside-types.js';
export { NOTE_CODES, type Audience, type Note, type NoteCode } from './shared/notes.js';
export { GENERATE_RULES, LOAD_RULES, type Rule, type RuleKind } from './shared/option-table.js';
export { states } from './page/state-store.js';
export type {
  Embeddings,
  Embedding,
  EmbeddingList,
  EmbeddingRequest,
  EmbedOptions,
  EmbedProgress,
  EmbedTexts,
  FilledMask,
  FillMaskOptions,
  Makes,
  Match,
  Pooling,
  SimilarOptions,
} from './shared/vector-types.js';
export { readAddress, type AddressProblem, type TypedAddress } from './page/typed-address.js';
export type {
  AsyncStream,
  ChatMessage,
  ChatPart,
  CountOptions,
  DetokenizeOptions,
  EngineStats,
  Finish,
  Flavour,
  GenerateOptions,
  KvType,
  LoadOptions,
  Logits,
  LogitsOptions,
  DecodeRate,
  MeasureOptions,
  MemoryOptions,
  MemoryPlan,
  MetadataValue,
  ModelInfo,
  ModelSampling,
  ModelSource,
  ProbeOptions,
  Prompt,
  RestoreOptions,
  SaveOptions,
  Session,
  SessionOptions,
  SourceOptions,
  TemplateOptions,
  TensorInfo,
  Token,
  TokenizeOptions,
} from './shared/types.js';
export type {
  LoadProgress,
  PromptProgress,
  SlotView,
  WaitingFor,
  WeightsView,
} from './shared/progress-types.js';
export type {
  CachedModel,
  CacheOptions,
  CacheRoom,
  KeptState,
  ListOptions,
  ModelCache,
  ModelFile,
  StateStore,
  Verification,
  VerifyOptions,
} from './shared/cache-types.js';
