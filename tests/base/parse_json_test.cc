// parse_json() against nlohmann-json's parser: the same finds, in the same order.
#include "base/parse_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice {
namespace {

// Writes down what a parser finds.
struct Finds final : JsonReceiver, nlohmann::json_sax<nlohmann::ordered_json> {
  std::string list;
  size_t most = SIZE_MAX;  // it ends the parsing behind these

  bool note(const std::string& find) {
    list += find + "\n";
    return most-- > 1;
  }
  bool null() override { return note("null"); }
  bool boolean(bool value) override { return note(value ? "true" : "false"); }
  bool negative_integer(int64_t value) override { return note("-" + std::to_string(value)); }
  bool integer(uint64_t value) override { return note("+" + std::to_string(value)); }
  bool number(double value) override {
    return note("." + std::to_string(std::bit_cast<uint64_t>(value)));
  }
  bool string(std::string value) override { return note("'" + value); }
  bool start_object() override { return note("{"); }
  bool key(std::string value) override { return note(":" + value); }
  bool end_object() override { return note("}"); }
  bool start_array() override { return note("["); }
  bool end_array() override { return note("]"); }

  bool number_integer(int64_t value) override { return negative_integer(value); }
  bool number_unsigned(uint64_t value) override { return integer(value); }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool string(std::string& value) override { return note("'" + value); }
  bool binary(nlohmann::ordered_json::binary_t&) override { return false; }
  bool start_object(size_t) override { return start_object(); }
  bool key(std::string& value) override { return note(":" + value); }
  bool start_array(size_t) override { return start_array(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
};

void compare(const std::string& text, size_t most = SIZE_MAX) {
  Finds mine, theirs;
  mine.most = theirs.most = most;
  const bool valid = parse_json(text, mine);
  EXPECT_EQ(valid, nlohmann::ordered_json::sax_parse(
                       text, static_cast<nlohmann::json_sax<nlohmann::ordered_json>*>(&theirs)))
      << text;
  if (valid) {
    EXPECT_EQ(mine.list, theirs.list) << text;
  }
}

const std::vector<std::string> kTexts = {
    R"({"a":[1,-2,3.5e-7,true,false,null,"x"],"b":{"c":{},"d":[]}, "a" : "again"})",
    "",
    " ",
    "\xef\xbb\xbf[1]",
    "\xef\xbb[1]",
    "{} x",
    "{}\t\r\n ",
    "[1,]",
    "[,1]",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{a:1}",
    "{\"a\":1]",
    "[1}",
    "[[[",
    "]",
    "1",
    "-1",
    "-",
    "+1",
    "01",
    "-01",
    "0",
    "-0",
    "-0.0",
    "1.",
    ".5",
    "1.5e",
    "1.5e+",
    "1E5",
    "1e-05",
    "1e999",
    "-1e999",
    "1e-999",
    "123456789012345678901234567890",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "0.1000000000000000055511151231257827",
    "nul",
    "nulL",
    "truefalse",
    "NaN",
    "Infinity",
    "\"",
    "\"\\",
    "\"a\tb\"",
    "\"\x7f\"",
    R"("\"\\\/\b\f\n\r\t\u00e9\u20AC\uD83D\uDE00\u0000")",
    R"("\x")",
    R"("\u12")",
    R"("\u12g4")",
    R"("\ud83d")",
    R"("\ud83dx")",
    R"("\ud83d\n")",
    R"("\ud83d\ud83d")",
    R"("\ud83d\ue000")",
    R"("\ude00")",
    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
    "\"\xc3\"",
    "\"\xed\xa0\x80\"",
    "\"\xc0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "// no comment\n1",
    std::string("\"a\0\"", 4),
};

TEST(ParseJson, FindsWhatNlohmannFinds) {
  for (const std::string& text : kTexts) compare(text);
  for (size_t most = 1; most < 30; ++most) compare(kTexts[0], most);
}

TEST(ParseJson, CutAndChangedTexts) {
  const std::string whole =
      R"({"k\u00e9\ud83d\ude00":[1,-20.5e+3,true,null,{"":"\\ é"}],"b":[false,0.25]})";
  for (size_t i = 0; i < whole.size(); ++i) {
    compare(whole.substr(0, i));
    for (const char c : std::string("\0\x1f \"\\,:[]{}-+.0e9utd\x80\xff", 22)) {
      std::string text = whole;
      text[i] = c;
      compare(text);
      text = whole;
      compare(text.insert(i, 1, c));
    }
  }
}

TEST(ParseJson, TellsWhereAndNestsDeep) {
  Finds finds;
  size_t at = 0;
  EXPECT_FALSE(parse_json(std::string_view("1\0", 2), finds));  // nlohmann-json ends there
  EXPECT_FALSE(parse_json("{\"a\": }", finds, &at));
  EXPECT_EQ(at, 7u);
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(parse_json(deep, finds, &at));
  EXPECT_TRUE(parse_json(deep + std::string(deep.size(), ']'), finds));
}

std::string checked(const std::string& text, const JsonLimits& limits = {}, size_t* at = nullptr) {
  const Status sound = check_json(text, limits, at);
  return sound ? "" : sound.error().message;
}

std::string times(size_t n, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(CheckJson, EndsWhereALimitIsPassed) {
  size_t at = 0;
  EXPECT_EQ(checked(times(1'000'000, "["), {}, &at), "it has values in more than 64 others");
  EXPECT_EQ(at, 65u);
  EXPECT_EQ(checked(times(1'000'000, "{\"a\":"), {.depth = 3}, &at),
            "it has values in more than 3 others");
  EXPECT_EQ(at, 16u);
  EXPECT_EQ(checked("[" + times(1'000'000, "0,"), {.parts = 10}, &at),
            "its JSON has more than 10 parts");
  EXPECT_LE(at, 22u);
  EXPECT_EQ(checked("[" + times(1'000'000, "{},"), {.parts = 10}, &at),
            "its JSON has more than 10 parts");
  EXPECT_LE(at, 22u);
  EXPECT_EQ(checked("{" + times(1'000'000, "\"a\":0,"), {.names = 5}, &at),
            "an object of it has more than 5 names");
  EXPECT_LE(at, 37u);
  EXPECT_EQ(checked("{\"a\": }", {}, &at), "it is no JSON");
  EXPECT_EQ(at, 7u);
}

TEST(CheckJson, TakesWhatIsWithinTheLimits) {
  EXPECT_EQ(checked(times(64, "[") + times(64, "]")), "");
  EXPECT_EQ(checked("[" + times(1000, "[[]],") + "0]", {.depth = 3}), "");
  EXPECT_EQ(checked("[1,2,3,4,{\"a\":5}]", {.parts = 10}), "");
  EXPECT_NE(checked("[1,2,3,4,{\"a\":5}]", {.parts = 9}), "");
  EXPECT_EQ(checked(R"([{"a":0,"b":{"a":0,"b":0}},{"a":0,"b":0}])", {.names = 2}), "");
  EXPECT_NE(checked(R"([{"a":0,"b":{"a":0,"b":0},"c":0}])", {.names = 2}), "");
}

}  // namespace
}  // namespace sluice
