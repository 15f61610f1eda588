// Sentences on the models that the page offers. The English ones come with the list of these models (models/shelf.json).

export interface ShelfTexts {
  /** What a model is good for, by its id. */
  goodFor: Readonly<Record<string, string>>;
  /** What terms of use ask for, by their address. */
  terms: Readonly<Record<string, string>>;
}

export const shelf: ShelfTexts = { goodFor: {}, terms: {} };
