// Reads and writes NumPy's arrays of floats.

/** {shape, numbers} of the bytes of a .npy file of 32-bit floats. */
export function read_npy(bytes) {
  const length = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + length);
  const found = /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(([\d, ]+)\), \} *\n$/.exec(
    header,
  );
  if (bytes.toString('latin1', 0, 8) !== '\x93NUMPY\x01\x00' || !found)
    throw new Error(`no array of 32-bit floats: ${header}`);
  const shape = found[1].split(',').filter((n) => n.trim() !== '');
  const numbers = new Float32Array(Uint8Array.from(bytes.subarray(10 + length)).buffer);
  return { shape: shape.map(Number), numbers };
}

/** {name: {shape, numbers}} of the bytes of a .npz archive whose entries are stored with zip64's sizes. */
export function read_npz(bytes) {
  const u64 = (at) => Number(bytes.readBigUInt64LE(at));
  const locator = bytes.length - 22 - 20;
  if (bytes.toString('latin1', locator, locator + 4) !== 'PK\x06\x07')
    throw new Error('no end of a zip64 archive');
  const end = u64(locator + 8);
  let at = u64(end + 48);
  const arrays = {};
  for (let n = u64(end + 32); n > 0; --n) {
    const name_bytes = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('latin1', at + 46, at + 46 + name_bytes);
    const extra = at + 46 + name_bytes;
    const size = u64(extra + 4);
    const local = u64(extra + 20);
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    arrays[name.replace(/\.npy$/, '')] = read_npy(bytes.subarray(data, data + size));
    at = extra + bytes.readUInt16LE(at + 30);
  }
  return arrays;
}

/** The bytes of a .npy file of these numbers, a Float32Array or Float64Array. */
export function npy_of(shape, numbers, { descr, order = 'False', version = 1 } = {}) {
  const type = descr ?? (numbers instanceof Float64Array ? '<f8' : '<f4');
  const text = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': (${shape.join(', ')},), }\n`;
  const start = Buffer.alloc(version === 1 ? 10 : 12);
  start.write('\x93NUMPY', 'latin1');
  start[6] = version;
  if (version === 1) start.writeUInt16LE(text.length, 8);
  else start.writeUInt32LE(text.length, 8);
  const { buffer, byteOffset, byteLength } = numbers;
  const data = Buffer.from(buffer, byteOffset, byteLength);
  return Buffer.concat([start, Buffer.from(text, 'latin1'), data]);
}
