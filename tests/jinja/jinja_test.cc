// The interpreter of chat templates: what tests/jinja/compare.py can't compare with jinja2, that is
// errors and their lines, limits, hostile templates, and what differs between jinja2's versions.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "chat/json.h"
#include "jinja/template.h"

namespace sluice::jinja {
namespace {

Result<std::string> render(std::string_view source, std::string_view context = "{}",
                           const Limits& limits = {}, const RenderOptions& options = {}) {
  SLUICE_ASSIGN(const Template made, Template::parse(source, limits));
  SLUICE_ASSIGN(const Value values, value_from_json(context));
  SLUICE_ASSIGN(Rendered rendered, made.render(values, options));
  return std::move(rendered.text);
}

std::string shown(std::string_view source, std::string_view context = "{}") {
  const auto text = render(source, context);
  return text ? *text : "error: " + text.error().message;
}

// The message of an error, which must be one.
std::string error_of(std::string_view source, const Limits& limits = {}) {
  const auto text = render(source, R"({"s": "text", "list": [1, 2], "dict": {"a": 1}})", limits);
  if (text) return "no error: " + *text;
  EXPECT_EQ(text.error().code, Code::invalid_argument);
  return text.error().message;
}

std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

TEST(Jinja, RendersAChat) {
  EXPECT_EQ(
      shown(
          "{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}\n{% endfor %}"
          "{% if add_generation_prompt %}<assistant>{% endif %}",
          R"({"messages": [{"role": "user", "content": " Hi "}], "add_generation_prompt": true})"),
      "<user>Hi\n<assistant>");
}

TEST(Jinja, KeepsTheOrderOfMembers) {
  EXPECT_EQ(
      shown("{{ x | tojson }}", R"({"x": {"z": 1, "a": {"y": 2, "b": 3}, "m": [1.0, 1e3, "é"]}})"),
      R"({"z": 1, "a": {"y": 2, "b": 3}, "m": [1.0, 1000.0, "é"]})");
  EXPECT_EQ(shown("{{ x }}", R"({"x": {"a": 1, "b": 2, "a": 3}})"), "{'a': 3, 'b': 2}");
}

TEST(Jinja, ErrorsTellTheLine) {
  EXPECT_EQ(error_of("one\n{{ s }}\n{{ s.foo.bar }}"),
            "line 3 of the template: 'str object' has no attribute 'foo'");
  EXPECT_EQ(error_of("{% if s %}\n\n{{ 1 + }}{% endif %}"),
            "line 3 of the template: expected an expression, found the end of the tag");
  EXPECT_EQ(error_of("\n{{ 'abc }}"), "line 2 of the template: a text has no end; ' is missing");
  EXPECT_EQ(error_of("{% macro m() %}\n\n{% endmacro %}\n{{ m() + 1 }}"),
            "line 4 of the template: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(error_of("{#-\n\n-#}\n{{ nothing() }}"),
            "line 4 of the template: 'nothing' is undefined");
  EXPECT_EQ(error_of("{% if s %}\n"), "line 1 of the template: {% endif %} is missing");
}

TEST(Jinja, RaisedMessagesAreRecognized) {
  EXPECT_EQ(error_of("\n{{ raise_exception('Roles must\nalternate: ' ~ list) }}"),
            "line 2 of the template: raise_exception: Roles must?alternate: [1, 2]");
}

TEST(Jinja, TheSandboxChangesNothing) {
  for (const char* call : {"list.append(3)", "list.pop()", "list.clear()", "list['extend']([1])",
                           "dict.update(b=1)", "dict.pop('a')", "dict.setdefault('b', 2)"}) {
    EXPECT_NE(error_of("{{ " + std::string(call) + " }}").find("is unsafe"), std::string::npos)
        << call;
  }
  EXPECT_NE(error_of("{{ s.__class__.__mro__ }}").find("unsafe"), std::string::npos);
}

TEST(Jinja, UnsupportedTagsAreNamed) {
  EXPECT_EQ(
      error_of("{% include 'other' %}"),
      "line 1 of the template: the tag 'include' is not supported: there are no other templates");
  EXPECT_EQ(error_of("{% do list %}"), "line 1 of the template: unknown tag 'do'");
  EXPECT_NE(error_of("{% autoescape true %}{% endautoescape %}").find("autoescape"),
            std::string::npos);
}

TEST(Jinja, IntegersOf64Bits) {
  EXPECT_EQ(shown("{{ 9223372036854775807 - 1 }}"), "9223372036854775806");
  for (const char* large : {"9223372036854775807 + 1", "2 ** 63", "9223372036854775808",
                            "-9223372036854775807 - 2", "3037000500 * 3037000500", "1e300|int",
                            "(-9223372036854775807 - 1) // -1", "-(-9223372036854775807 - 1)"}) {
    EXPECT_NE(error_of("{{ " + std::string(large) + " }}").find("64 bits"), std::string::npos)
        << large;
  }
  EXPECT_EQ(shown("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
  EXPECT_EQ(shown("{{ x }}", R"({"x": 18446744073709551615})"), "1.8446744073709552e+19");
}

TEST(Jinja, Dates) {
  const auto at = [](int64_t now, int32_t offset, std::string_view format) {
    RenderOptions options;
    options.now = now;
    options.utc_offset_seconds = offset;
    return *render("{{ strftime_now('" + std::string(format) + "') }}", "{}", {}, options);
  };
  EXPECT_EQ(at(0, 0, "%Y-%m-%d %H:%M:%S %a %j"), "1970-01-01 00:00:00 Thu 001");
  EXPECT_EQ(at(951782399, 0, "%d %B %Y %T"), "28 February 2000 23:59:59");
  EXPECT_EQ(at(951782400, 0, "%d %b %Y %A"), "29 Feb 2000 Tuesday");
  EXPECT_EQ(at(1735689599, 0, "%Y %j %U %W %V %G %u"), "2024 366 52 53 01 2025 2");
  EXPECT_EQ(at(1735689599, 3600, "%Y-%m-%dT%I%p"), "2025-01-01T12AM");
  EXPECT_EQ(at(-1, 0, "%F %T"), "1969-12-31 23:59:59");
  EXPECT_EQ(at(0, 0, "%-d/%-m %e %% %"), "1/1  1 % %");
  EXPECT_EQ(at(0, 0, "%q %-q %- %z%Z %f %-H"), "%q %q %  000000 0");
  // Python's first and last day, and what is beyond them.
  EXPECT_EQ(at(-62135596800, 0, "%Y %C %y %G %j %V %c"), "1 00 01 1 001 01 Mon Jan  1 00:00:00 1");
  EXPECT_EQ(at(253402300799, 0, "%F %G-W%V %l %P"), "9999-12-31 9999-W52 11 pm");
  EXPECT_EQ(at(-62135596800, -1, "%F"), "1970-01-01");
  EXPECT_EQ(at(INT64_MAX, 1, "%F %s"), "1970-01-01 9223372036854775807");
}

TEST(Jinja, NewerThanDebiansJinja2) {
  EXPECT_EQ(shown("{% set ns = namespace() %}{% set ns.a, b = 1, 2 %}{{ ns.a }}{{ b }}"), "12");
  EXPECT_EQ(shown("{{ 'inf' | int(3) }}"), "3");
}

TEST(Jinja, ATemplateCanBeSharedByThreads) {
  const auto made = Template::parse("{% for i in range(200) %}{{ x ~ 'y' ~ i }}{% endfor %}");
  ASSERT_TRUE(made.has_value());
  const Value context = *value_from_json(R"({"x": "shared"})");
  const std::string expected = made->render(context)->text;
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (std::string& text : texts) threads.emplace_back([&] { text = made->render(context)->text; });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
}

TEST(Jinja, JsonIsChecked) {
  EXPECT_EQ(value_from_json("{\"a\": }").error().message, "this is not valid JSON, at byte 7");
  EXPECT_FALSE(value_from_json("").has_value());
  EXPECT_FALSE(value_from_json("{} {}").has_value());
  EXPECT_FALSE(value_from_json("[\"\xff\"]").has_value());
  EXPECT_TRUE(value_from_json(repeated("[", 64) + repeated("]", 64)).has_value());
  EXPECT_EQ(value_from_json(repeated("[", 65) + repeated("]", 65)).error().message,
            "the JSON nests deeper than 64 levels");
  const std::string most = "[" + repeated("0,", 999'998) + "0";
  EXPECT_TRUE(value_from_json(most + "]").has_value());  // the list is one, too
  EXPECT_EQ(value_from_json(most + ",0,0").error().message,
            "the JSON has more than 1000000 values and names");
}

// --- hostile templates ---

TEST(HostileJinja, DeepTemplates) {
  for (const char* open :
       {"(", "[", "{1:", "-", "not ", "x[", "f(", "x|f(", "1 if ", "1 + (", "x.y(a="}) {
    EXPECT_NE(error_of("{{ " + repeated(open, 100'000)).find("of the template"), std::string::npos)
        << open;
  }
  for (const char* tag :
       {"{% if s %}", "{% for x in list %}", "{% macro m() %}", "{% filter upper %}", "{% set x %}",
        "{% call f() %}", "{% with %}", "{% block b %}"}) {
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
  EXPECT_NE(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("too deeply"),
            std::string::npos);
  // A recursion as deep as that of schemas works.
  EXPECT_EQ(shown("{% macro m(n) %}{% if n > 0 %}{% for x in [1] %}{{ m(n - 1) }}{% endfor %}"
                  "{% else %}end{% endif %}{% endmacro %}{{ m(30) }}"),
            "end");
}

TEST(HostileJinja, DeepValues) {
  const std::string nest = "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}";
  for (const char* step : {"[ns.x]", "(ns.x,)", "{'a': ns.x}", "ns.x|map('first')",
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

// What holds other values in a way that their depth doesn't tell.
TEST(HostileJinja, HiddenDepth) {
  // A loop that is over holds no longer what it went through, which may be another loop.
  for (const char* body : {"{% set ns.x = loop %}", "{{ loop.length }}{% set ns.x = loop %}"}) {
    EXPECT_EQ(shown("{% set ns = namespace(x=0) %}{% for i in range(99999) %}"
                    "{% for a in [ns, ns]|map(attribute='x') %}" +
                    std::string(body) + "{% endfor %}{% endfor %}{{ ns.x.index }}")
                  .back(),
              '2')
        << body;
  }
  // Iterators that ask others for their items, or themselves.
  const std::string error = "line 1 of the template: it nests too deeply while it runs";
  EXPECT_EQ(
      error_of("{% set ns = namespace() %}"
               "{% set ns.x = ([ns] * 99999)|map(attribute='x')|map('list') %}{{ ns.x|list }}"),
      error);
  EXPECT_EQ(error_of("{% set top = namespace(x=[1]|map('abs')) %}{% for i in range(99999) %}"
                     "{% set ns = namespace(x=top.x) %}"
                     "{% set top.x = [ns]|map(attribute='x')|map('list') %}{% endfor %}"
                     "{{ top.x|list }}"),
            error);
}

TEST(HostileJinja, ALoopsEnd) {
  EXPECT_EQ(
      shown("{% set ns = namespace() %}{% for x in [1, 2, 3] %}{% set ns.l = loop %}{% endfor %}"
            "{{ ns.l.index }}{{ ns.l.length }}{{ ns.l.last }}[{{ ns.l.nextitem }}]"),
      "33True[]");
  EXPECT_EQ(shown("{% set ns = namespace() %}{% for x in [1, 2, 3] if x > 1 %}{% set ns.l = loop %}"
                  "{% endfor %}{{ ns.l.length }}"),
            "2");
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
