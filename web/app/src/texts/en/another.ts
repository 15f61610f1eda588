// Getting another model by file or address. Only the sheet, which comes later, has these texts.
import type { AddressProblem } from '@sluice/engine';

export const another = {
  choose: 'Choose a model file',
  orDrop: 'or drop one anywhere on the page',
  address: 'Address',
  addressHint: 'Of a model’s file, or of a page that has some.',
  placeholder: 'https://… or owner/model',
  /** What the button does at a file, and at a page of several. */
  load: 'Download',
  list: 'Show its files',
  wrong: {
    empty: 'Paste the address of a model’s file, or of a page that has some.',
    too_long: 'This is too long for an address.',
    characters: 'There are characters in it that no address has. Copy it again.',
    scheme: 'Only addresses that begin with https:// or http:// can be fetched.',
    credentials: 'Leave out the user name and the password: they don’t belong into an address.',
    no_model: 'This page is about no model. Open the model’s own page, and copy its address.',
    no_address:
      'This is no address. Type owner/model, as it stands on a model’s page, or paste a link to its file.',
  } satisfies Record<AddressProblem, string>,
  asking: (host: string) => `Asking ${host} what there is…`,
  found: 'What was found',
  files: (name: string) => `Models of ${name}`,
  none: 'There is no model that this page can open',
  noneAdvice:
    'It opens files whose names end in .gguf. The same model often has them on a page of its own.',
  lookAt: (name: string) => `Look at ${name}`,
  search: (host: string, text: string) => `Search ${host} for “${text}”`,
  recommended: 'Recommended for this device',
  parts: (parts: number) => `in ${parts} files`,
  account: (host: string) => `There is no such model at ${host}, or it needs an account there`,
  missing: (host: string) => `There is no such model at ${host}`,
  /** The name stands after it. */
  spelling: 'Check the spelling:',
  accountAdvice:
    'If that is right, open its page, sign in, accept its terms and download the file there. Then choose the file here.',
};
