// Tests of texts with masks, and of whole texts as ids, with small vocabularies made here.
#include "api/fill_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/text_ids.h"
#include "make/gguf_builder.h"
#include "text/vocab.h"

namespace sluice {
namespace {

using Ids = std::vector<TokenId>;

constexpr int32_t kNormal = 1, kControl = 3;

Tokenizer built(const GgufBuilder& file) {
  const std::string header = file.header();
  const auto gguf = parse_gguf(as_bytes(header));
  auto tokenizer = gguf ? Tokenizer::from_gguf(*gguf) : std::unexpected(gguf.error());
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().message;
    std::abort();
  }
  return std::move(*tokenizer);
}

// Byte-level BPE: byte b is id b, then these.
enum : TokenId { kBegin = 256, kEnd, kMask, kDog };
GgufBuilder bytes_and_mask() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(byte_character(static_cast<uint8_t>(byte)));
  std::vector<int32_t> types(tokens.size(), kNormal);
  for (const char* text : {"<s>", "</s>", "<mask>"}) {
    tokens.emplace_back(text);
    types.push_back(kControl);
  }
  tokens.emplace_back("Ġdog");
  types.push_back(kNormal);
  GgufBuilder file;
  file.kv_string("tokenizer.ggml.model", "gpt2")
      .kv_string("tokenizer.ggml.pre", "gpt-2")
      .kv_strings("tokenizer.ggml.tokens", tokens)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types)
      .kv_strings("tokenizer.ggml.merges", {})
      .kv_u32("tokenizer.ggml.bos_token_id", kBegin)
      .kv_u32("tokenizer.ggml.eos_token_id", kEnd)
      .kv_u32("tokenizer.ggml.mask_token_id", kMask)
      .kv_bool("tokenizer.ggml.add_bos_token", true)
      .kv_bool("tokenizer.ggml.add_eos_token", true);
  return file;
}

TEST(TextIds, HaveWhatTheFileAsksForAroundThem) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  EXPECT_EQ(text_ids(tokenizer, "q:", "a"), (Ids{kBegin, 'q', ':', 'a', kEnd}));
  EXPECT_EQ(text_ids(tokenizer, "", ""), (Ids{kBegin, kEnd}));
  const Ids written = text_ids(tokenizer, "", "</s>");
  EXPECT_EQ(written.size(), 6u) << "a special token that is written out is text";
  const Tokenizer plain = built(bytes_and_mask()
                                    .kv_bool("tokenizer.ggml.add_bos_token", false)
                                    .kv_bool("tokenizer.ggml.add_eos_token", false));
  EXPECT_EQ(text_ids(plain, "", "a"), (Ids{'a'}));
  EXPECT_TRUE(text_ids(plain, "", "").empty());
}

TEST(TextIds, KeepTheirEndWhenTheyAreCut) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  const auto cut = [&](Ids ids, size_t most) {
    truncate_ids(tokenizer, most, ids);
    return ids;
  };
  const Ids whole = {kBegin, 'a', 'b', kEnd};
  EXPECT_EQ(cut(whole, 4), whole);
  EXPECT_EQ(cut(whole, 9), whole);
  EXPECT_EQ(cut(whole, 3), (Ids{kBegin, 'a', kEnd}));
  EXPECT_EQ(cut(whole, 1), (Ids{kEnd}));
  EXPECT_EQ(cut(whole, 0), Ids());
  EXPECT_EQ(cut({'a', 'b', 'c'}, 2), (Ids{'a', 'b'})) << "ids as they are get no end";
}

TEST(FillMask, FindsTheMasks) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  const auto found = masked_text(tokenizer, "<mask>a<mask>");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ids, (Ids{kBegin, kMask, 'a', kMask, kEnd}));
  EXPECT_EQ(found->masks, (std::vector<size_t>{1, 3}));
  const auto ids = masked_ids(tokenizer, {'a', kMask});
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->masks, (std::vector<size_t>{1}));
}

TEST(FillMask, SaysWhatToWriteWhereThereIsNoMask) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  for (const char* text : {"", "a dog", "<mask", "[MASK]"}) {
    const auto found = masked_text(tokenizer, text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().code, Code::invalid_argument);
    EXPECT_EQ(found.error().message,
              "the text has no mask; write <mask> in place of the word to be found");
  }
  GgufBuilder without = bytes_and_mask();
  without.remove("tokenizer.ggml.mask_token_id");
  const auto none = masked_text(built(without), "<mask>");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::invalid_argument);
  EXPECT_NE(none.error().message.find("no mask token"), std::string::npos);
}

// Logits of a vocabulary where these tokens are the likeliest, in this order.
std::vector<float> logits_for(size_t n_vocab, const Ids& best) {
  std::vector<float> logits(n_vocab, 0.0f);
  for (size_t i = 0; i < best.size(); ++i)
    logits[static_cast<size_t>(best[i])] = static_cast<float>(10 - static_cast<int>(i));
  return logits;
}

TEST(FillMask, ListsTheLikeliestOfEachMask) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  const auto found = masked_text(tokenizer, "a <mask>, <mask>!");
  ASSERT_TRUE(found);
  std::vector<float> logits = logits_for(260, {kDog, 'x', kEnd});
  const std::vector<float> second = logits_for(260, {'y'});
  logits.insert(logits.end(), second.begin(), second.end());
  const std::vector<MaskTop> tops = mask_tops(*found, logits, 3);
  ASSERT_EQ(tops.size(), 2u);
  ASSERT_EQ(tops[0].size(), 3u);
  EXPECT_EQ(tops[0][0].first, kDog);
  EXPECT_EQ(tops[0][2].first, kEnd);
  const double sum = std::exp(10) + std::exp(9) + std::exp(8) + 257;
  EXPECT_NEAR(static_cast<double>(tops[0][1].second), 9 - std::log(sum), 1e-5);
  EXPECT_EQ(mask_tops(*found, logits, 0)[1].size(), 1u) << "the best is always there";
  // A token that brings a space takes the place of the one before the mask.
  const std::string filled = filled_text(tokenizer, "a <mask>, <mask>!", tops);
  EXPECT_EQ(filled, "a dog, y!");
  EXPECT_EQ(filled_ids(tokenizer, *found, tops), "a  dog, y!");
  const auto json = nlohmann::ordered_json::parse(
      fill_mask_json(tokenizer, *found, filled, mask_tops(*found, logits, 1)), nullptr, false);
  EXPECT_EQ(json["text"], "a dog, y!");
  EXPECT_EQ(json["tokens"], 9);
  EXPECT_EQ(json["masks"][0]["position"], 3);
  EXPECT_EQ(json["masks"][1]["top"][0]["id"], 'y');
  EXPECT_EQ(json["masks"][0]["top"][0]["token"], " dog");
  EXPECT_EQ(json["masks"].size(), 2u);
}

TEST(FillMask, TokensAreShownInValidUtf8) {
  const Tokenizer tokenizer = built(bytes_and_mask());
  EXPECT_EQ(token_text(tokenizer, 0xff), "\xef\xbf\xbd");
  EXPECT_EQ(token_text(tokenizer, kMask), "<mask>");
  EXPECT_EQ(token_text(tokenizer, kDog), " dog");
  EXPECT_EQ(token_text(tokenizer, 9999), "");
  EXPECT_EQ(filled_text(tokenizer, "\xff<mask>", std::vector<MaskTop>{{{0xfe, 0.0f}}}),
            "\xef\xbf\xbd\xef\xbf\xbd");
  // More masks than lists, or fewer.
  EXPECT_EQ(filled_text(tokenizer, "<mask><mask>", std::vector<MaskTop>{{{'a', 0.0f}}}), "a<mask>");
  EXPECT_EQ(filled_text(tokenizer, "b", std::vector<MaskTop>{{{'a', 0.0f}}}), "b");
}

// WordPiece: a token that begins a word starts with U+2581.
TEST(FillMask, ATokenOfWordPieceThatGoesOnJoinsTheWord) {
  const std::vector<std::string> tokens = {"[PAD]",   "[UNK]", "[CLS]",    "[SEP]",    "[MASK]",
                                           "\u2581a", "s",     "\u2581##", "\u2581dog"};
  enum : TokenId { kCls = 2, kSep = 3, kOpen = 4, kA = 5, kS = 6, kHashes = 7, kWord = 8 };
  GgufBuilder file;
  file.kv_string("tokenizer.ggml.model", "bert")
      .kv_strings("tokenizer.ggml.tokens", tokens)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32,
                std::vector<int32_t>{3, 2, 3, 3, 3, 1, 1, 1, 1});
  const Tokenizer tokenizer = built(file);
  EXPECT_EQ(token_text(tokenizer, kS), "##s");
  EXPECT_EQ(token_text(tokenizer, kHashes), "##");
  EXPECT_EQ(token_text(tokenizer, kWord), "dog");
  EXPECT_EQ(token_text(tokenizer, 1), "[UNK]");
  EXPECT_EQ(text_ids(tokenizer, "", "Dog [MASK]").front(), kCls);
  const auto found = masked_text(tokenizer, "A Dog [MASK]");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ids, (Ids{kCls, kA, kWord, kOpen, kSep}));
  const auto with = [](TokenId id) { return std::vector<MaskTop>{{{id, 0.0f}}}; };
  EXPECT_EQ(filled_text(tokenizer, "A Dog [MASK]", with(kS)), "A Dogs");
  EXPECT_EQ(filled_text(tokenizer, "A Dog [MASK]", with(kWord)), "A Dog dog");
  EXPECT_EQ(filled_text(tokenizer, "A Dog [MASK]", with(kHashes)), "A Dog ##");
  EXPECT_EQ(filled_text(tokenizer, "[MASK]", with(kS)), "s");
  EXPECT_EQ(filled_ids(tokenizer, *found, with(kS)), "a dogs");
}

}  // namespace
}  // namespace sluice
