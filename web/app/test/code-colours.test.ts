import { describe, expect, it } from 'vitest';
import { partsOf } from '../src/markdown/code-colours';

/** The coloured parts as 'kind:text'. */
const shown = (text: string, info: string): string[] =>
  partsOf(text, info).parts.map(({ kind, from, to }) => `${kind}:${text.slice(from, to)}`);

describe('the colours of code', () => {
  it('tell comments, strings, numbers and keywords apart', () => {
    expect(shown('const a = "b // c"; // d\nreturn 0x1F;', 'js')).toEqual([
      ...['keyword:const', 'string:"b // c"', 'comment:// d', 'keyword:return', 'number:0x1F'],
    ]);
    expect(shown('def f(x):  # of x\n  """ doc\n """', 'Python title=x')).toEqual([
      ...['keyword:def', 'comment:# of x', 'string:""" doc\n """'],
    ]);
    expect(shown("echo $# a#b 'c' # d", 'bash')).toEqual(["string:'c'", 'comment:# d']);
    expect(shown("SELECT 'it''s' -- no", 'sql')).toEqual([
      ...['keyword:SELECT', "string:'it'", "string:'s'", 'comment:-- no'],
    ]);
    expect(shown("fn f<'a>(c: &'a str) { 'x' }", 'rust')).toEqual(['keyword:fn', "string:'x'"]);
    expect(shown('<!-- a --><b class="c">it\'s</b>', 'html')).toEqual([
      ...['comment:<!-- a -->', 'keyword:<b', 'string:"c"', 'keyword:</b'],
    ]);
    expect(shown('@media x { color: "red"; /* y */ }', 'css')).toEqual([
      ...['keyword:@media', 'string:"red"', 'comment:/* y */'],
    ]);
  });

  it('leave what has no language they know', () => {
    for (const info of ['', 'text', 'mermaid', 'constructor', '{.js}'])
      expect(shown('const a = "b"', info)).toEqual([]);
  });

  it('end a string with its line, and go on where the last part began', () => {
    expect(shown('don"t\nlet "x', 'js')).toEqual(['keyword:let', 'string:"x']);
    const whole = 'let a = `b\nc`; /* d\n e */ let f = 1.5;';
    const { parts } = partsOf(whole, 'ts');
    // However it comes, the parts that are kept are the same.
    const kept = new Map<number, string>();
    let next = 0;
    for (let n = 1; n <= whole.length; ++n) {
      const now = partsOf(whole.slice(0, n), 'ts', next);
      for (const from of kept.keys()) if (from >= next) kept.delete(from);
      for (const { kind, from, to } of now.parts) kept.set(from, `${kind} ${to}`);
      next = now.next;
    }
    expect([...kept]).toEqual(parts.map(({ kind, from, to }) => [from, `${kind} ${to}`]));
  });

  it('are bounded, whatever comes', () => {
    for (const piece of ['"', "'", '/*', '`', '\\', '#', '<!--', '1', 'if ', '"""', '--', '=  ']) {
      const text = piece.repeat(100_000 / piece.length);
      for (const info of ['js', 'py', 'sql', 'html', 'css', 'rust'])
        expect(partsOf(text, info).parts.length).toBeLessThanOrEqual(10_000);
    }
  });
});
