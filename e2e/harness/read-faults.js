// Faults in the reads of a worker. Its address says which: ?kind=late&seed=1&spare=3&most=2
//   kind    late: reads take their time, those of a File end in another order; short: they bring less than was asked for;
//           failing: they throw as a file does that was changed or is gone
//   spare   so many reads go well at first
//   most    so many go wrong at most
const asked = new URL(location.href).searchParams;
const kind = asked.get('kind');
let state = Number(asked.get('seed')) | 0;
let spare = Number(asked.get('spare'));
let most = Number(asked.get('most'));

function random() {
  state = (Math.imul(state, 1664525) + 1013904223) | 0;
  return (state >>> 8) / 2 ** 24;
}

/** Whether the next read goes wrong: half of them do. */
const wrong = () => spare-- <= 0 && random() < 0.5 && most-- > 0;
const gone = () => new DOMException('The requested file could not be read', 'NotReadableError');
const wait = (ms) => new Promise((later) => setTimeout(later, ms));

const handle = FileSystemSyncAccessHandle.prototype;
const { read } = handle;
handle.read = function (view, options) {
  if (!wrong()) return read.call(this, view, options);
  if (kind === 'failing') throw gone();
  if (kind === 'late') {
    const until = performance.now() + 10 * random();
    while (performance.now() < until);
    return read.call(this, view, options);
  }
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return read.call(this, bytes.subarray(0, bytes.length >> 1), options);
};

/** A Blob in the place of the one that is read. */
async function blob_for(blob) {
  if (!wrong()) return blob;
  if (kind === 'failing') throw gone();
  if (kind === 'late') await wait(10 * random());
  return kind === 'short' ? blob.slice(0, blob.size >> 1) : blob;
}

const { arrayBuffer, stream } = Blob.prototype;
Blob.prototype.arrayBuffer = async function () {
  return arrayBuffer.call(await blob_for(this));
};
Blob.prototype.stream = function () {
  let reader = null;
  return new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      reader ??= stream.call(await blob_for(this)).getReader();
      const { done, value } = await reader.read();
      if (!done) controller.enqueue(value);
      else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
    cancel: (why) => reader?.cancel(why),
  });
};
const sync = FileReaderSync.prototype;
const { readAsArrayBuffer } = sync;
sync.readAsArrayBuffer = function (blob) {
  if (!wrong() || kind === 'late') return readAsArrayBuffer.call(this, blob);
  if (kind === 'failing') throw gone();
  return readAsArrayBuffer.call(this, blob.slice(0, blob.size >> 1));
};
