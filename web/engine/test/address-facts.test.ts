// What the address of a model says.
import { describe, expect, it } from 'vitest';
import { addressFacts } from '../src/index.js';

const repository = { owner: 'owner', name: 'repo', page: 'https://huggingface.co/owner/repo' };
const host = 'huggingface.co';
const resolve = `${repository.page}/resolve`;

describe('an address', () => {
  it('of the hub names a repository, and what is wanted of it', () => {
    const choice = { host, repository, file: null, type: '', url: null };
    expect(addressFacts('hf:owner/repo')).toEqual(choice);
    expect(addressFacts('hf:owner/repo@main')).toEqual(choice);
    expect(addressFacts('hf:owner/repo:Q4_0@main')).toEqual({ ...choice, type: 'Q4_0' });
    expect(addressFacts('https://hf.co/owner/repo')).toEqual(choice);
    expect(addressFacts('https://www.huggingface.co/owner/repo/tree/main/a')).toEqual(choice);
  });

  it('of a file of the hub says where it is', () => {
    const at = (file: string, url: string) => ({ host, repository, file, type: '', url });
    expect(addressFacts('hf:owner/repo:big/m a.gguf@refs/pr/1')).toEqual(
      at('m a.gguf', `${resolve}/refs%2Fpr%2F1/big/m%20a.gguf`),
    );
    expect(addressFacts('hf:owner/repo:m-Q4_0.gguf')).toEqual(
      at('m-Q4_0.gguf', `${resolve}/main/m-Q4_0.gguf`),
    );
    expect(addressFacts(`${repository.page}/blob/main/m.gguf?download=true`)).toEqual(
      at('m.gguf', `${resolve}/main/m.gguf`),
    );
  });

  it('of another server is that of a file', () => {
    const at = (url: string, file: string, of: string) => {
      expect(addressFacts(url)).toEqual({ host: of, repository: null, file, type: '', url });
    };
    at('https://models.example/a/b%20c.gguf?x=1', 'b c.gguf', 'models.example');
    at('http://localhost:8080/m.gguf', 'm.gguf', 'localhost:8080');
    at('https://models.example/%ff.gguf', '%ff.gguf', 'models.example');
    at('https://models.example/', 'models.example', 'models.example');
    // A page of the hub that is about no model
    at('https://huggingface.co/docs/hub', 'hub', host);
  });

  it('that is none is refused', () => {
    expect(() => addressFacts('hf:owner')).toThrow(/is no address/);
    for (const bad of ['', 'owner/repo', 'm.gguf']) expect(() => addressFacts(bad)).toThrow();
  });
});
