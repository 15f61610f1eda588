// The cache entry of one file: its cached blocks, writing those that arrive, and verifying its sha256.
import { SluiceError } from '../shared/errors.js';
import { plainUrl } from '../shared/facts.js';
import { makeNote } from '../shared/notes.js';
import type { Refusal } from '../shared/protocol.js';
import type { BlockFile } from './store/block-file.js';
import type { BlockWriter } from './store/block-writer.js';
import type { Entry } from './store/entries.js';
import { makeSha256, type Sha256 } from './store/hashes.js';
import type { PackedCopy } from './store/packed-copy.js';
import type { Piece } from './net/connection.js';
import type { Report } from './report.js';
import type { FileSpec } from './net/file-spec.js';
import type { RemoteFacts, Net } from './net/remote.js';

export class Keeper {
  /** The cached file; null: nothing is cached. */
  file: BlockFile | null = null;
  /** The cached copy of the packed weights; null: there is none. */
  copy: PackedCopy | null = null;
  /** Set while another tab downloads the file. Resolves with a file to write when this tab takes over; null: at the end. */
  #turn: Promise<BlockFile | null> | null = null;
  /** Callbacks that wait for new blocks. */
  readonly #news = new Set<() => void>();
  readonly #writers = new Map<number, BlockWriter>();
  #sha: Sha256 | null = null;
  /** The sha256 covers the bytes before this offset. */
  #shaAt = 0;
  #hashing = false;
  /** The file size for which disk space was reserved; -1: none was. */
  #room = -1;
  /** Some bytes were received from the network in this load. */
  #fetched = false;
  /** The sha256 is verified, or there was none to compare. */
  #compared = false;
  /** An earlier load has cached some blocks. */
  #hadSome = false;
  /** All bytes were sent: only the sha256 is left to verify. */
  proving = false;
  /** Called when there are new blocks to read, or when another tab no longer downloads. */
  onnews: () => void = () => {};

  /** `how`: as for Download. */
  constructor(
    readonly spec: FileSpec,
    readonly net: Net,
    readonly report: Report,
    readonly how: { strict: boolean; probe: boolean },
  ) {}

  /**
   * Whether arriving bytes are cached. If not, another tab caches them, or nothing is missing. A file may be writable a little
   * before it knows the blocks of the other tab: this is false until it does.
   */
  get writes(): boolean {
    return this.file?.writable === true && !this.follows && !this.how.probe;
  }

  /** Another tab downloads the file. */
  get follows(): boolean {
    return this.#turn !== null;
  }

  /** Whether its sha256 is known and not verified yet. */
  get unproven(): boolean {
    const { sha256 } = this.spec;
    const meta = this.file?.meta;
    const verified = meta?.verified === true && meta.sha256 === sha256;
    return sha256 !== '' && !this.#compared && !verified;
  }

  /** Bytes must arrive in the file's order: the sha256 is being computed, and no cache has bytes to read later. */
  get needsOrder(): boolean {
    return this.#sha !== null && this.file === null;
  }

  async open(openEntry: (() => Promise<Entry>) | null): Promise<void> {
    const entry = await (openEntry?.() ?? null);
    if (entry === null) return;
    if (entry.kind === 'none') {
      const { why, reason } = entry;
      const text = `The model isn't kept on this device: ${why}.`;
      this.report.note(makeNote('model_not_kept', text, { reason }));
      return;
    }
    this.file = entry.file;
    if (entry.kind !== 'follower') return;
    this.#turn = entry.turn;
    entry.file.onblock = () => this.#tell();
    const done = (mine: BlockFile | null): void => {
      if (mine !== null && this.#turn !== null) this.file = mine;
      this.#turn = null;
      this.#tell();
    };
    entry.turn.then(done, () => done(null));
  }

  /** Starts to compute the sha256, if the expected one is known. */
  async beginHashing(): Promise<void> {
    if (this.unproven) this.#sha = await makeSha256();
  }

  #tell(): void {
    for (const hear of this.#news) hear();
    this.#news.clear();
    this.onnews();
  }

  /**
   * Follower: resolves when the other tab has written a block, or when this tab takes over. If no block arrives for as long as
   * broken connections are retried, it stops following.
   */
  async change(): Promise<void> {
    const { signal, patiences, onwaiting, onwaited } = this.net;
    signal.throwIfAborted();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heard!: () => void;
    await new Promise<void>((resolve) => {
      heard = resolve;
      timer = setTimeout(() => {
        this.#turn = null;
        resolve();
      }, patiences.stallTimeout + patiences.retryTimeout);
      this.#news.add(resolve);
      signal.addEventListener('abort', heard);
      onwaiting('another tab downloads this model, and this one follows it', 'tab');
    });
    clearTimeout(timer);
    signal.removeEventListener('abort', heard);
    this.#news.delete(heard);
    if (this.#turn === null) onwaited();
    signal.throwIfAborted();
  }

  factsKept(): RemoteFacts | null {
    const { file } = this;
    if (file === null || file.total === 0) return null;
    const { etag, lastModified } = file.meta;
    return { total: file.total, exact: true, etag, lastModified };
  }

  // --- keeping -------------------------------------------------------------------------------------

  /** Reserves disk space for the whole file, once it is known to be a model; again when its size is known. */
  async begin({ total, etag, lastModified }: RemoteFacts): Promise<void> {
    const { file } = this;
    if (file === null || !this.writes || this.#room === total) return;
    this.#room = total;
    const { sha256, commit } = this.spec;
    this.#hadSome ||= !this.#fetched && file.stored() > 0;
    try {
      await file.begin({ total, etag, lastModified, commit, sha256 });
      if (!this.#fetched) this.report.keeping();
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** Writing failed. If the disk is full, the load continues without caching, unless the caller requires it. */
  async #giveUp(error: unknown): Promise<void> {
    const { file } = this;
    this.#writers.clear();
    this.#closeCopy();
    this.file = null;
    const corrupt = error instanceof SluiceError && error.code === 'download_corrupt';
    // Blocks that are cached already may be of use when the disk has space.
    if (file !== null && !corrupt && file.missing() < file.blockCount) await file.close();
    else await file?.drop();
    const full = error instanceof SluiceError && error.code === 'storage_full';
    // Bytes may have arrived out of order: without the cache their sha256 can't be computed any more.
    const lost = this.#sha !== null && this.#fetched;
    if (!full || this.how.strict || lost) throw error;
    const text = `The model isn't kept on this device: ${error.message}.`;
    this.report.note(makeNote('model_not_kept', text, { ...error.facts, reason: 'storage_full' }));
  }

  /** Caches bytes from the network, except those that are cached already. */
  async keep(piece: Piece, facts: RemoteFacts): Promise<void> {
    const { at, bytes } = piece;
    this.report.fromNetwork(bytes.byteLength);
    await this.begin(facts);
    this.#fetched = true;
    if (this.needsOrder && at === this.#shaAt) {
      this.#sha?.update(bytes);
      this.#shaAt += bytes.byteLength;
    }
    const { file } = this;
    if (file === null || !this.writes) return;
    try {
      for (let done = 0; done < bytes.byteLength;)
        done += await this.#push(file, at + done, bytes.subarray(done));
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** Writes the bytes that belong to the block at `at`. Returns how many bytes were consumed. */
  async #push(file: BlockFile, at: number, bytes: Uint8Array): Promise<number> {
    const block = Math.floor(at / file.blockBytes);
    const begin = block * file.blockBytes;
    let writer = this.#writers.get(block);
    // If the server stops sending parts, two connections send the same block: a writer takes only the bytes at its own offset.
    if (writer === undefined || begin + writer.filled !== at) {
      const rest = Math.min(begin + file.blockBytes - at, bytes.byteLength);
      if (file.has(block) || at > begin) return rest;
      writer = file.block(block);
      this.#writers.set(block, writer);
    }
    const done = writer.push(bytes);
    if (writer.full) {
      this.#writers.delete(block);
      this.onnews();
      if (this.#shaAt === begin) await this.#catchUp();
    }
    return done;
  }

  /** The sha256 covers the bytes before this offset. */
  get hashedTo(): number {
    return this.#shaAt;
  }

  /** The offset of the first byte of a block that isn't written yet. */
  writtenTo(block: number): number {
    const begin = block * (this.file?.blockBytes ?? 0);
    return begin + (this.#writers.get(block)?.filled ?? 0);
  }

  // --- the sha256 ----------------------------------------------------------------------------------

  /** Continues the sha256 with the cached blocks that follow. */
  async #catchUp(): Promise<void> {
    const { file } = this;
    if (file === null || this.#sha === null || this.#hashing) return;
    this.#hashing = true;
    try {
      const buffer = new Uint8Array(file.blockBytes);
      for (;;) {
        const block = this.#shaAt / file.blockBytes;
        if (block >= file.blockCount || !file.has(block)) return;
        const bytes = buffer.subarray(0, file.sizeOf(block));
        if (!(await file.read(block, [bytes]))) return;
        this.net.signal.throwIfAborted();
        this.#sha.update(bytes);
        this.#shaAt += bytes.byteLength;
        if (!this.proving) continue;
        this.report.verified(this.#shaAt);
        // Lets messages in between, such as 'stop'.
        await new Promise((resolve) => setTimeout(resolve));
      }
    } finally {
      this.#hashing = false;
    }
  }

  /**
   * Verifies the sha256, if one is known. If it differs, the cached file is deleted, unless it was verified before: then the
   * caller's sha256 is wrong. False: a cached block is damaged and must be fetched again first. With `last`, that is an error.
   */
  async prove(total: number, last: boolean): Promise<boolean> {
    if (this.#sha === null) return this.#proved();
    this.proving = true;
    await this.#catchUp();
    if (this.#shaAt !== total && this.file?.complete === false && !last) return false;
    if (this.#shaAt !== total) {
      throw new SluiceError(
        'download_corrupt',
        `the file on this device could not be read to its end (${this.#shaAt} of ${total} bytes); load it again`,
      );
    }
    const { sha256, url } = this.spec;
    const found = this.#sha.hex();
    const facts = { url: plainUrl(url), expectedSha256: sha256, foundSha256: found };
    this.#sha = null;
    if (found === sha256) {
      await this.file?.note({ verified: true, sha256 });
      return this.#proved();
    }
    const meta = this.file?.meta;
    if (meta?.verified === true && meta.sha256 === found) {
      throw new SluiceError(
        'download_corrupt',
        `the file on this device has the sha256 ${found}, as it had when it was compared before; ${sha256} was expected. ` +
          'It stays; see whether the sha256 is right, or delete the file and load it again',
        { facts },
      );
    }
    await this.drop();
    throw new SluiceError(
      'download_corrupt',
      `the file has the sha256 ${found}; ${sha256} was expected: it was damaged on its way, or it is another file. ` +
        'What came of it was deleted; load it again, or see whether the sha256 is right',
      { facts },
    );
  }

  async #proved(): Promise<boolean> {
    await this.file?.finish();
    return (this.#compared = true);
  }

  // --- the packed copy -----------------------------------------------------------------------------

  /** Opens the packed copy of a file that is complete and verified. */
  async openCopy(layout: number): Promise<void> {
    const { file } = this;
    if (file === null || this.copy !== null || this.unproven || this.how.probe) return;
    const copy = await file.openCopy(layout);
    if (this.file === file && this.copy === null) this.copy = copy;
    else copy?.close();
  }

  #closeCopy(): void {
    this.copy?.close();
    this.copy = null;
  }

  // --- the end -------------------------------------------------------------------------------------

  /** The server named more bytes than the file has: it can't be kept as a whole one. */
  async forget(): Promise<void> {
    const why = 'the server named a wrong size';
    const text = `The model isn't kept on this device: ${why}.`;
    if (this.file !== null) this.report.note(makeNote('model_not_kept', text, { reason: 'size' }));
    await this.drop();
  }

  async drop(): Promise<void> {
    const { file } = this;
    this.#closeCopy();
    this.file = null;
    await file?.drop();
  }

  /** `refused`: a useless file is deleted; one that doesn't fit stays only if an earlier load has cached some of it. */
  async close(refused: Refusal): Promise<void> {
    const { file } = this;
    this.#closeCopy();
    this.file = null;
    const nothing = file?.total === 0 || (file?.writable === true && file.stored() === 0);
    const empty = nothing && !this.follows;
    const unwanted = refused === 'useless' || (refused === 'unfit' && !this.#hadSome);
    if (file !== null && (empty || (file.writable && unwanted && this.#fetched))) {
      await file.drop();
    } else {
      // Without waiting, the worker could end before the time of use is stored, and a model in use would be evicted early.
      await file?.noted;
      await file?.close();
    }
  }
}
