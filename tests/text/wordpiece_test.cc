// Tests of WordPiece with small vocabularies made here. The ids are those of Hugging Face's
// tokenizers.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/format.h"
#include "make/gguf_builder.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace sluice {
namespace {

using Ids = std::vector<TokenId>;
using Strings = std::vector<std::string>;

constexpr TokenId kUnk = 1, kCls = 2, kSep = 3, kMask = 4;

Result<Tokenizer> build(const GgufBuilder& file) {
  const std::string header = file.header();
  const auto gguf = parse_gguf(as_bytes(header));
  if (!gguf) return std::unexpected(gguf.error());
  return Tokenizer::from_gguf(*gguf);
}

Tokenizer must_build(const GgufBuilder& file) {
  auto tokenizer = build(file);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().message;
    std::abort();
  }
  return std::move(*tokenizer);
}

// [PAD], [UNK], [CLS], [SEP], [MASK], then tokens that begin words and those with ## that go on
// with one, from 5 on, as a converter writes them.
GgufBuilder words(const Strings& tokens) {
  Strings texts = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<int32_t> types(texts.size(), 3);
  for (const std::string& token : tokens) {
    texts.push_back(token.starts_with("##") ? token.substr(2) : std::string(kSpaceSign) + token);
  }
  types.resize(texts.size(), 1);
  GgufBuilder file;
  file.kv_string("tokenizer.ggml.model", "bert")
      .kv_strings("tokenizer.ggml.tokens", texts)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types);
  return file;
}

GgufBuilder with_rules(const Strings& tokens, bool lowercase, bool strip_accents) {
  return words(tokens)
      .kv_bool("tokenizer.ggml.normalizer.lowercase", lowercase)
      .kv_bool("tokenizer.ggml.normalizer.strip_accents", strip_accents);
}

// The tokens of a text as a vocabulary of words has them, with spaces between them.
std::string pieces(const Tokenizer& t, std::string_view text, bool special = false) {
  std::string out;
  for (const TokenId id : t.encode(text, special)) {
    std::string_view token = t.raw_token(id);
    const bool begins = token.starts_with(kSpaceSign);
    if (begins) token.remove_prefix(kSpaceSign.size());
    out += out.empty() ? "" : " ";
    out += begins || t.is_special(id) ? "" : "##";
    out += token;
  }
  return out;
}

TEST(WordPiece, CutsWordsIntoTheLongestTokens) {
  const Tokenizer t = must_build(words({"un", "unit", "##it", "##able", "##a", "##ble", "bed"}));
  EXPECT_EQ(pieces(t, "unable"), "un ##able");
  EXPECT_EQ(pieces(t, "unit"), "unit");
  EXPECT_EQ(pieces(t, "unitable bed"), "unit ##able bed");
  EXPECT_EQ(pieces(t, "unaable"), "un ##a ##able");
  EXPECT_EQ(pieces(t, "unbed un"), "[UNK] un");  // the whole word
  EXPECT_EQ(pieces(t, "able"), "[UNK]");         // only inside words
  EXPECT_EQ(pieces(t, ""), "");
  EXPECT_EQ(pieces(t, " \t\n"), "");
  EXPECT_EQ(t.model(), "bert");
  EXPECT_EQ(t.pre_tokenizer(), "");
  EXPECT_TRUE(t.warnings().empty());
}

TEST(WordPiece, SmallLettersWithoutAccents) {
  const Strings tokens = {"e", "\u00e9", "i", "\u03c3", "\u0441", "k", "##\u0307", "\u01c6", "A"};
  const Tokenizer t = must_build(words(tokens));
  for (const char* text : {"e", "E", "\u00c9", "\u00e9", "e\u0301", "E\u0323\u0302", "\u1ec6"})
    EXPECT_EQ(pieces(t, text), "e") << text;
  EXPECT_EQ(pieces(t, "\u0130"), "i");
  EXPECT_EQ(pieces(t, "\u212a"), "k");
  EXPECT_EQ(pieces(t, "\u03a3"), "\u03c3");
  EXPECT_EQ(pieces(t, "\u0421"), "\u0441");
  EXPECT_EQ(pieces(t, "\u01c5"), "\u01c6");
  EXPECT_EQ(pieces(t, "\u0301"), "");  // nothing is left of it
  EXPECT_EQ(pieces(t, "A"), "[UNK]");

  const Tokenizer accents = must_build(with_rules(tokens, true, false));
  EXPECT_EQ(pieces(accents, "\u00c9"), "\u00e9");
  EXPECT_EQ(pieces(accents, "e\u0307"), "e ##\u0307");
  EXPECT_EQ(pieces(accents, "\u0130"), "i ##\u0307");  // the only one with two small characters
  const Tokenizer cased = must_build(with_rules(tokens, false, true));
  EXPECT_EQ(pieces(cased, "A"), "A");
  EXPECT_EQ(pieces(cased, "\u00e9"), "e");
  // Without a key of their own, accents go with the capitals.
  const Tokenizer plain =
      must_build(words(tokens).kv_bool("tokenizer.ggml.normalizer.lowercase", false));
  EXPECT_EQ(pieces(plain, "A \u00e9"), "A \u00e9");
}

TEST(WordPiece, OnlyMarksWithoutWidthAreAccents) {
  const Strings tokens = {"a", "##\u302e", "##\u1b44", "##\u0903", "##\u1df6"};
  const Tokenizer t = must_build(words(tokens));
  EXPECT_EQ(pieces(t, "a\u0903\u0901"), "a ##\u0903");
  EXPECT_EQ(pieces(t, "a\u1df6"), "a ##\u1df6");  // in Unicode since version 10
  // Those that stay have the order of decompositions.
  EXPECT_EQ(pieces(t, "a\u302e\u1b44"), "a ##\u1b44 ##\u302e");
  EXPECT_EQ(pieces(t, "a\u302e\u0301\u1b44"), "a ##\u1b44 ##\u302e");
  EXPECT_EQ(pieces(t, "a\u302e\u0a41\u1b44"), "a ##\u302e ##\u1b44");  // not past a vowel sign
  EXPECT_EQ(pieces(must_build(with_rules(tokens, true, false)), "a\u302e\u1b44"),
            "a ##\u302e ##\u1b44");
}

TEST(WordPiece, HangulIsTakenApart) {
  const Tokenizer t = must_build(words({"\u1112", "##\u1161", "##\u11ab", "\ud55c"}));
  EXPECT_EQ(pieces(t, "\ud55c"), "\u1112 ##\u1161 ##\u11ab");
  EXPECT_EQ(pieces(t, "\ud558\ud558"), "[UNK]");
  EXPECT_EQ(pieces(must_build(with_rules({"\ud55c"}, false, false)), "\ud55c"), "\ud55c");
}

TEST(WordPiece, SignsAndChineseCharactersAreWords) {
  const Tokenizer t = must_build(
      words({"a", "##a", "-", "$", "~", "\u3002", "\u6f22", "\u8c48", "\u304b", "##\u304b", ";"}));
  EXPECT_EQ(pieces(t, "a-a$~a\u3002"), "a - a $ ~ a \u3002");
  EXPECT_EQ(pieces(t, "a\u6f22\u6f22a"), "a \u6f22 \u6f22 a");
  EXPECT_EQ(pieces(t, "\uf900"), "\u8c48");
  EXPECT_EQ(pieces(t, "\u304b\u304b"), "\u304b ##\u304b");
  EXPECT_EQ(pieces(t, "a\u037ea"), "a ; a");      // it becomes one
  EXPECT_EQ(pieces(t, "a\u00a9a a"), "[UNK] a");  // a symbol is no sign beyond ASCII
  EXPECT_EQ(pieces(t, "a\u2e52a"), "[UNK]");      // nor is newer punctuation
}

TEST(WordPiece, WhitespaceAndControlCharacters) {
  const Tokenizer t = must_build(words({"a", "##a"}));
  for (const char* space :
       {" ", "\t", "\n", "\r", "\u00a0", "\u2003", "\u2028", "\u3000", "\u1680"})
    EXPECT_EQ(pieces(t, concat("a", space, "a")), "a a");
  for (const char* none : {"\v", "\x1f", "\x7f", "\u0085", "\u00ad", "\u200d", "\ufeff", "\ufffd",
                           "\ue000", "\U000e0041", "\xff", "\xe2\x82", "\u0301"})
    EXPECT_EQ(pieces(t, concat("a", none, "a")), "a ##a");
  EXPECT_EQ(pieces(t, std::string_view("a\0a", 3)), "a ##a");
}

TEST(WordPiece, LongWordsAreUnknown) {
  const Tokenizer t = must_build(words({"a", "##a"}));
  EXPECT_EQ(t.encode(std::string(100, 'a')).size(), 100u);
  EXPECT_EQ(t.encode(std::string(101, 'a')), Ids{kUnk});
  EXPECT_EQ(t.encode(std::string(10 << 20, 'a')), Ids{kUnk});
  std::string accents(100, 'a');
  for (int i = 0; i < 1000; ++i) accents += "\u0301";
  EXPECT_EQ(t.encode(accents).size(), 100u);
  EXPECT_EQ(t.encode(std::string(101, 'a') + " a"), (Ids{kUnk, 5}));
}

TEST(WordPiece, TheSignOfAWordIsNoCharacterOfTheText) {
  const Tokenizer t = must_build(words({"a", "##a", "##\u2581"}));  // the last one: "\u2581"
  EXPECT_EQ(pieces(t, "\u2581"), "[UNK]");
  EXPECT_EQ(pieces(t, "a\u2581a"), "[UNK]");
  EXPECT_EQ(pieces(t, "b"), "[UNK]");
}

TEST(WordPiece, SpecialTokensAreCutOut) {
  const Tokenizer t = must_build(words({"a", "##a", "[", "]", "mask"}));
  EXPECT_EQ(pieces(t, "a[MASK]a [SEP]", true), "a [MASK] a [SEP]");
  EXPECT_EQ(pieces(t, "a[MASK]a"), "a [ mask ] a");
  EXPECT_EQ(t.encode("a [MASK]", true), (Ids{5, kMask}));
  EXPECT_EQ(t.framed(t.encode("a")), (Ids{kCls, 5, kSep}));
  EXPECT_EQ(t.framed(t.encode("[CLS]a", true)), (Ids{kCls, kCls, 5, kSep}));
  EXPECT_EQ(t.with_prefix(t.encode("a")), (Ids{kCls, 5}));
}

Ids frame_of(const GgufBuilder& file) { return must_build(file).framed({}); }

TEST(WordPiece, IdsOfSpecialTokens) {
  const Tokenizer t = must_build(words({"a"}));  // by their texts
  EXPECT_EQ(t.bos(), kCls);
  EXPECT_EQ(t.eos(), kSep);
  EXPECT_EQ(t.mask(), kMask);
  EXPECT_EQ(frame_of(words({"a", "b"})
                         .kv_u32("tokenizer.ggml.cls_token_id", 5)
                         .kv_u32("tokenizer.ggml.bos_token_id", 2)
                         .kv_u32("tokenizer.ggml.seperator_token_id", 6)),
            (Ids{5, 6}));
  EXPECT_EQ(frame_of(words({"a", "b"})
                         .kv_u32("tokenizer.ggml.bos_token_id", 6)
                         .kv_u32("tokenizer.ggml.eos_token_id", 5)),
            (Ids{6, 5}));
  // Other keys change nothing: llama.cpp doesn't ask them either.
  EXPECT_EQ(frame_of(words({})
                         .kv_bool("tokenizer.ggml.add_bos_token", false)
                         .kv_bool("tokenizer.ggml.add_eos_token", false)),
            (Ids{kCls, kSep}));
  // BERT's own numbers, where the vocabulary has so many.
  const auto nameless = [](size_t n) {
    Strings texts;
    for (size_t i = 0; i < n; ++i) texts.push_back(concat("x", i));
    return must_build(GgufBuilder()
                          .kv_string("tokenizer.ggml.model", "bert")
                          .kv_strings("tokenizer.ggml.tokens", texts));
  };
  EXPECT_EQ(nameless(200).framed(nameless(200).encode("b")), (Ids{101, 100, 102}));
  EXPECT_EQ(nameless(200).mask(), 103);
  EXPECT_EQ(nameless(50).framed(nameless(50).encode("b")), Ids{});
  EXPECT_EQ(nameless(50).mask(), kNoToken);
}

TEST(WordPiece, DecodesWithSpacesBetweenWords) {
  const Tokenizer t = must_build(words({"the", "un", "##it", "of"}));
  const Ids ids = t.framed(t.encode("The unit [MASK] of", true));
  EXPECT_EQ(t.decode(ids), "the unit of");
  TextStream stream(t, true);
  std::string streamed;
  for (const TokenId id : ids) streamed += stream.push(id);
  EXPECT_EQ(streamed + stream.flush(), "the unit of");
}

TEST(WordPiece, SlicesOfAnySizeGiveTheSameIds) {
  const Tokenizer t = must_build(words({"a", "##a", "ab", "##ab", "aab", "b", ".", "\u6f22"}));
  static const Strings kParts = {"a",  "b",    "aab",    " ",      ".",      "[MASK]", "\u6f22",
                                 "\n", "\xff", "\u00e1", "\u0301", "\u200b", "[SEP",   "c"};
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += kParts[random() % kParts.size()];
    for (const bool special : {false, true}) {
      const Ids whole = t.encode(text, special);
      for (const size_t slice : {1u, 3u, 17u}) {
        Encoding encoding(t, text, special, slice);
        Ids ids;
        for (bool more = true; more;) {
          more = encoding.step();
          const Ids some = encoding.take();
          ids.insert(ids.end(), some.begin(), some.end());
          EXPECT_LE(encoding.min_ids(), whole.size());
        }
        EXPECT_EQ(ids, whole);
      }
    }
  }
}

// Each place of a word is compared with every length that a token may have. That counts as work: a
// slice stays short.
TEST(WordPiece, ManyComparisonsAreManySlices) {
  const Tokenizer t = must_build(words({"a", "##a", std::string(5000, 'b')}));
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::string(100, 'a') + ' ';
  Encoding encoding(t, text, false, 1000);
  int steps = 0;
  while (encoding.step()) ++steps;
  EXPECT_GE(steps, 100);
  EXPECT_EQ(encoding.take().size(), 10000u);
}

TEST(WordPiece, ModernBertsMaskTakesTheSpaceBeforeIt) {
  const auto bpe = [](std::string_view key, std::string_view value) {
    Strings texts;
    for (int byte = 0; byte < 256; ++byte)
      texts.emplace_back(byte_character(static_cast<uint8_t>(byte)));
    std::vector<int32_t> types(texts.size(), 1);
    texts.push_back("[MASK]");
    types.push_back(3);
    return must_build(GgufBuilder()
                          .kv_string("tokenizer.ggml.model", "gpt2")
                          .kv_string("tokenizer.ggml.pre", "modern-bert")
                          .kv_strings("tokenizer.ggml.tokens", texts)
                          .kv_array("tokenizer.ggml.token_type", ValueType::i32, types)
                          .kv_strings("tokenizer.ggml.merges", Strings())
                          .kv_u32("tokenizer.ggml.mask_token_id", 256)
                          .kv_string(key, value));
  };
  const Tokenizer other = bpe("general.name", "BERT");
  EXPECT_EQ(other.encode("a [MASK] b", true), (Ids{'a', ' ', 256, ' ', 'b'}));
  EXPECT_EQ(other.mask(), 256);
  for (const Tokenizer& t :
       {bpe("general.architecture", "modern-bert"), bpe("general.name", "Some Modern-BERT base")}) {
    EXPECT_EQ(t.encode("a [MASK] b", true), (Ids{'a', 256, ' ', 'b'}));
    EXPECT_EQ(t.encode(" \n\u3000[MASK] [MASK]", true), (Ids{256, 256}));
    EXPECT_EQ(t.encode("\xff[MASK]", true), (Ids{0xff, 256}));
    EXPECT_EQ(t.encode("a [MASK] b"), other.encode("a [MASK] b"));
  }
}

TEST(Suffix, WhatTheFileSays) {
  const auto gpt2 = [] {
    return GgufBuilder()
        .kv_string("tokenizer.ggml.model", "gpt2")
        .kv_string("tokenizer.ggml.pre", "qwen2")
        .kv_strings("tokenizer.ggml.tokens", Strings{"a", "b", "c"})
        .kv_strings("tokenizer.ggml.merges", Strings());
  };
  EXPECT_EQ(frame_of(gpt2().kv_u32("tokenizer.ggml.eos_token_id", 1)), Ids{});
  EXPECT_EQ(frame_of(gpt2()
                         .kv_u32("tokenizer.ggml.eos_token_id", 1)
                         .kv_bool("tokenizer.ggml.add_eos_token", true)),
            Ids{1});
  EXPECT_EQ(frame_of(gpt2()
                         .kv_u32("tokenizer.ggml.bos_token_id", 0)
                         .kv_u32("tokenizer.ggml.seperator_token_id", 2)
                         .kv_bool("tokenizer.ggml.add_bos_token", true)
                         .kv_bool("tokenizer.ggml.add_eos_token", true)),
            (Ids{0, 2}));
  EXPECT_EQ(frame_of(gpt2().kv_bool("tokenizer.ggml.add_eos_token", true)), Ids{});
  // What stands between two texts is none.
  EXPECT_EQ(frame_of(gpt2()
                         .kv_u32("tokenizer.ggml.seperator_token_id", 2)
                         .kv_bool("tokenizer.ggml.add_sep_token", true)),
            Ids{});
}

TEST(OtherModels, AreRefusedByName) {
  for (const char* name : {"t5", "rwkv", "plamo2", "none"}) {
    const auto t = build(GgufBuilder()
                             .kv_string("tokenizer.ggml.model", name)
                             .kv_strings("tokenizer.ggml.tokens", Strings{"a"}));
    ASSERT_FALSE(t.has_value());
    EXPECT_EQ(code_name(t.error().code), code_name(Code::unsupported_model));
    EXPECT_NE(t.error().message.find(concat("the tokenizer model is '", name, "'")),
              std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
