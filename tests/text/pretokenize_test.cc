// Tests how pre-tokenizers cut texts into words. The words are derived by hand from the patterns.
#include "text/pretokenize.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/unicode.h"

namespace sluice {
namespace {

using Strings = std::vector<std::string>;

Strings words(Splitter splitter, std::string_view text) {
  Strings out;
  WordSplitter split(splitter, text);
  for (std::string_view word = split.next(); !word.empty(); word = split.next()) {
    out.emplace_back(word);
  }
  return out;
}

TEST(Unicode, ClassesOfCharacters) {
  EXPECT_EQ(char_class('a'), CharClass::letter);
  EXPECT_EQ(char_class('7'), CharClass::number);
  EXPECT_EQ(char_class(','), CharClass::punctuation);
  EXPECT_EQ(char_class('$'), CharClass::other);
  EXPECT_EQ(char_class('\n'), CharClass::space);
  EXPECT_EQ(char_class(0x1c), CharClass::other);
  EXPECT_EQ(char_class(0xa0), CharClass::space);
  EXPECT_EQ(char_class(0xbd), CharClass::number);  // one half
  EXPECT_EQ(char_class(0x301), CharClass::mark);   // a combining accent
  EXPECT_EQ(char_class(0x903), CharClass::mark);   // a sign with width
  EXPECT_EQ(char_class(0x1df6), CharClass::mark);
  EXPECT_EQ(char_class(0x2e52), CharClass::punctuation);
  EXPECT_EQ(char_class(0x4e00), CharClass::letter);   // in a range that Unicode names as a whole
  EXPECT_EQ(char_class(0x2ebf0), CharClass::letter);  // new in Unicode 15.1
  EXPECT_EQ(char_class(0x105c0), CharClass::other);   // new in Unicode 16
  EXPECT_EQ(char_class(0x10ffff), CharClass::other);
  EXPECT_EQ(classify("\xc3").kind, CharClass::other);
  EXPECT_EQ(classify("\xc3").length, 1);
  EXPECT_EQ(classify("").kind, CharClass::end);
}

TEST(Unicode, ClassesOfBert) {
  EXPECT_EQ(bert_class('a'), CharClass::letter);
  EXPECT_EQ(bert_class(0x301), CharClass::mark);
  EXPECT_EQ(bert_class(0x903), CharClass::other);   // \p{Mc}
  EXPECT_EQ(bert_class(0x20dd), CharClass::other);  // \p{Me}
  EXPECT_EQ(bert_class(0x3002), CharClass::punctuation);
  // Newer than Unicode 8, or of another class since.
  EXPECT_EQ(bert_class(0x1df6), CharClass::other);
  EXPECT_EQ(bert_class(0x2e52), CharClass::other);
  EXPECT_EQ(bert_class(0x166d), CharClass::punctuation);
  EXPECT_EQ(bert_class(0x1734), CharClass::mark);
}

TEST(Unicode, SmallLetters) {
  const uint32_t pairs[][2] = {
      {'A', 'a'},         {'Z', 'z'},         {'[', '['},         {'a', 'a'},
      {0xc9, 0xe9},       {0xd7, 0xd7},       {0x100, 0x101},     {0x101, 0x101},
      {0x130, 0x130},     {0x178, 0xff},      {0x1c4, 0x1c6},     {0x1c5, 0x1c6},
      {0x3a3, 0x3c3},     {0x410, 0x430},     {0x10a0, 0x2d00},   {0x13a0, 0xab70},
      {0x1e9e, 0xdf},     {0x212a, 'k'},      {0x2126, 0x3c9},    {0xff21, 0xff41},
      {0x10400, 0x10428}, {0x1e921, 0x1e943}, {0x1e922, 0x1e922}, {0x10ffff, 0x10ffff},
  };
  for (const auto& [capital, small] : pairs) EXPECT_EQ(lower_case(capital), small) << capital;
}

TEST(Unicode, UpperCase) {
  const std::pair<uint32_t, uint32_t> pairs[] = {
      {'z', 'Z'},         {'@', '@'},         {0xe5, 0xc5},     {0xf7, 0xf7},
      {0xff, 0x178},      {0x101, 0x100},     {0x100, 0x100},   {0x1c6, 0x1c4},
      {0x1ce, 0x1cd},     {0x1f5, 0x1f4},     {0x3b8, 0x398},   {0x3c9, 0x3a9},
      {0x3c2, 0x3c2},     {0x44f, 0x42f},     {0x10d0, 0x1c90}, {0xff41, 0xff21},
      {0x10428, 0x10400}, {0x1e943, 0x1e921}, {0x4e00, 0x4e00}, {UINT32_MAX, UINT32_MAX},
  };
  for (const auto& [small, capital] : pairs) EXPECT_EQ(upper_case(small), capital) << small;
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(words(Splitter::gpt2, "I'm here, 'S 12ab  x\n\n"),
            (Strings{"I", "'m", " here", ",", " '", "S", " 12", "ab", " ", " x", "\n\n"}));
  EXPECT_EQ(words(Splitter::gpt2, "they'll've'"), (Strings{"they", "'ll", "'ve", "'"}));
  EXPECT_EQ(words(Splitter::gpt2, "   "), (Strings{"   "}));
  EXPECT_EQ(words(Splitter::gpt2, "\t\tx"), (Strings{"\t", "\t", "x"}));
  EXPECT_EQ(words(Splitter::gpt2, " \u00e9\u00bd\u3000!"),
            (Strings{" \u00e9", "\u00bd", "\u3000", "!"}));
}

TEST(PreTokenizer, Llama3) {
  EXPECT_EQ(words(Splitter::llama3, "I'M 1234567$abc"),
            (Strings{"I", "'M", " ", "123", "456", "7", "$abc"}));
  EXPECT_EQ(words(Splitter::llama3, "a \n \n  b"), (Strings{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(words(Splitter::llama3, " ...\r\n\r\nx"), (Strings{" ...\r\n\r\n", "x"}));
  EXPECT_EQ(words(Splitter::llama3, "\tx\nx"), (Strings{"\tx", "\n", "x"}));
  EXPECT_EQ(words(Splitter::llama3, "  12"), (Strings{" ", " ", "12"}));
}

TEST(PreTokenizer, Qwen2TakesDigitsOneByOne) {
  EXPECT_EQ(words(Splitter::qwen2, "ab 123'Ve"), (Strings{"ab", " ", "1", "2", "3", "'Ve"}));
}

TEST(PreTokenizer, Qwen35TakesMarksWithLetters) {
  const std::string acute = "\u0301";
  const auto split = [](std::string_view text) { return words(Splitter::qwen35, text); };
  EXPECT_EQ(split("e" + acute + "a x"), (Strings{"e" + acute + "a", " x"}));
  EXPECT_EQ(split("1" + acute + "a12"), (Strings{"1", acute + "a", "1", "2"}));
  EXPECT_EQ(split("!" + acute + "!"), (Strings{"!" + acute, "!"}));
  EXPECT_EQ(split(" " + acute), (Strings{" " + acute}));
  EXPECT_EQ(split("\n" + acute), (Strings{"\n", acute}));
  EXPECT_EQ(split("?!\n a'Ll"), (Strings{"?!\n", " a", "'Ll"}));
  EXPECT_EQ(words(Splitter::qwen2, "e" + acute + "a x"), (Strings{"e", acute + "a", " x"}));
}

TEST(PreTokenizer, LinesAndRunsOfLineEnds) {
  EXPECT_EQ(words(Splitter::lines, "a b\n\n c\r\n"), (Strings{"a b", "\n\n", " c\r", "\n"}));
}

TEST(PreTokenizer, SmollmCutsAtNumbersFirst) {
  // The part before a number is cut as a text of its own, so both spaces are one word.
  EXPECT_EQ(words(Splitter::smollm, "a  12 b"), (Strings{"a", "  ", "1", "2", " b"}));
  EXPECT_EQ(words(Splitter::smollm, "a  x"), (Strings{"a", " ", " x"}));
}

TEST(PreTokenizer, DefaultAppliesFourPatternsInTurn) {
  EXPECT_EQ(words(Splitter::fallback, "it's $5"), (Strings{"it", "'", "s", " ", "$", "5"}));
  EXPECT_EQ(words(Splitter::fallback, " 12345"), (Strings{" ", "123", "45"}));
  EXPECT_EQ(words(Splitter::fallback, "\uff111234"), (Strings{"\uff11", "123", "4"}));
  EXPECT_EQ(words(Splitter::fallback, "a_b`c"), (Strings{"a", "_", "b", "`", "c"}));
}

TEST(PreTokenizer, EveryByteIsInOneWord) {
  constexpr const char* kParts[] = {
      " ",    "  ",       "a", "Ab", "12",   "'s",       "\n",           "\xc3\xa9",
      "\xff", "\xe2\x96", ".", "$",  "\xe2", "\xc2\xa0", "\xef\xbc\x91", "\xf0\x9f\x98\x80"};
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    while (text.size() < 60) text += kParts[random() % std::size(kParts)];
    for (const Splitter splitter :
         {Splitter::gpt2, Splitter::llama3, Splitter::qwen2, Splitter::qwen35, Splitter::smollm,
          Splitter::lines, Splitter::fallback}) {
      std::string joined;
      for (const std::string& word : words(splitter, text)) joined += word;
      EXPECT_EQ(joined, text);
    }
  }
}

}  // namespace
}  // namespace sluice
