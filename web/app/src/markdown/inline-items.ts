// What a paragraph is read into.
import type { Address } from './links';

/** What stands inside a paragraph. `at`: where it begins in the source. */
export type Inline =
  | { readonly kind: 'text'; text: string; readonly at: number }
  | { readonly kind: 'code'; readonly text: string; readonly at: number }
  | {
      readonly kind: 'maths';
      readonly text: string;
      readonly source: string;
      readonly display: boolean;
      readonly at: number;
    }
  | { readonly kind: 'break' }
  | { readonly kind: 'em' | 'strong' | 'del'; readonly kids: Inline[] }
  | {
      readonly kind: 'link' | 'image';
      /** Null while the address is incomplete. */
      readonly to: Address | null;
      readonly kids: Inline[];
    };

/** What has others in it. */
export type Spanning = Extract<Inline, { kids: Inline[] }>;

/** A part of the text: what ends before it, itself, what begins after it. */
export interface Item {
  text: string;
  readonly at: number;
  readonly node: Inline | null;
  /** Marks that end here, from the innermost. */
  readonly closes: string[];
  /** What begins here, from the innermost. */
  readonly opens: { readonly mark: string; readonly node: Spanning }[];
}
