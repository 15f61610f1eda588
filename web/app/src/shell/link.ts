// What the page's address says, and what it is to say: the controller of both. start.ts has the page's instance of it.
import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals';
import { readFragment, writeFragment } from '../link/fragment';
import type { Choice } from '../model/choice';
import type { OfferController } from '../model/offer-controller';
import type { Phase } from '../model/phases';
import { BUNDLED, OWN, fromAddress, type Source } from '../model/source';
import { usualSettings } from '../settings/personal';
import { settings, takeNamed } from '../settings/settings';
import { chosenView, prompted, usualView } from '../ui/view';
import { prompt } from '../link/prompt';

/** After so many milliseconds without typing, the address says what was typed. */
const TYPED_MS = 250;

/** What is given to the controller. */
export interface Surroundings {
  /** The page's `window`. */
  page: {
    readonly location: Pick<Location, 'hash' | 'origin' | 'pathname' | 'search'>;
    readonly history: Pick<History, 'state' | 'replaceState'>;
    addEventListener(type: 'hashchange', listener: () => void): void;
  };
  /** What addresses in the fragment are relative to. */
  base: string;
  /** The model's controller. */
  models: {
    readonly phase: ReadonlySignal<Phase>;
    readonly writable: ReadonlySignal<boolean>;
    open(source: Source): Promise<void>;
    seek(choice: Choice): void;
  };
  offers: Pick<OfferController, 'offer' | 'address' | 'make' | 'close'>;
  /** What was used last. */
  lastChoice(): Choice | null;
  /** Fetches the script that finds out whether it is still there, and opens it. False: that can't be fetched. */
  fetchReturn(): Promise<boolean>;
}

export class LinkController {
  readonly #with: Surroundings;
  /** What the page's address said when it was read; '' once the reader has closed what was said about it. */
  readonly #said = signal('');

  /** The parts of it that could not be used, in the page's language. */
  readonly ignored = computed(() => readFragment(this.#said.value, this.#with.base).ignored);

  /**
   * The model that the page's address should name: the one offered, paused, being loaded or loaded. One that failed stays
   * named while the message about it is there, so that it can be tried again.
   */
  readonly #linked = computed(() => {
    const { offers, models } = this.#with;
    if (offers.offer.value !== null) return offers.offer.value.url;
    const phase = models.phase.value;
    const coming = phase.kind === 'loading' ? phase.coming : null;
    const shown = phase.kind === 'loading' || phase.kind === 'ready' ? phase.shown : null;
    const source =
      phase.paused?.source ??
      (coming?.back === true ? undefined : coming?.source) ??
      phase.problem?.retry ??
      coming?.source ??
      shown?.source;
    // It is named while it is looked for.
    if (source === undefined && phase.kind === 'seeking' && /^(https?|hf):/.test(phase.choice.ref))
      return phase.choice.ref;
    return source?.kind === 'address' ? source.url : null;
  });

  constructor(surroundings: Surroundings) {
    this.#with = surroundings;
  }

  readonly closeIgnored = (): void => {
    this.#said.value = '';
  };

  /** Reads the address, loads the first model, and keeps the address up to date from then on. */
  readonly start = (): void => {
    const { page, models, offers, lastChoice } = this.#with;
    const linked = this.#read();
    const choice = lastChoice();
    const same = linked === null || linked === choice?.ref;
    if (same || !this.#isOwn(linked)) this.#openLast(choice);
    if (!same) this.#follow(linked);
    this.#keep();
    page.addEventListener('hashchange', () => {
      const next = this.#read();
      if (next === this.#linked.peek()) return;
      if (next !== null) {
        this.#follow(next);
        return;
      }
      offers.close();
      if (!models.writable.peek()) void models.open(BUNDLED);
    });
  };

  /** Takes over what the address says. Returns the model that it names. */
  #read(): string | null {
    const { page, base } = this.#with;
    const { hash } = page.location;
    const state = readFragment(hash, base);
    batch(() => {
      prompt.value = state.prompt;
      // A link says all: only an address without any begins with the reader's own preset and view.
      const says = hash.length > 1;
      const params = new URLSearchParams(hash.slice(1));
      takeNamed(says ? state.settings : usualSettings(), new Set(params.keys()));
      prompted.value = params.has('prompt');
      chosenView.value = says ? state.view : usualView.value;
      this.#said.value = hash;
    });
    return state.model;
  }

  /** Loads a model that a link names, if no other server learns of that. Otherwise asks the reader first. */
  #follow(url: string): void {
    const { models, offers } = this.#with;
    if (this.#isOwn(url)) {
      offers.close();
      offers.address.value = url;
      void models.open(fromAddress(url));
    } else {
      void offers.make(url, this.#named() === url);
    }
  }

  /** Opens what was used last. */
  #openLast(choice: Choice | null): void {
    const { models, fetchReturn } = this.#with;
    if (choice === null || choice.ref === OWN) {
      void models.open(BUNDLED);
      return;
    }
    models.seek(choice);
    void fetchReturn().then((there) => {
      const phase = models.phase.peek();
      const still = phase.kind === 'seeking' && phase.choice === choice;
      if (!there && still) void models.open(BUNDLED);
    });
  }

  #isOwn(url: string): boolean {
    return new URL(url).origin === this.#with.page.location.origin;
  }

  /** The model that the page itself put into its address; null: a link did. */
  #named(): unknown {
    return (this.#with.page.history.state as { model?: unknown } | null)?.model ?? null;
  }

  /** A new model and the view are named at once, so that a reload finds them; what is typed, when the reader rests. */
  #keep(): void {
    const { page, base, offers } = this.#with;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let { model: latest, view: latestView } = readFragment(page.location.hash, base);
    const own = computed(() => (offers.offer.value?.own === false ? null : this.#linked.value));
    const fragment = computed(() =>
      writeFragment({
        prompt: prompt.value,
        model: this.#linked.value,
        settings: settings.value,
        view: chosenView.value,
      }),
    );
    effect(() => {
      const text = fragment.value;
      const url = this.#linked.value;
      const mine = own.value;
      const shown = chosenView.value;
      const write = (): void => {
        latest = url;
        latestView = shown;
        this.#write(text, mine);
      };
      clearTimeout(timer);
      timer = setTimeout(write, url === latest && shown === latestView ? TYPED_MS : 0);
    });
  }

  /** `model`: the one in it that is the reader's own, and not only offered. */
  #write(fragment: string, model: string | null): void {
    const { location, history } = this.#with.page;
    if (fragment === location.hash.slice(1) && model === this.#named()) return;
    try {
      const to = fragment === '' ? location.pathname + location.search : `#${fragment}`;
      history.replaceState({ model }, '', to);
    } catch {
      // Some browsers refuse if this happens too often. The next change tries again.
    }
  }
}
