// The script that parts.ts fetches when somebody looks into a text for the first time.
import '../styles/inside.css';

export { openIfTrace } from './file-state';
export { TraceFile } from './file-view';
export { Xray } from './xray';
