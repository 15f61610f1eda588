// The page's engine, as texts and answers borrow it.
import type { Engine } from '@sluice/engine';
import { EngineLender, type Lent } from './engine-lender';
import { runs } from './run';
import { models } from './state';

export type Outcome = Lent<Engine>;

export const { chosenModel, onReading, onToken, withEngine } = new EngineLender(models, runs);
