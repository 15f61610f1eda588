// The tests speak German where they want to, without waiting for its script.
import { fetchGerman } from '../src/texts/language';

await fetchGerman();
