// Texts that depend on a number, by the rules of their language.

/** A text in each form that its language has; `other` is in all of them. */
export type Forms = Readonly<
  { other: string } & Partial<Record<Exclude<Intl.LDMLPluralRule, 'other'>, string>>
>;

/** A function that chooses a text's form by its number. `language`: the texts' own, whatever the page's is. */
export function pluralsOf(language: string): (n: number, forms: Forms) => string {
  let rules: Intl.PluralRules | undefined;
  return (n, forms) => {
    rules ??= new Intl.PluralRules(language);
    return forms[rules.select(n)] ?? forms.other;
  };
}
