// What people type and paste for a model, and what becomes of it.
import { describe, expect, it } from 'vitest';
import { readAddress, type AddressProblem } from '../src/index.js';

const RESOLVE = 'https://huggingface.co/owner/repo/resolve/main/m-Q4_0.gguf';

describe('a typed address', () => {
  it.each([
    ['owner/repo', 'hf:owner/repo'],
    ['  owner/repo \n', 'hf:owner/repo'],
    ['owner/repo/', 'hf:owner/repo'],
    ['hf:owner/repo', 'hf:owner/repo'],
    ['HF://owner/repo/', 'hf:owner/repo'],
    ['ow.ner/re.po@v1.0', 'hf:ow.ner/re.po@v1.0'],
    ['huggingface.co/owner/repo', 'hf:owner/repo'],
    ['www.huggingface.co/owner/repo/', 'hf:owner/repo'],
    ['HuggingFace.co/owner/repo', 'hf:owner/repo'],
    ['hf.co/owner/repo', 'hf:owner/repo'],
    ['https://hf.co/owner/repo?library=x#files', 'hf:owner/repo'],
    ['huggingface.co/owner/repo/tree/main', 'https://huggingface.co/owner/repo/tree/main'],
    [
      'https://huggingface.co/owner/repo/tree/main/',
      'https://huggingface.co/owner/repo/tree/main/',
    ],
    ['https://hf.co/owner/repo/tree/dev/a', 'https://hf.co/owner/repo/tree/dev/a'],
  ])('of a repository: %j', (text, address) => {
    expect(readAddress(text)).toEqual({ address, kind: 'repository' });
  });

  it.each([
    ['owner/repo:Q4_K_M', 'hf:owner/repo:Q4_K_M'],
    ['hf:owner/repo:dir/m.gguf@refs/pr/1', 'hf:owner/repo:dir/m.gguf@refs/pr/1'],
    ['hf.co/owner/repo:Q4_K_M', 'hf:owner/repo:Q4_K_M'],
    ['https://huggingface.co/owner/repo:q8_0', 'hf:owner/repo:q8_0'],
    [RESOLVE, RESOLVE],
    [` ${RESOLVE}?download=true `, RESOLVE],
    [RESOLVE.slice('https://'.length), RESOLVE],
    [RESOLVE.replace('resolve', 'blob'), RESOLVE.replace('resolve', 'blob')],
    ['owner/repo/blob/main/m-Q4_0.gguf', RESOLVE.replace('resolve', 'blob')],
    [' owner/repo/resolve/main/m-Q4_0.gguf?download=true', RESOLVE],
    ['models.example/dir/resolve/main/m.gguf', 'https://models.example/dir/resolve/main/m.gguf'],
    ['localhost/dir/resolve/main/m.gguf', 'http://localhost/dir/resolve/main/m.gguf'],
    ['https://models.example/m.gguf?key=1#part', 'https://models.example/m.gguf?key=1'],
    ['models.example/dir/m.gguf', 'https://models.example/dir/m.gguf'],
    ['models.example/m.gguf', 'https://models.example/m.gguf'],
    ['models.example:8443/m.gguf', 'https://models.example:8443/m.gguf'],
    ['localhost:8080/m.gguf', 'http://localhost:8080/m.gguf'],
    ['HTTP://127.0.0.1:80/m.gguf', 'http://127.0.0.1/m.gguf'],
  ])('of a file: %j', (text, address) => {
    expect(readAddress(text)).toEqual({ address, kind: 'file' });
  });

  it.each<[string, AddressProblem]>([
    ['', 'empty'],
    [' \t', 'empty'],
    [`https://models.example/${'x'.repeat(2000)}`, 'too_long'],
    ['https://models.example/\u0000m.gguf', 'characters'],
    ['java\nscript:alert(1)', 'characters'],
    ['owner/\u009brepo', 'characters'],
    ['hf:owner/re po', 'characters'],
    ['javascript:alert(1)', 'scheme'],
    ['data:application/octet-stream;base64,R0dVRg==', 'scheme'],
    ['blob:https://models.example/1', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['ftp://models.example/m.gguf', 'scheme'],
    ['C:\\models\\m.gguf', 'scheme'],
    ['https://user:secret@models.example/m.gguf', 'credentials'],
    ['https://user@huggingface.co/owner/repo', 'credentials'],
    ['https://huggingface.co/', 'no_model'],
    ['huggingface.co/owner', 'no_model'],
    ['https://huggingface.co/datasets/owner/repo', 'no_model'],
    ['https://huggingface.co/owner/repo/discussions/1', 'no_model'],
    ['https://hf.co/owner/repo/blob/main/%zz.gguf', 'no_model'],
    ['hf:', 'no_address'],
    ['hf:owner', 'no_address'],
    ['hf:owner/repo:', 'no_address'],
    ['hf:owner/repo:../m.gguf', 'no_address'],
    ['hf:owner/repo@../x', 'no_address'],
    ['hf:a/b/c', 'no_address'],
    ['nonsense', 'no_address'],
    ['ollama run llama3.2', 'no_address'],
    ['llama3.2:1b', 'no_address'],
    ['owner/repo/blob/../m.gguf', 'no_model'],
    ['a few words', 'no_address'],
    ['models/m.gguf', 'no_address'],
    ['//models.example/m.gguf', 'no_address'],
    ['models.example', 'no_address'],
    ['https://', 'no_address'],
    ['../owner/repo', 'no_address'],
  ])('that is refused: %j', (text, problem) => {
    expect(readAddress(text)).toEqual({ problem });
  });

  it('of a link may be relative', () => {
    const base = 'https://site.example/app/';
    expect(readAddress('models/m.gguf', { base })).toEqual({
      address: `${base}models/m.gguf`,
      kind: 'file',
    });
    expect(readAddress('owner/repo', { base })).toEqual({
      address: `${base}owner/repo`,
      kind: 'file',
    });
    expect(readAddress('//models.example/m.gguf', { base })).toEqual({
      address: 'https://models.example/m.gguf',
      kind: 'file',
    });
    expect(readAddress('hf:owner/repo', { base })).toEqual({
      address: 'hf:owner/repo',
      kind: 'repository',
    });
  });
});
