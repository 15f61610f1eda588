// Checked by tsc alone: wasm/module.d.ts, which is written by hand, against what Emscripten says of bindings.cc. Names, numbers of
// arguments, and kinds of arguments and results must be the same. A value that Emscripten only passes on is 'any' there.
import type { ClassHandle, MainModule } from '../../../wasm/prebuilt/bindings.js';
import type { SluiceModule } from '../../../wasm/module.js';

/** A type's kind; that of a class is 'object'. */
type Kind<T> = 0 extends 1 & T
  ? 'any'
  : [T] extends [number]
    ? 'number'
    : [T] extends [boolean]
      ? 'boolean'
      : [T] extends [string]
        ? 'string'
        : string extends T
          ? 'string'
          : [T] extends [void]
            ? 'void'
            : 'object';

type Fits<Ours, Theirs> =
  Kind<Theirs> extends 'any' ? true : Kind<Ours> extends Kind<Theirs> ? true : false;

/** Whether all of two lists fit; lists of other lengths don't. */
type FitAll<
  Ours extends readonly unknown[],
  Theirs extends readonly unknown[],
> = Ours extends readonly [infer Our, ...infer OurRest]
  ? Theirs extends readonly [infer Their, ...infer TheirRest]
    ? Fits<Our, Their> extends true
      ? FitAll<OurRest, TheirRest>
      : false
    : false
  : Theirs extends readonly []
    ? true
    : false;

/** Arguments and result of a method, or of a constructor, whose result is always a handle. */
type Signature<T> = T extends abstract new (...args: infer Args) => unknown
  ? [Args, object]
  : T extends (...args: infer Args) => infer Result
    ? [Args, Result]
    : never;

type SignaturesFit<Ours, Theirs> =
  Signature<Ours> extends [infer Args extends unknown[], infer Result]
    ? Signature<Theirs> extends [infer TheirArgs extends unknown[], infer TheirResult]
      ? FitAll<Args, TheirArgs> extends true
        ? Fits<Result, TheirResult>
        : false
      : false
    : false;

/** The names of what two interfaces don't agree on. */
type Differences<Ours, Theirs> =
  | Exclude<keyof Ours, keyof Theirs>
  | Exclude<keyof Theirs, keyof Ours | keyof ClassHandle>
  | {
      [Name in keyof Ours & keyof Theirs]: SignaturesFit<Ours[Name], Theirs[Name]> extends true
        ? never
        : Name;
    }[keyof Ours & keyof Theirs];

type Instance<T> = T extends abstract new (...args: never) => infer Handle ? Handle : never;

/** The same of each class: CLASS.METHOD. */
type ClassDifferences = {
  [
    Class in keyof SluiceModule & keyof MainModule & string
  ]: SluiceModule[Class] extends abstract new (...args: never) => unknown
    ? `${Class}.${Differences<Instance<SluiceModule[Class]>, Instance<MainModule[Class]>> & string}`
    : never;
}[keyof SluiceModule & keyof MainModule & string];

/** Only the type without any name fits: the error names those that differ. */
type None<Names extends never> = Names;

export type Agreed = [None<Differences<SluiceModule, MainModule>>, None<ClassDifferences>];
