import { write } from '../write.js';

write(document.querySelector('output'));
