// What is known of a file before it is downloaded.

/** A file to download. */
export interface FileSpec {
  /** The address that is fetched. */
  url: string;
  headers: [string, string][];
  /** Bytes; 0: unknown. */
  total: number;
  /** Lower case; '' if unknown. */
  sha256: string;
  /** The commit that the address names, or ''. */
  commit: string;
  names: string[];
  /** For a split model: the address of its first file (otherwise ''), the index of this file, and the number of files. */
  set: string;
  part: number;
  parts: number;
}
