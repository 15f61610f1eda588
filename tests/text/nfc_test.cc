// Tests of normalization form C. The forms are those of the standard's examples (UAX 15).
#include "text/nfc.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice {
namespace {

std::string nfc(std::string_view text, size_t part = 1 << 20) {
  static const Nfc kNfc;
  std::string out;
  while (!text.empty()) text.remove_prefix(kNfc.append(text, part, out));
  return out;
}

TEST(Nfc, Composes) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("plain text"), "plain text");
  EXPECT_EQ(nfc("e\u0301te\u0301"), "\u00e9t\u00e9");
  EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");
  EXPECT_EQ(nfc("a\u0323\u0302"), "\u1ead");  // in two steps
  EXPECT_EQ(nfc("a\u0302\u0323"), "\u1ead");  // the same marks in the other order
  EXPECT_EQ(nfc("s\u0323\u0307"), "\u1e69");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");  // nothing to compose, but the order
  EXPECT_EQ(nfc("\u03b1\u0313\u0300\u0345"), "\u1f82");
  EXPECT_EQ(nfc("a\u0301\u0301"), "\u00e1\u0301");
  EXPECT_EQ(nfc("\u0301a"), "\u0301a");
  EXPECT_EQ(nfc("\U000110a5\U000110ba"), "\U000110ab");  // beyond 16 bits
}

TEST(Nfc, CharactersThatAlwaysBecomeOthers) {
  EXPECT_EQ(nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(nfc("\uf900"), "\u8c48");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // never composed
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(nfc("\ufb2c"), "\u05e9\u05bc\u05c1");
  EXPECT_EQ(nfc("\U0001d15e"), "\U0001d157\U0001d165");
}

TEST(Nfc, Hangul) {
  EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(nfc("\u1112\u1161"), "\ud558");
  EXPECT_EQ(nfc("\ud558\u11ab"), "\ud55c");
  EXPECT_EQ(nfc("\ud55c\u11ab"), "\ud55c\u11ab");
  EXPECT_EQ(nfc("\u1112\u11ab"), "\u1112\u11ab");
}

TEST(Nfc, InvalidBytesStay) { EXPECT_EQ(nfc("e\xff\u0301\xe2\x96"), "e\xff\u0301\xe2\x96"); }

TEST(Nfc, InPartsAsWhole) {
  const char* const kParts[] = {"e",      " ",      "\u0301", "\u0323", "\u0345",
                                "\u1112", "\u1161", "\u11ab", "\ud558", "\u0f71\u0f72",
                                "\u0344", "\uf900", "\xff"};
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += kParts[random() % std::size(kParts)];
    const std::string whole = nfc(text);
    EXPECT_EQ(nfc(whole), whole);
    EXPECT_LE(text.size(), 3 * whole.size());
    for (const size_t part : {1u, 5u, 20u}) EXPECT_EQ(nfc(text, part), whole) << part;
  }
}

}  // namespace
}  // namespace sluice
