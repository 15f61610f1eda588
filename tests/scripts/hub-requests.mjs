// Requests for the tests of the hub: every answer as it came, broken ones too.
import http from 'node:http';
import net from 'node:net';

/**
 * Sends a request. Resolves with {status, headers, body, whole}; `whole`: the body ended as it should. status 0: no answer.
 * `leave`: the client closes the connection after so many bytes of the body.
 */
export function request(url, { method = 'GET', headers = {}, leave = Infinity } = {}) {
  return new Promise((resolve) => {
    const parts = [];
    let answer = { statusCode: 0, headers: {} };
    const done = (whole) => {
      const { statusCode: status, headers } = answer;
      resolve({ status, headers, body: Buffer.concat(parts), whole });
    };
    const sent = http.request(url, { method, headers, agent: false }, (came) => {
      answer = came;
      let length = 0;
      came.on('data', (part) => {
        parts.push(part);
        length += part.length;
        if (length >= leave) sent.destroy();
      });
      came.on('end', () => done(came.complete));
      came.on('error', () => done(false));
    });
    sent.on('error', () => done(false));
    sent.end();
  });
}

/** All bytes that come on a connection for one request: {head, body}. The server must close it. */
export function raw(url) {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const parts = [];
    const socket = net.connect(Number(port), hostname, () => {
      socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    });
    socket.on('data', (part) => parts.push(part));
    socket.on('error', reject);
    socket.on('close', () => {
      const all = Buffer.concat(parts);
      const end = all.indexOf('\r\n\r\n');
      resolve({ head: all.subarray(0, end).toString(), body: all.subarray(end + 4) });
    });
  });
}

/** Resolves when no answer of a file is under way. */
export async function quiet({ counts }) {
  while (counts.underway > 0) await new Promise((turn) => setTimeout(turn, 5));
}

export const range = (first, last) => ({ headers: { range: `bytes=${first}-${last}` } });

/** Bytes of which no two pieces are the same. */
export function some_bytes(length, salt = 0) {
  const bytes = Buffer.alloc(length);
  let state = salt + 1;
  for (let i = 0; i < length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}
