// What a long text that was pasted is called, in the language of that time.
export const PASTED = { en: 'Pasted text', de: 'Eingefügter Text' };
