// What a token of the text is as a text: as the model has it, or else as it came.
import type { ChainToken } from './chain';
import type { XrayController } from './controller';

export function pieceOf(xray: XrayController, { id, begun, length }: ChainToken): string {
  const known = xray.pieces.get(id);
  if (known !== undefined) return known;
  return (
    xray.subject
      .peek()
      ?.text()
      .slice(begun, begun + length) ?? ''
  );
}
