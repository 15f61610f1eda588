// The interpreter of chat templates: what tests/jinja/compare.py can't compare with jinja2, that is
// errors and their lines, what is not supported, and what differs between jinja2's versions.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "chat/json.h"
#include "jinja/render_text.h"
#include "jinja/template.h"

namespace sluice::jinja {
namespace {

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
  EXPECT_EQ(error_of("{% if s %}\n"),
            "line 1 of the template: {% endif %} is missing for the tag in line 1");
  EXPECT_EQ(error_of("\n{% if s %}\n{% for x in s %}\n{% endif %}"),
            "line 4 of the template: {% endfor %} is missing for the tag in line 3");
  EXPECT_EQ(error_of("{% for x in s %}{% elif s %}"),
            "line 1 of the template: {% endfor %} is missing for the tag in line 1");
  for (const std::string tag : {"endif", "else", "elif s"}) {
    EXPECT_EQ(error_of("{% " + tag + " %}"),
              "line 1 of the template: nothing is open to which the tag '" +
                  tag.substr(0, tag.find(' ')) + "' could belong")
        << tag;
  }
}

TEST(Jinja, RaisedMessagesAreRecognized) {
  EXPECT_EQ(error_of("\n{{ raise_exception('Roles must\nalternate: ' ~ list) }}"),
            "line 2 of the template: raise_exception: Roles must?alternate: [1, 2]");
}

TEST(Jinja, TheSandboxChangesNothing) {
  for (const char* call : {"list.append(3)", "list.pop()", "list.clear()", "list['extend']([1])",
                           "dict.update(b=1)", "dict.pop('a')", "dict.setdefault('b', 2)"}) {
    expect_refused("{{ " + std::string(call) + " }}", "is unsafe");
  }
  expect_refused("{{ s.__class__.__mro__ }}", "unsafe");
}

TEST(Jinja, UnsupportedTagsAreNamed) {
  for (const std::string tag : {"include", "do", "block", "autoescape", "print"}) {
    EXPECT_EQ(error_of("{% " + tag + " x %}"),
              "line 1 of the template: the tag '" + tag + "' isn't supported here");
  }
  EXPECT_EQ(error_of("{% for x in s recursive %}{% endfor %}"),
            "line 1 of the template: recursive loops aren't supported here");
  for (const std::string stars : {"*", "**"}) {
    EXPECT_EQ(error_of("{{ dict(" + stars + "s) }}"),
              "line 1 of the template: '" + stars + "' in a call isn't supported here");
  }
  for (const std::string name : {"varargs", "kwargs"}) {
    EXPECT_EQ(error_of("{% macro m(a) %}{{ " + name + " }}{% endmacro %}"),
              "line 1 of the template: '" + name + "' isn't supported here");
    EXPECT_EQ(shown("{% macro m(" + name + ") %}{{ " + name + " }}{% endmacro %}{{ m(1) }}"), "1");
  }
}

// What jinja2 and Python have, and no chat template uses.
TEST(Jinja, WhatIsNotSupportedIsNamed) {
  const auto expect_error = [](std::string_view expression, std::string_view message) {
    EXPECT_EQ(error_of("{{ " + std::string(expression) + " }}"),
              "line 1 of the template: " + std::string(message));
  };
  for (const std::string name :
       {"xmlattr", "wordwrap", "filesizeformat", "urlencode", "urlize", "forceescape", "pprint",
        "wordcount", "center", "batch", "slice", "attr", "random"}) {
    expect_error("s|" + name, "the filter '" + name + "' isn't supported here");
  }
  for (const std::string name : {"expandtabs", "format_map", "center", "ljust", "rjust", "zfill",
                                 "swapcase", "istitle", "isidentifier", "isprintable", "isascii",
                                 "encode", "translate", "maketrans", "casefold", "isdecimal"}) {
    expect_error("s." + name + "(9)", "'str object' has no attribute '" + name + "'");
  }
  expect_error("range(9)[::2]", "a step in the slice of a range isn't supported here");
  for (const std::string name : {"depth", "depth0", "cycle"}) {
    EXPECT_EQ(error_of("{% for x in s %}{{ loop." + name + " }}{% endfor %}"),
              "line 1 of the template: loop." + name + " isn't supported here");
  }
  for (const std::string name : {"callable", "escaped", "filter", "test"})
    expect_error("s is " + name, "the test '" + name + "' isn't supported here");
  for (const std::string name : {"cycler", "joiner", "lipsum"})
    expect_error(name + "()", "'" + name + "' is undefined");
  expect_error("'{:{}}'.format(1, 2)", "a field in a format has no end: expected '}'");
  expect_error("'{:#x}'.format(1)", "Invalid format specifier");
  for (const std::string code :
       {"_", "c", "n", "b", "o", "x", "X", "e", "E", "F", "g", "G", "s", "a"}) {
    expect_error("'{:" + code + "}'.format(1)",
                 "the format code '" + code + "' isn't supported here for the type int");
  }
  for (const std::string code :
       {"#x", "*d", ".*f", " d", "c", "a", "u", "o", "x", "X", "e", "E", "F", "g", "G"}) {
    expect_error("'%" + code + "' % 1.5", "the format code '" +
                                              code.substr(code[0] == '.' ? 1 : 0, 1) +
                                              "' isn't supported here for the type float");
  }
  expect_error("'{:d}'.format(1.5)", "the format code 'd' isn't supported here for the type float");
  expect_error("'{:.3}'.format(1.5)", "the format code '' isn't supported here for the type float");
  expect_error("'{:05,}'.format(1)", "the format code ',' isn't supported here for the type int");
  expect_error("'%.2d' % 1", "the format code 'd' isn't supported here for the type int");
  expect_error("'{!a}'.format(1)", "unknown conversion in a format");
  expect_error("'{0.a}'.format(1)", "the format's key '0.a' is missing");
  expect_error("'{0[a]}'.format(1)", "the format's key '0[a]' is missing");
  expect_error("'{:=5}'.format(1)", "Invalid format specifier");
  expect_error("'{: d}'.format(1)", "Invalid format specifier");
  expect_error("'{:-d}'.format(1)", "Invalid format specifier");
  expect_error("'{:05}'.format('a')",
               "the format of a field isn't one for a value of the type str");
  expect_error("'{:5}'.format([1])",
               "the format of a field isn't one for a value of the type list");
  for (const std::string format : {"%,d", "%5", "%", "%-"})
    expect_error("'" + format + "' % 1", "a field of a format is incomplete");
  expect_error("7|round(-1)", "round() supports no precision below 0 here");
  expect_error("list.count(1)", "'list object' has no attribute 'count'");
  expect_error("list.copy()", "'list object' has no attribute 'copy'");
  expect_error("dict.copy()", "'dict object' has no attribute 'copy'");
  for (const std::string code : {"c", "C", "D", "f", "g", "G", "h", "j", "k", "l", "n", "P",
                                 "q", "r", "R", "s", "t", "u", "U", "V", "w", "W", "x", "X"})
    expect_error("strftime_now('%" + code + "')",
                 "strftime_now() doesn't support the code '%" + code + "' here");
  expect_error("namespace([['a', 1]])",
               "dict() and namespace() take another dict here, and nothing of the type list");
}

TEST(Jinja, IntegersOf64Bits) {
  EXPECT_EQ(shown("{{ 9223372036854775807 - 1 }}"), "9223372036854775806");
  for (const char* large : {"9223372036854775807 + 1", "2 ** 63", "9223372036854775808",
                            "-9223372036854775807 - 2", "3037000500 * 3037000500", "1e300|int",
                            "(-9223372036854775807 - 1) // -1", "-(-9223372036854775807 - 1)"}) {
    expect_refused("{{ " + std::string(large) + " }}", "64 bits");
  }
  EXPECT_EQ(shown("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
  for (const char* power : {"10.0 ** 999", "(-8) ** 0.5", "0 ** -1"})
    expect_refused("{{ " + std::string(power) + " }}", "the result of ** is too large");
  EXPECT_EQ(shown("{{ x }}", R"({"x": 18446744073709551615})"), "1.8446744073709552e+19");
}

TEST(Jinja, Dates) {
  const auto at = [](int64_t now, int32_t offset, std::string_view format) {
    RenderOptions options;
    options.now = now;
    options.utc_offset_seconds = offset;
    return *render_text("{{ strftime_now('" + std::string(format) + "') }}", "{}", {}, options);
  };
  EXPECT_EQ(at(0, 0, "%Y-%m-%d %H:%M:%S %a"), "1970-01-01 00:00:00 Thu");
  EXPECT_EQ(at(951782399, 0, "%d %B %Y %T"), "28 February 2000 23:59:59");
  EXPECT_EQ(at(951782400, 0, "%d %b %Y %A"), "29 Feb 2000 Tuesday");
  EXPECT_EQ(at(1735689599, 0, "%a %b %e %T %Y"), "Tue Dec 31 23:59:59 2024");
  EXPECT_EQ(at(1735689599, 3600, "%Y-%m-%dT%I%p"), "2025-01-01T12AM");
  EXPECT_EQ(at(-1, 0, "%F %T"), "1969-12-31 23:59:59");
  EXPECT_EQ(at(0, 0, "%-d/%-m %e %% %"), "1/1  1 % %");
  EXPECT_EQ(at(0, 0, "%-H %z%Z"), "0 ");
  // Python's first and last day, and what is beyond them.
  EXPECT_EQ(at(-62135596800, 0, "%Y %y %a %b %e"), "1 01 Mon Jan  1");
  EXPECT_EQ(at(253402300799, 0, "%F %I %p"), "9999-12-31 11 PM");
  EXPECT_EQ(at(-62135596800, -1, "%F"), "1970-01-01");
  EXPECT_EQ(at(INT64_MAX, 1, "%F"), "1970-01-01");
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

}  // namespace
}  // namespace sluice::jinja
