// What the reader opens: addresses, files, and the model that a link names. offer.ts has the page's instance.
import { signal, type ReadonlySignal } from '@preact/signals';
import type { CachedModel, ModelInfo } from '@sluice/engine';
import { t } from '../texts';
import { ownFinding, type Failure } from './advice';
import { fromAddress, oneModel, parseModelAddress, type Handles, type Source } from './source';

/** A model that a link names. Nothing is fetched from its server before the reader agrees. */
export interface Offer {
  url: string;
  /** Whether the reader agreed that its header is fetched. */
  asked: boolean;
  info: ModelInfo | null;
  /** The page itself had put it into its address: first is looked what is here of it. */
  own: boolean;
  failure: Failure | null;
}

/** What is given to the controller. */
export interface Surroundings {
  /** Those of the model's controller. */
  open(source: Source): Promise<void>;
  putAside(source: Source): void;
  tell(failure: Failure, source: Source | null): void;
  /** What is kept on this device. */
  isKept(url: string): Promise<boolean>;
  partOf(url: string): Promise<CachedModel | null>;
}

/** Fetches a model's header (probe.ts). Never rejects. */
type HeaderOf = (url: string, signal: AbortSignal) => Promise<Pick<Offer, 'info' | 'failure'>>;

export class OfferController {
  readonly #with: Surroundings;
  readonly #offer = signal<Offer | null>(null);
  #abort: AbortController | null = null;

  /** The model that is offered. */
  readonly offer: ReadonlySignal<Offer | null> = this.#offer;
  /** The text of the address field: what was typed, or the address in the link. */
  readonly address = signal('');

  constructor(surroundings: Surroundings) {
    this.#with = surroundings;
  }

  /** Loads a model from an address that the reader typed. Returns false if it can be no address. */
  readonly openAddress = (text: string, sha256?: string): boolean => {
    const url = parseModelAddress(text.trim());
    if (url === undefined) return false;
    this.close();
    void this.#with.open(fromAddress(url, true, sha256));
    return true;
  };

  /** Loads a model from the reader's files. `handles`: of the files, in their order. */
  readonly openFiles = (files: File[], handles?: Handles): void => {
    if (files.length === 0) return;
    const source = oneModel(files, handles);
    if (source === null) {
      const { title } = t.peek().model.errors.invalid_argument;
      const own = t.peek().page.severalModels;
      this.#with.tell({ ...ownFinding('invalid_argument', own), title, advice: '' }, null);
      return;
    }
    this.close();
    void this.#with.open(source);
  };

  /**
   * Offers a model of another server, unless it is kept here: then it is loaded. Of one's own download it says how far that
   * is. `own`: as in Offer.
   */
  readonly make = async (url: string, own: boolean): Promise<void> => {
    this.close();
    this.address.value = url;
    const { signal: ended } = (this.#abort = new AbortController());
    this.#offer.value = { url, asked: false, info: null, own, failure: null };
    const [whole, part] = await Promise.all([this.#with.isKept(url), this.#with.partOf(url)]);
    const now = this.#offer.peek();
    if (ended.aborted || now === null) return;
    if (whole) {
      this.accept();
    } else if (part === null) {
      this.#offer.value = { ...now, own: false };
    } else {
      this.close();
      this.#with.putAside(fromAddress(url));
    }
  };

  /** Fetches the header of the offered model: the reader has agreed. */
  readonly lookAt = async (headerOf: HeaderOf): Promise<void> => {
    const accepted = this.#offer.peek();
    if (accepted === null || (accepted.asked && accepted.failure === null)) return;
    const { url } = accepted;
    // What else is asked about it must not change the offer that is there by then.
    this.#abort?.abort();
    const { signal: ended } = (this.#abort = new AbortController());
    this.#offer.value = { ...accepted, asked: true, failure: null };
    const found = await headerOf(url, ended);
    if (!ended.aborted) this.#offer.value = { ...accepted, asked: true, ...found };
  };

  /** Loads the offered model. */
  readonly accept = (): void => {
    const accepted = this.#offer.peek();
    if (accepted === null) return;
    this.close();
    void this.#with.open(fromAddress(accepted.url));
  };

  /** Removes the offer, and aborts the fetch of its header. */
  readonly close = (): void => {
    this.#abort?.abort();
    this.#abort = null;
    this.#offer.value = null;
  };
}
