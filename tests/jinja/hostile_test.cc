// Hostile templates: what nests, recurses, repeats and grows.
#include <gtest/gtest.h>

#include <string>

#include "jinja/render_text.h"

namespace sluice::jinja {
namespace {

TEST(HostileJinja, DeepTemplates) {
  for (const char* open :
       {"(", "[", "{1:", "-", "not ", "x[", "f(", "x|f(", "1 if ", "1 + (", "x.y(a="}) {
    EXPECT_NE(error_of("{{ " + repeated(open, 100'000)).find("of the template"), std::string::npos)
        << open;
  }
  for (const char* tag : {"{% if s %}", "{% for x in list %}", "{% macro m() %}",
                          "{% filter upper %}", "{% set x %}", "{% call f() %}", "{% with %}"}) {
    EXPECT_NE(error_of(repeated(tag, 50'000)).find("nests too deeply"), std::string::npos) << tag;
  }
  for (const char* link : {".a", "[0]", "|upper", "()", " is defined", " if 1 else 2"}) {
    EXPECT_NE(error_of("{{ s" + repeated(link, 50'000) + " }}"), "") << link;
  }
}

TEST(HostileJinja, LongChainsAreNotDeep) {
  EXPECT_EQ(shown("{{ 0" + repeated(" + 1", 10'000) + " }}"), "10000");
  EXPECT_EQ(shown("{{ ''" + repeated(" ~ 'x'", 1'000) + " }}").size(), 1'000u);
  EXPECT_EQ(shown("{% if 0" + repeated(" or 0", 10'000) + " %}a{% else %}b{% endif %}"), "b");
  EXPECT_EQ(shown("{% if 0 %}" + repeated("{% elif 0 %}", 10'000) + "{% else %}c{% endif %}"), "c");
}

TEST(HostileJinja, Recursion) {
  EXPECT_NE(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deeply"),
            std::string::npos);
  EXPECT_NE(error_of("{% macro m(x=m()) %}{% endmacro %}{{ m() }}").find("too deeply"),
            std::string::npos);
  EXPECT_NE(error_of("{{ 'a'|map(" + repeated("'map',", 5'000) + "'list')|list }}")
                .find("nests too deeply while it runs"),
            std::string::npos);
  // A recursion as deep as that of schemas works.
  EXPECT_EQ(shown("{% macro m(n) %}{% if n > 0 %}{% for x in [1] %}{{ m(n - 1) }}{% endfor %}"
                  "{% else %}end{% endif %}{% endmacro %}{{ m(30) }}"),
            "end");
}

TEST(HostileJinja, DeepValues) {
  const std::string nest = "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}";
  for (const char* step : {"[ns.x]", "(ns.x,)", "{'a': ns.x}", "[ns.x]|map('list')",
                           "[ns.x]|reverse", "{'a': ns.x}.items()"}) {
    EXPECT_NE(error_of(nest + "{% set ns.x = " + step + " %}{% endfor %}").find("nests too deeply"),
              std::string::npos)
        << step;
  }
  // Namespaces in namespaces, and in a circle.
  EXPECT_EQ(shown(nest + "{% set ns.x = namespace(x=ns.x) %}{% endfor %}done"), "done");
  EXPECT_EQ(shown("{% set a = namespace() %}{% set a.b = a %}{% set a.m = a.b.b.b %}done"), "done");
  EXPECT_NE(error_of("{% set a = namespace() %}{% set a.b = a %}{{ a }}").find("nests too deeply"),
            std::string::npos);
  EXPECT_EQ(shown("{% for x in [1] %}{{ loop.changed(loop) }}{% endfor %}"), "True");
}

// What holds other values in a way that their text doesn't tell.
TEST(HostileJinja, HiddenDepth) {
  for (const char* body : {"{% set ns.x = loop %}", "{{ loop.length }}{% set ns.x = loop %}"}) {
    EXPECT_EQ(error_of("{% set ns = namespace(x=0) %}{% for i in range(99999) %}"
                       "{% for a in [ns, ns]|map(attribute='x') %}" +
                       std::string(body) + "{% endfor %}{% endfor %}{{ ns.x.index }}"),
              "line 1 of the template: a value nests too deeply")
        << body;
  }
  EXPECT_EQ(error_of("{% set top = namespace(x=[1]|map('abs')) %}{% for i in range(99999) %}"
                     "{% set ns = namespace(x=top.x) %}"
                     "{% set top.x = [ns]|map(attribute='x')|map('list') %}{% endfor %}"
                     "{{ top.x|list }}"),
            "line 1 of the template: a value nests too deeply");
}

TEST(HostileJinja, ALoopsEnd) {
  EXPECT_EQ(
      shown("{% set ns = namespace() %}{% for x in [1, 2, 3] %}{% set ns.l = loop %}{% endfor %}"
            "{{ ns.l.index }}{{ ns.l.length }}{{ ns.l.last }}[{{ ns.l.nextitem }}]"),
      "33True[]");
  EXPECT_EQ(shown("{% set ns = namespace() %}{% for x in [1, 2, 3] if x > 1 %}{% set ns.l = loop %}"
                  "{% endfor %}{{ ns.l.length }}"),
            "2");
  // Nothing is tested any more.
  EXPECT_EQ(shown("{% set ns = namespace() %}{% macro m() %}{% for x in [1, 2, 3] if x %}"
                  "{% set ns.l = loop %}{% break %}{% endfor %}{% endmacro %}"
                  "{{ m() }}{{ ns.l.length }}{{ ns.l.last }}"),
            "1True");
}

// A text of a loop counts its items, which runs the template: here it takes away what is printed.
TEST(HostileJinja, AValueThatGoesWhileItIsPrinted) {
  EXPECT_EQ(
      shown("{% set ns = namespace(a=0, go=false) %}"
            "{% macro m() %}{% set ns.a = 1 %}{% set ns.b = 2 %}{% set ns.c = 3 %}1{% endmacro %}"
            "{% for x in [1, 2] if (not ns.go or m()) %}{% if loop.first %}"
            "{% set ns.a = [loop, 'xxx', 'yyy'] %}{% set ns.go = true %}{{ ns }}{% endif %}"
            "{% endfor %}")
          .substr(0, 57),
      "<Namespace {'a': [<LoopContext 1/2>, 'xxx', 'yyy'], 'go':");
}

TEST(HostileJinja, Time) {
  Limits limits;
  limits.max_work = 200'000;
  // Two lists that double at every level, so that they are small and a walk through them is long.
  const std::string all =
      "{% set r = range(99999) %}{% set ns = namespace(x=[0], y=[0]) %}"
      "{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor "
      "%}";
  for (const char* work : {
           "{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}",
           "{% for a in r %}{{ a in r|list }}{% endfor %}",
           "{{ r|map('string')|list|sort|unique|list }}",
           "{{ ns.x == ns.y }}",
           "{{ ns.x|string|length }}",
           "{{ ns.x|tojson|length }}",
           "{{ [ns.x, ns.y]|sort }}",
           "{% for a in r %}{{ a in r }}{% endfor %}",
           "{% set long = 'ab' * 999999 %}{% for a in r %}{{ long.isalpha() }}{% endfor %}",
           "{% set long = 'ab' * 999999 %}{{ [long] * 9999 == [long] * 9999 }}",
           "{{ ([('a' * 999999) ~ 'b'] * 9999)|sort|length }}",
           "{{ ('a' * 499999 ~ 'b') in 'a' * 999999 }}",
           "{{ ('a' * 999999).replace('a' * 499999 ~ 'b', '') }}",
           "{{ ('a' * 999999).strip('b' * 999999 ~ 'a') }}",
       }) {
    EXPECT_EQ(error_of(all + work, limits).substr(0, 55),
              "line 1 of the template: it takes more than 200000 units")
        << work;
  }
}

// Tuples that double at every level: whether one may be a key is known at once.
TEST(HostileJinja, KeysAreChecked) {
  const std::string all =
      "{% set ns = namespace(x=(0,), y=([],)) %}"
      "{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% set ns.y = (ns.y, ns.y) %}{% endfor "
      "%}";
  EXPECT_EQ(shown(all + "{{ {ns.x: 1}|length }}"), "1");
  EXPECT_EQ(error_of(all + "{{ {ns.y: 1}|length }}"),
            "line 1 of the template: unhashable type: 'tuple'");
}

TEST(HostileJinja, Memory) {
  Limits limits;
  limits.max_memory = 4 << 20;
  limits.max_items = 50'000;
  for (const char* work : {
           "{{ 'x' * 10000000000 }}",
           "{{ ('x' * 1000000) * 1000000 }}",
           "{{ [0] * 10000000000 }}",
           "{{ [0] * 1000000 }}",
           "{{ '%99999999999d' % 1 }}",
           "{{ '%*d' % (999999999, 1) }}",
           "{{ '{:999999999}'.format(1) }}",
           "{{ ('a' * 3000).replace('', 'b' * 3000) }}",
           "{{ (['a' * 9999] * 9999)|join }}",
           "{{ ('a\\n' * 99999)|indent(9999) }}",
           "{{ list|tojson(indent=999999999) }}",
           "{{ ' '.join(['a' * 9999] * 9999) }}",
           "{{ ('a ' * 999999).split() }}",
           "{{ ('a' * 99999).split('a')|length }}",
           "{{ ('\\n' * 99999).splitlines()|length }}",
           "{{ ('\\n' * 99999)|indent|length }}",
           "{{ range(99999)|list }}",
           "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% "
           "endfor %}",
           "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% "
           "endfor %}",
           "{% set ns = namespace(s=[]) %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s + [1] "
           "%}{% endfor %}",
           "{% for i in range(99999) %}{{ 'a long text that is written often' }}{% endfor %}",
           "{% set x %}{% for i in range(99999) %}{{ 'a long text that is written often' }}{% "
           "endfor %}{% endset %}",
           "{% for i in range(99999) %}{% macro m() %}{% endmacro %}{% set x = namespace(a=m) %}{% "
           "endfor %}",
           "{{ ('<' * 999999)|e|e|e|length }}",
           "{{ strftime_now('%c' * 999999) }}",
       }) {
    const std::string message = error_of(work, limits);
    EXPECT_TRUE(message.starts_with("line 1 of the template: "))
        << work << " gives " << message.substr(0, 100);
  }
  EXPECT_NE(error_of(std::string(2 << 20, 'x')).find("at most 1048576"), std::string::npos);
}

TEST(HostileJinja, AnyBytes) {
  EXPECT_EQ(shown("a\xff\xc3(b"), "a\xef\xbf\xbd\xef\xbf\xbd(b");
  EXPECT_EQ(shown("{{ '\\ud83d' }}"), "\xef\xbf\xbd");
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
  EXPECT_EQ(error_of("{{ \x01 }}"), "line 1 of the template: unexpected character '?'");
  EXPECT_EQ(shown(""), "");
}

}  // namespace
}  // namespace sluice::jinja
