// What hostile or huge texts may cost. What is beyond a limit is shown too, but as plain text.

/** Quotes and list items within each other. */
export const DEPTH = 12;
/** Emphasis, links and so on within each other. */
export const INLINE_DEPTH = 12;
/** Characters of a paragraph that are read together: a longer one is cut between words. */
export const PIECE = 4_000;
/** Blocks, list items and table rows of one message. */
export const BLOCKS = 10_000;
/** Characters of one message that are read as Markdown. */
export const TEXT = 400_000;
/** Columns of a table. */
export const COLUMNS = 50;
/** Characters of an address. */
export const ADDRESS = 2_000;
/** Characters of one formula. */
export const FORMULA = 4_000;
