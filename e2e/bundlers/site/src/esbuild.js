import { configure } from '@sluice/engine';
import { write } from '../write.js';

// esbuild takes no files along. The package's dist folder was copied to engine/.
configure({ baseUrl: './engine/' });
write(document.querySelector('output'));
