// One file of a model, as a loader reads it.

export interface SourceFile {
  /** Bytes; 0 if unknown. Known after open(). */
  readonly total: number;
  /** `total` is certainly right. */
  readonly exact: boolean;
  readonly network: boolean;
  /** What messages call it. */
  readonly name: string;
  /** Its sha256 is known and is compared at the end of rest(); until then the engine must not be ready. */
  readonly unproven: boolean;
  /** How many bytes came. */
  readonly received: number;
  open(): Promise<void>;
  /** The next bytes of its header, from `at` on, at most `most`; null at the file's end. They are good until the next call. */
  head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Another file's header is read next. */
  pause(): void;
  /** Gives out all bytes after those of head(). */
  rest(): Promise<void>;
  /** Ends the reading. */
  close(): Promise<void>;
}
