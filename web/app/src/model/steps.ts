// What the reader can do about an error, besides trying again.
import type { ErrorCode } from '@sluice/engine';
import type { Finding } from './advice';
import { atHub, type AtHub } from './hub';

const OTHERS: readonly ErrorCode[] = [
  ...(['out_of_memory', 'budget_too_small', 'context_full'] as const),
  ...(['unsupported_model', 'unsupported_type', 'not_found', 'closed'] as const),
];
/** Of these another address may be right. */
const ADDRESS: readonly string[] = ['status', 'redirect', 'insecure', 'answer'];

/** The steps that an error's texts name: each has a button or a link. */
export interface Steps {
  /** The model's page, where it can be downloaded. */
  page: AtHub | null;
  /** What the browser itself may download, where this page can't. */
  download: string | null;
  /** The hub's search, since there may be no such model. */
  search: AtHub | null;
  /** A file that the reader has. */
  file: boolean;
  /** What is on this device. */
  kept: boolean;
  /** Another model. */
  others: boolean;
  /** Another address. */
  address: boolean;
  /** The limit of memory. */
  settings: boolean;
}

/** The server wants to know who asks. The hub also says so of a model that isn't there. */
export function isDenied({ facts: { status } }: Pick<Finding, 'facts'>): boolean {
  return status === 401 || status === 403;
}

/** `address`: of the model; null: it is a file, or not known. */
export function stepsOf(of: Pick<Finding, 'code' | 'facts'>, address: string | null): Steps {
  const { code, facts } = of;
  const at = address === null ? null : atHub(address);
  const denied = isDenied(of);
  const failed = code === 'download_failed';
  const unreachable = facts.reason === 'unreachable';
  const missing = facts.status === 404 || facts.status === 410;
  return {
    page: denied || unreachable ? at : null,
    download: unreachable && at === null && /^https?:/.test(address ?? '') ? address : null,
    search: denied || missing ? at : null,
    file: code === 'bad_file' || code === 'offline' || denied || unreachable,
    kept: code === 'offline',
    others: OTHERS.includes(code) || (failed && facts.reason === undefined),
    address: failed && ADDRESS.includes(facts.reason ?? ''),
    settings: code === 'budget_too_small',
  };
}
