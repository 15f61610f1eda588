// Where the bytes of a rendered prompt come from: every operation of the language, with texts of
// the input and of the template mixed. What is the input's stands in brackets. A byte of the input
// without brackets would be a hole: somebody's message could write a control token.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "chat/json.h"
#include "jinja/template.h"

namespace sluice::jinja {
namespace {

// Texts are fields that are counted from 1, names among them: "text" is field 2.
constexpr std::string_view kOriginsContext =
    R"({"s": "text", "n": 7, "f": 1.5, "yes": true, "nil": null, "l": ["x", "y"],
        "d": {"k": "v"}, "sp": "  p q  ", "html": "a<b", "lines": "1\n2", "wide": "ßaİ",
        "fmt": "%s-%d", "braces": "{}={:*>4}", "json": "a\"\n", "m": [{"a": "B"}, {"a": "A"}],
        "empty": "", "mark": "<think>a</think>b", "spec": "5"})";

Result<Rendered> render_parts(std::string_view source) {
  SLUICE_ASSIGN(const Template made, Template::parse(source));
  SLUICE_ASSIGN(const Value values, value_from_json(kOriginsContext));
  return made.render(values);
}

std::string parts_of(const Rendered& rendered) {
  std::string out;
  size_t at = 0;
  bool inside = false;
  for (const InputSpan& span : rendered.input) {
    const bool goes_on = inside && span.begin == at;
    if (inside && !goes_on) out += ']';
    out += rendered.text.substr(at, span.begin - at);
    if (!goes_on) out += '[';
    inside = true;
    out += rendered.text.substr(span.begin, span.end - span.begin);
    at = span.end;
  }
  if (inside) out += ']';
  return out + rendered.text.substr(at);
}

std::string shown_parts(std::string_view source) {
  const auto rendered = render_parts(source);
  return rendered ? parts_of(*rendered) : "error: " + rendered.error().message;
}

// Each span as field+offset:text, and what is the template's own as it is.
std::string shown_fields(std::string_view source) {
  const auto rendered = render_parts(source);
  if (!rendered) return "error: " + rendered.error().message;
  std::string out;
  size_t at = 0;
  for (const InputSpan& span : rendered->input) {
    out += rendered->text.substr(at, span.begin - at);
    out += concat("[", span.field, "+", span.offset, ":",
                  rendered->text.substr(span.begin, span.end - span.begin), "]");
    at = span.end;
  }
  return out + rendered->text.substr(at);
}

struct PartsCase {
  const char* source;
  const char* parts;
};

void expect_parts(const std::vector<PartsCase>& cases) {
  for (const PartsCase& each : cases)
    EXPECT_EQ(shown_parts(each.source), each.parts) << each.source;
}

TEST(JinjaOrigins, OperatorsOfTexts) {
  expect_parts({
      {"a{{ s }}b", "a[text]b"},
      {"{{ 'a' ~ s[1:] ~ 'b' }}", "a[ext]b"},
      {"{{ 'a' + s + 'b' }}", "a[text]b"},
      {"{{ s ~ s }}", "[texttext]"},
      {"{{ (s[0] ~ 'a') * 3 }}", "[t]a[t]a[t]a"},
      {"{{ 2 * s }}{{ 'a' * n }}", "[texttext]aaaaaaa"},
      {"{{ s[0] ~ s[-1] ~ s[9:] }}", "[tt]"},
      {"{{ ('ab' ~ s ~ 'cd')[1:-1] }}", "b[text]c"},
      {"{{ ('ab' ~ s ~ 'cd')[::-1] }}", "dc[txet]ba"},
      {"{{ ('ab' ~ s ~ 'cd')[::2] }}", "a[tx]c"},
      {"{{ ('ab' ~ s)[n] }}{{ ('ab' ~ s)[4] }}{{ 'own'[n - 6] }}", "[x]w"},
      {"{{ s == 'text' }}{{ s < 'a' }}{{ 'e' in s }}{{ not s }}", "TrueFalseTrueFalse"},
      {"{{ s and 'a' }}{{ s or 'a' }}{{ '' or s }}{{ 'a' if s else 'b' }}", "a[texttext]a"},
      {"{{ empty }}{{ empty ~ 'a' }}{{ empty or 'b' }}", "ab"},
  });
}

TEST(JinjaOrigins, Numbers) {
  expect_parts({
      {"{{ n }}{{ f }}{{ yes }}{{ nil }}", "[71.5TrueNone]"},
      {"{{ 1 }}{{ 1.5 }}{{ true }}{{ none }}", "11.5TrueNone"},
      {"{{ n + 1 }},{{ 1 - n }},{{ n * n }},{{ n / 2 }},{{ n // 2 }},{{ n % 4 }},{{ 2 ** n }}",
       "[8],[-6],[49],[3.5],[3],[3],[128]"},
      {"{{ -n }}{{ +n }}{{ -f }}{{ +f }}{{ +yes }}", "[-77-1.51.51]"},
      {"{{ n|abs }},{{ (-n)|abs }},{{ f|round }},{{ f|int }},{{ n|float }},{{ yes|int }}",
       "[7],[7],[2.0],[1],[7.0],[1]"},
      {"{{ '9'|int }},{{ spec|int }},{{ spec|float }},{{ s|int }},{{ 'a'|int(n) }}",
       "9,[5],[5.0],[0],[7]"},
      {"{{ f|round(1, 'ceil') }},{{ f|round(1, 'floor') }},{{ n|round(-1) }}", "[1.5],[1.5],[10]"},
      {"{{ n ~ 1 }},{{ n|string }},{{ n|upper }}", "[7]1,[7],[7]"},
      {"{{ [n, 1]|sum }},{{ [1, 2]|sum }},{{ [1]|sum(start=n) }}", "[8],3,[8]"},
      {"{{ [n, 3]|max }},{{ [n, 3]|min }},{{ [s, 'a']|min }},{{ [s, 'a']|max }}", "[7],3,a,[text]"},
      {"{{ s|length }}{{ l|length }}{{ l|count }}{{ s.find('x') }}{{ s.count('t') }}", "42222"},
      {"{% for i in range(2) %}{{ i }}{{ loop.index }}{% endfor %}", "0112"},
      {"{% for x in l %}{{ loop.index0 }}{{ x }}{{ loop.last }}{% endfor %}", "0[x]False1[y]True"},
      {"{% for i in range(n - 5) %}{{ i }}{{ loop.index }}{% endfor %}", "[0]1[1]2"},
      {"{{ range(n) }},{{ range(n)|list }},{{ range(n)|last }},{{ range(2) }}",
       "[range(0, 7)],[[0, 1, 2, 3, 4, 5, 6]],[6],range(0, 2)"},
      {"{{ range(n)[1] }},{{ range(n)[1:3] }},{{ range(99)[n] }},{{ range(99)[n:] }}",
       "[1],[range(1, 3)],[7],[range(7, 99)]"},
      {"{{ range(n).stop }},{{ range(3).start }}", "[7],0"},
      {"{{ n if n > 3 else 3 }},{{ n == 7 }},{{ n is number }},{{ yes == true }}",
       "[7],True,True,True"},
  });
}

TEST(JinjaOrigins, MethodsOfTexts) {
  expect_parts({
      {"{{ (' a' ~ sp ~ 'b ').strip() }}", "a[  p q  ]b"},
      {"{{ sp.strip() }},{{ sp.lstrip() }},{{ sp.rstrip() }},{{ sp|trim }}",
       "[p q],[p q  ],[  p q],[p q]"},
      {"{{ ('xa' ~ s ~ 'ax').strip('xa') }},{{ ('xa' ~ s).strip('xat') }}", "[text],[e]"},
      {"{{ s.strip(s[0]) }},{{ 'tat'.strip(s[0]) }}", "[ex],a"},
      {"{{ s.upper() }}{{ s.lower() }}{{ s.title() }}{{ s.capitalize() }}", "[TEXTtextTextText]"},
      {"{{ ('a' ~ wide ~ 'b').upper() }}", "A[SSAİ]B"},
      {"{{ ('A' ~ wide ~ 'B').lower() }}", "a[ßai̇]b"},
      {"{{ ('a' ~ wide ~ 'b').title() }}", "A[ßai̇]b"},
      {"{{ (wide ~ 'b').capitalize() }}", "[SSai̇]b"},
      {"{{ ('a-' ~ s ~ '-b').split('-') }}", "[['a', 'text', 'b']]"},
      {"{% for x in ('a-' ~ s ~ '-b').split('-') %}{{ x }};{% endfor %}", "a;[text];b;"},
      {"{% for x in ('a' ~ sp ~ 'b').split() %}{{ x }};{% endfor %}", "a;[p];[q];b;"},
      {"{% for x in ('a' ~ sp ~ 'b').rsplit(none, 1) %}{{ x }};{% endfor %}", "a[  p q];b;"},
      {"{% for x in ('a-' ~ s ~ '-b').rsplit('-', 1) %}{{ x }};{% endfor %}", "a-[text];b;"},
      {"{% for x in (lines ~ 'a').splitlines(true) %}{{ x }};{% endfor %}", "[1\n];[2]a;"},
      {"{{ ','.join([s, 'a', s]) }},{{ s.join(['a', 'b']) }}", "[text],a,[text],a[text]b"},
      {"{{ s.replace('e', 'E') }},{{ 'tea'.replace('e', s) }},{{ s.replace(s[1], s[0]) }}",
       "[t]E[xt],t[text]a,[ttxt]"},
      {"{{ s.replace('', '-') }},{{ 'ab'.replace('', s[0]) }}", "-[t]-[e]-[x]-[t]-,[t]a[t]b[t]"},
      {"{{ s.replace('t', 'T', 1) }},{{ 'tt'.replace('t', s[1], n - 6) }}", "T[ext],[e]t"},
      {"{{ ('a' ~ s).removeprefix('a') }}{{ (s ~ 'b').removesuffix('b') }}", "[texttext]"},
      {"{% for x in s.partition('ex') %}{{ x }};{% endfor %}", "[t];[ex];[t];"},
      {"{% for x in s.rpartition('t') %}{{ x }};{% endfor %}", "[tex];[t];;"},
      {"{% for x in s.partition('-') %}{{ x }};{% endfor %}", "[text];;;"},
      {"{% for x in 'a=b'.partition(sp[0]) %}{{ x }};{% endfor %}", "a=b;;;"},
      {"{% set a, b, c = mark.partition('</think>') %}{{ a ~ b ~ c }}", "[<think>a</think>b]"},
      {"{{ s.isalpha() }}{{ s.startswith('t') }}{{ s.endswith(s) }}", "TrueTrueTrue"},
  });
}

TEST(JinjaOrigins, FiltersOfTexts) {
  expect_parts({
      {"{{ s|upper }}{{ s|lower }}{{ s|title }}{{ s|capitalize }}", "[TEXTtextTextText]"},
      {"{{ ('a' ~ wide ~ 'b')|title }},{{ ('a' ~ wide)|upper }}", "A[ßai̇]b,A[SSAİ]"},
      {"{{ ('a' ~ s ~ 'b')|reverse }},{{ ('a' ~ s)|replace('t', 'T') }}", "b[txet]a,aT[ex]T"},
      {"{{ n|replace('7', 'a') }},{{ 'a7'|replace(n, s) }}", "a,a[text]"},
      {"{{ ('a' ~ lines)|indent(1, true) }}", " a[1\n] [2]"},
      {"{{ 'a\nb'|indent(s) }},{{ 'a\nb'|indent(n - 6) }}", "a\n[text]b,a\n b"},
      {"{{ s|truncate(3, true, '', 0) }},{{ 'own text'|truncate(6, true, s[:2], 0) }}",
       "[tex],own [te]"},
      {"{{ s|truncate(3, true, '..', 0) }},{{ s|truncate(3, true, n, 0) }}", "[t]..,[te7]"},
      {"{{ ('a' ~ html)|e }},{{ ('<' ~ html)|escape }}", "a[a&lt;b],&lt;[a&lt;b]"},
      {"{{ html|safe }},{{ ('<'|e) ~ html }},{{ ('<'|safe) + html }}", "[a<b],&lt;[a<b],<[a&lt;b]"},
      {"{{ html|striptags }},{{ ('x<i>' ~ s ~ '</i>')|striptags }},{{ '<i>a &lt; b</i>'|striptags "
       "}}",
       "[a<b],[xtext],a < b"},
      {"{{ (s ~ 'a')|list|join('-') }},{{ l|join(s) }},{{ ['a', n]|join(n) }}",
       "[t]-[e]-[x]-[t]-a,[xtexty],a[77]"},
      {"{{ m|join(attribute='a') }},{{ m|join(',', 'a') }}", "[BA],[B],[A]"},
      {"{{ s|string }}{{ s|default('a') }}{{ nothing|default(s) }}{{ empty|d('a', true) }}",
       "[texttexttext]a"},
      {"{{ nothing }}{{ nothing|default }}{{ d.nothing }}{{ [nothing, s] }}",
       "[[Undefined, 'text']]"},
      {"{{ strftime_now('%Y') }},{{ strftime_now(spec) }},{{ strftime_now('%Y' ~ s) }}",
       "1970,[5],[1970text]"},
  });
}

TEST(JinjaOrigins, Formats) {
  expect_parts({
      {"{{ '<%s|%s>' % (s, 'a') }},{{ '<%s>'|format(s) }}", "<[text]|a>,<[text]>"},
      {"{{ '%6s|%-6s|%.2s' % (s, s, s) }}", "  [text]|[text]  |[te]"},
      {"{{ '%03d|%+d|%x|%.1f|%e' % (n, n, n, f, 1.5) }}", "00[7]|[+7]|[7]|[1.5]|1.500000e+00"},
      {"{{ '%r' % s }},{{ '%r' % [s] }},{{ '%r' % 'a' }},{{ '%s' % [1] }}",
       "['text'],[['text']],'a',[1]"},
      {"{{ '%(k)s|%(o)s' % {'k': s, 'o': 'a'} }},{{ '%(k)s' % d }}", "[text]|a,[v]"},
      {"{{ fmt % ('a', 1) }},{{ fmt|format('a', 1) }}", "a[-1],a[-1]"},
      {"{{ ('%' ~ spec ~ 's|') % 'a' }},{{ ('%' ~ spec ~ 'd|') % 1 }}", "[    ]a|,[    1]|"},
      {"{{ '%%' % () }},{{ (spec ~ '%%') % () }},{{ (fmt[0] ~ '%') % () }}", "%,[5]%,%"},
      {"{{ '<{}|{}>'.format(s, 'a') }},{{ '{1}{0}'.format(s, 'a') }},{{ '{k}'.format(k=s) }}",
       "<[text]|a>,a[text],[text]"},
      {"{{ '{:>6}|{:*<6}|{:^6}|{:.2}'.format(s, s, s, s) }}", "  [text]|[text]**| [text] |[te]"},
      {"{{ '{:03}|{:+}|{:,}|{:.2f}'.format(n, n, n * 1000, f) }}", "00[7]|[+7]|[7,000]|[1.50]"},
      {"{{ '{!r}|{!s}|{!r}'.format(s, s, 'a') }}", "['text']|[text]|'a'"},
      {"{{ braces.format('a', 'b') }},{{ braces.format(1, 2) }}", "a[=***]b,1[=***2]"},
      {"{{ ('{:' ~ s[1] ~ '>3}').format('a') }},{{ ('{:' ~ s[1] ~ '>3}').format(1) }}",
       "[ee]a,[ee1]"},
      {"{{ '{}{}{}'.format(n, yes, 1) }},{{ '{}'.format([n]) }}", "[7True]1,[[7]]"},
      {"{{ '{{' ~ s ~ '}}' }},{{ '{{{}}}'.format(s) }}", "{{[text]}},{[text]}"},
  });
}

// A text may stand where another one stood a moment ago. What is behind its last span is not its
// own, so this puts there what would lead to the wrong answer.
TEST(JinjaOrigins, TextsAtOneAddress) {
  Meter meter(1'000'000, 1 << 20);
  TextWriter to(meter);
  std::optional<Text> text;
  text.emplace("\na\na\n", InputSpans({{0, 1, 1, 0}, {2, 3, 1, 2}, {4, 5, 1, 4}}, nullptr));
  to.change("1", *text, 4);
  InputSpans spans({{0, 1, 2, 0}, {0, 0, 0, 0}, {9, 9, 0, 0}}, nullptr);
  spans.pop_back();
  spans.pop_back();
  text.emplace("\naaaa", std::move(spans));
  to.change("2", *text, 0);
  EXPECT_EQ(parts_of(to.take_rendered()), "[12]");
}

// What is printed of a value that holds anything of the input is all the input's.
TEST(JinjaOrigins, PrintedValues) {
  expect_parts({
      {"{{ ['a', s] }},{{ ['a'] }},{{ (s,) }},{{ (1,) }}",
       "[['a', 'text']],['a'],[('text',)],(1,)"},
      {"{{ {'a': s} }},{{ {s: 1} }},{{ {'a': 1} }},{{ d }}",
       "[{'a': 'text'}],[{'text': 1}],{'a': 1},[{'k': 'v'}]"},
      {"{{ d.keys() }},{{ d.values() }},{{ d.items() }},{{ {'a': 1}.items() }}",
       "[dict_keys(['k'])],[dict_values(['v'])],[dict_items([('k', 'v')])],dict_items([('a', 1)])"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
       "[k]=[vk]"},
      {"{{ d|items|list }},{{ d|dictsort }},{{ d.get('k') }},{{ d.get('x', s) }},{{ d.get('x') }}",
       "[[('k', 'v')]],[[('k', 'v')]],[v],[text],None"},
      {"{{ d.copy() }},{{ dict(a=s) }},{{ dict(d, b=1) }},{{ dict([['a', n]]) }}",
       "[{'k': 'v'}],[{'a': 'text'}],[{'k': 'v', 'b': 1}],[{'a': 7}]"},
      {"{{ namespace(a=s) }},{{ namespace(d) }},{{ namespace(a=1) }}",
       "[<Namespace {'a': 'text'}>],[<Namespace {'k': 'v'}>],<Namespace {'a': 1}>"},
      {"{{ [s|e] }},{{ ['a'|e] }},{{ [nil, yes] }},{{ [none] }}",
       "[[Markup('text')]],[Markup('a')],[[None, True]],[None]"},
      {"{{ [json] }},{{ ['\"\n'] }}", "[['a\"\\n']],['\"\\n']"},
      {"{{ s.upper }},{{ range }},{{ l|map('upper') }},{{ namespace }}",
       "<method object>,<function object>,<generator object>,<function "
       "object>"},
      {"{% for x in l %}{{ loop }}{% endfor %}", "<LoopContext 1/2><LoopContext 2/2>"},
      {"{% macro m(a, b=1) %}{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}",
       "<Macro 'm'>m('a', 'b')"},
  });
}

// The texts that changes stand in are written one after the other, and may lie at one place.
TEST(JinjaOrigins, TextsThatFollowEachOther) {
  expect_parts({
      {"{{ [(json[2] ~ 'a') * 3] }},{{ ['b' ~ json[2]] }},{{ ['b\n'] }}",
       "[['\\na\\na\\na']],[['b\\n']],['b\\n']"},
      {"{% for i in range(4) %}{{ [(json ~ 'a') * (4 - i)] }}{% endfor %}",
       "[['a\"\\naa\"\\naa\"\\naa\"\\na']['a\"\\naa\"\\naa\"\\na']['a\"\\naa\"\\na']['a\"\\na']]"},
      {"{% for i in range(2) %}{{ [(json[2] ~ 'a') * (9 - 8 * i)]|string|length }},{% endfor %}"
       "{{ [json[2] ~ 'a', (json[2] ~ 'b') * 2, 'c\n', json[2]]|join('-') }}",
       "31,7,[\n]a-[\n]b[\n]b-c\n-[\n]"},
  });
}

TEST(JinjaOrigins, Json) {
  expect_parts({
      {"{{ ['a', s]|tojson }},{{ ['a']|tojson }},{{ s|tojson }},{{ 'a'|tojson }}",
       "[[\"a\", \"text\"]],[\"a\"],[\"text\"],\"a\""},
      {"{{ d|tojson }},{{ {'a': n}|tojson }},{{ {'a': 1}|tojson }},{{ {n: 1}|tojson }}",
       "[{\"k\": \"v\"}],[{\"a\": 7}],{\"a\": 1},[{\"7\": 1}]"},
      {"{{ nil|tojson }},{{ yes|tojson }},{{ f|tojson }},{{ none|tojson }}",
       "[null],[true],[1.5],null"},
      {"{{ [1]|tojson(indent=n - 6) }},{{ [1]|tojson(indent=s) }},{{ [1]|tojson(indent=1) }}",
       "[[\n 1\n]],[[\ntext1\n]],[\n 1\n]"},
      {"{{ [1, 2]|tojson(separators=[s, ':']) }},{{ {'a': 1}|tojson(separators=(',', s)) }}",
       "[[1text2]],[{\"a\"text1}]"},
      {"{{ json|tojson }},{{ wide|tojson(ensure_ascii=true) }}",
       "[\"a\\\"\\n\"],[\"\\u00dfa\\u0130\"]"},
      {"<{{ {'b': s, 'a': 1}|tojson(sort_keys=true) }}>", "<[{\"a\": 1, \"b\": \"text\"}]>"},
      {"{{ (d|tojson)[1:4] }}{{ (['<a>', s]|tojson)[1:6] }}", "[\"k\"\"<a>\"]"},
  });
}

TEST(JinjaOrigins, FiltersOfSequences) {
  expect_parts({
      {"{{ l|first }}{{ l|last }}{{ s|first }}{{ (s ~ 'a')|last }}", "[xyt]a"},
      {"{{ ['b', s, 'a']|sort|join(',') }},{{ ['b', s]|sort(reverse=true)|join(',') }}",
       "a,b,[text],[text],b"},
      {"{{ ['b', s]|reverse|join(',') }},{{ [s, 'text']|unique|join(',') }}", "[text],b,[text]"},
      {"{{ ['text', s]|unique|join(',') }},{{ ['a', s]|map('upper')|join(',') }}", "text,A,[TEXT]"},
      {"{% for g in m|groupby('a') %}{{ g.grouper }}:{{ g.list|length }};{% endfor %}",
       "[A]:1;[B]:1;"},
      {"{{ m|map(attribute='a')|join(',') }},{{ m|map(attribute='x', default=s)|join(',') }}",
       "[B],[A],[text],[text]"},
      {"{{ m|sort(attribute='a')|map(attribute='a')|join }},{{ m|min(attribute='a') }}",
       "[AB],[{'a': 'A'}]"},
      {"{{ ['a', s]|select('eq', 'text')|join }},{{ ['a', s]|reject('eq', s)|join }}", "[text],a"},
      {"{{ m|selectattr('a', 'eq', 'A')|list }},{{ m|rejectattr('a')|list }}", "[[{'a': 'A'}]],[]"},
      {"{{ l[1:]|join }},{{ (l + ['a'])|join }},{{ (l * 2)|join }}", "[y],[xy]a,[xyxy]"},
      {"{% for a, b in [(s, 'a')] %}{{ a }}{{ b }}{% endfor %}", "[text]a"},
      {"{% for k, v in {'b': s, 'a': n}|dictsort %}{{ k }}{{ v }}{% endfor %}", "a[7]b[text]"},
      {"{% for c in 'a' ~ s[:2] ~ 'b' %}{{ c }},{% endfor %}", "a,[t],[e],b,"},
  });
}

TEST(JinjaOrigins, Statements) {
  expect_parts({
      {"{% set x %}<{{ s }}>{% endset %}{{ x }}{{ x[1:3] }}{{ x|length }}", "<[text]>[te]6"},
      {"{% set x | upper %}a{{ s }}{% endset %}{{ x }}", "A[TEXT]"},
      {"{% filter upper|replace('X', '-') %}a{{ s }}{% endfilter %}", "A[TE]-[T]"},
      {"{% macro m(x, y=s) %}<{{ x }}{{ y }}>{% endmacro %}{{ m('a') }}{{ m(s, 'b')[1:] }}",
       "<a[text]>[text]b>"},
      {"{% macro m() %}<{{ caller(s) }}>{% endmacro %}{% call(x) m() %}a{{ x }}{% endcall %}",
       "<a[text]>"},
      {"{% set ns = namespace(t='a') %}{% for x in l %}{% set ns.t = ns.t ~ x %}{% endfor %}{{ "
       "ns.t }}",
       "a[xy]"},
      {"{% with x = s %}{{ x }}{% endwith %}{% set a, b = l %}{{ b }}a{{ a }}", "[texty]a[x]"},
      {"{% for x in l %}{{ loop.previtem }}{{ loop.nextitem }},{% endfor %}", "[y],[x],"},
      {"{% for x in l if x == 'y' %}{{ x }}{{ loop.length }}{% else %}none{% endfor %}", "[y]1"},
      {"{% generation %}b{{ s }}{% endgeneration %}", "b[text]"},
      {"{% raw %}{{ s }}{% endraw %}{# {{ s }} #}{{ s }}", "{{ s }}[text]"},
  });
}

// The fields and places that spans name.
TEST(JinjaOrigins, Fields) {
  EXPECT_EQ(shown_fields("{{ s }}"), "[2+0:text]");
  EXPECT_EQ(shown_fields("{{ s[1:3] }}{{ s[2:] }}"), "[2+1:ex][2+2:xt]");
  EXPECT_EQ(shown_fields("{{ s[:2] }}{{ s[2:] }}"), "[2+0:text]");
  EXPECT_EQ(shown_fields("{{ s ~ s }}"), "[2+0:text][2+0:text]");
  EXPECT_EQ(shown_fields("{{ sp.strip() }}{{ sp|trim }}{{ sp.lstrip() }}"),
            "[14+2:p q][14+2:p q][14+2:p q  ]");
  EXPECT_EQ(shown_fields("{{ sp.split() | join('') }}"), "[14+2:p][14+4:q]");
  EXPECT_EQ(shown_fields("{{ s.replace('e', '-') }}"), "[2+0:t]-[2+2:xt]");
  EXPECT_EQ(shown_fields("{{ s.replace('e', '') }}"), "[2+0:t][2+2:xt]");
  EXPECT_EQ(shown_fields("{{ s | upper }}{{ s[1:] | title }}"), "[2+0:TEXT][2+1:Ext]");
  EXPECT_EQ(shown_fields("{{ wide[1:] }}{{ wide.upper()[2:] }}"), "[20+2:aİ][20+2:Aİ]");
  EXPECT_EQ(shown_fields("{{ l[0] }}{{ l[1] }}"), "[8+0:x][9+0:y]");
  EXPECT_EQ(shown_fields("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}"),
            "[11+0:k][12+0:v]");
  EXPECT_EQ(shown_fields("{{ n }}{{ nil }}"), "[0+0:7None]");
  EXPECT_EQ(shown_fields("{{ ('a' ~ s ~ 'b')[2:] }}"), "[2+1:ext]b");
  EXPECT_EQ(shown_fields("{{ mark.split('</think>')[-1] }}"), "[35+16:b]");
  EXPECT_EQ(shown_fields("{{ mark.partition('</think>')[1] }}"), "[35+8:</think>]");
  EXPECT_EQ(shown_fields("{% set x %}{{ s }}{% endset %}{{ x[1:] | trim }}"), "[2+1:ext]");
  EXPECT_EQ(shown_fields("{{ [s] | tojson }}"), "[0+0:[\"][2+0:text][0+0:\"]]");
}

}  // namespace
}  // namespace sluice::jinja
