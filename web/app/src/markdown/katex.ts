// A chunk of its own with its styles, loaded when the first formula is shown (maths.ts).
import 'katex/dist/katex.min.css';
export { render } from 'katex';
