// The loader worker, with faults in its reads.
import './read-faults.js';
import '/engine/loader-worker.js';
