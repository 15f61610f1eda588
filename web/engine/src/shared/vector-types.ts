// The public types of embeddings, of search and of masked words.
import type { RequestOptions } from './chat-types.js';

/** How the rows of a text's tokens become one vector: their mean, the first token's row, or the last one's. */
export type Pooling = 'mean' | 'cls' | 'last';

/** What a model can make: text, vectors of texts, the words behind masks. */
export type Makes = 'text' | 'vectors' | 'masks';

/**
 * A text, or a list of texts. In place of a text there may be token ids: they are taken as they are, the special tokens around
 * a text included, and get no prefix.
 */
export type EmbedTexts = string | readonly (string | readonly number[])[];

/** How far texts are computed. */
export interface EmbedProgress {
  /** Texts whose vectors are done. */
  done: number;
  /** All texts. */
  total: number;
  /** Tokens computed so far. */
  tokens: number;
}

interface CommonOptions {
  /** Default: what the file says (`info.pooling`). */
  pooling?: Pooling | undefined;
  /** Cuts the vectors to so many numbers. Only of use with a model that was trained for it. Default: all (`info.dimensions`). */
  dimensions?: number | undefined;
  /** Cuts texts that are longer than the context. Without it they fail with `context_full`. */
  truncate?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and at the end. */
  onProgress?: ((progress: EmbedProgress) => void) | undefined;
}

export interface EmbedOptions extends CommonOptions {
  /** Whether each vector is divided by its length, after it is cut. Default: true. */
  normalize?: boolean | undefined;
  /** What the texts are, in a search: puts before each what the model was trained with. Default: nothing is put before them. */
  kind?: 'query' | 'document' | undefined;
  /** A text of your own to put before each, in place of that of `kind`. */
  prefix?: string | undefined;
}

/** The vector of a text. */
export interface Embedding {
  /** In a buffer of its own. */
  embedding: Float32Array;
  /** Tokens of the text, with those that the model wants around it. */
  tokens: number;
}

export interface SimilarOptions extends CommonOptions {
  /** The most matches to return. Default: all. */
  top?: number | undefined;
}

/** How near a text is to the query. */
export interface Match {
  /** Its place in the list. */
  index: number;
  /** The cosine of the angle between the two vectors: from -1 to 1. */
  score: number;
  /** The text; absent if vectors were given. */
  text?: string;
}

export interface FillMaskOptions {
  /** How many of the likeliest tokens to return for each mask; 1 to 1000. Default: 5. */
  top?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What may stand at a mask. */
export interface FilledMask {
  /** Its place among the text's tokens, with those that the model wants around it. */
  position: number;
  /** The likeliest first. */
  top: { id: number; token: string; logprob: number }[];
}

/** A request to `engine.embeddings.create`. Null and undefined stand for the default. */
export interface EmbeddingRequest {
  /** 1 to 2048 texts, none of them empty, or token ids in place of a text. */
  input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** 'base64': the bytes of 32-bit floats, little-endian. Default: 'float'. */
  encoding_format?: 'float' | 'base64' | null | undefined;
  /** Cuts the vectors to so many numbers, and divides them by their length again. */
  dimensions?: number | null | undefined;
  /** Ignored: an engine has one model. */
  model?: string | null | undefined;
  /** Ignored. */
  user?: string | null | undefined;
  /** Ends the request, also while it waits. */
  signal?: AbortSignal | null | undefined;
}

export interface EmbeddingList<Vector = number[]> {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: Vector }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

/** `engine.embeddings`. */
export interface Embeddings {
  /** Vectors of texts, normalized. `invalid_argument` for a field that is wrong or not supported; `context_full`. */
  create(
    body: EmbeddingRequest & { encoding_format: 'base64' },
    options?: RequestOptions | null,
  ): Promise<EmbeddingList<string>>;
  create(
    body: EmbeddingRequest & { encoding_format?: 'float' | null | undefined },
    options?: RequestOptions | null,
  ): Promise<EmbeddingList>;
  create(
    body: EmbeddingRequest,
    options?: RequestOptions | null,
  ): Promise<EmbeddingList<number[] | string>>;
}
