// Tests of special tokens that are written out in texts: which are found where, with parts of the
// text that come from input, and with what work and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/allocation_counter.h"
#include "text/guarded_names.h"
#include "text/small_vocabularies.h"
#include "text/special_search.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using namespace vocabularies;
using Spans = std::vector<TextSpan>;

Ids bytes_as_ids(std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

Ids joined(std::vector<Ids> parts) {
  Ids ids;
  for (const Ids& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

Ids encoded_in_slices(const Tokenizer& t, std::string_view text, bool special, size_t slice,
                      const Spans& input) {
  Encoding encoding(t, text, special, slice, input);
  Ids ids;
  uint64_t left = encoding.bytes_left();
  EXPECT_EQ(left, text.size());
  for (bool more = true; more;) {
    more = encoding.step();
    const Ids some = encoding.take();
    ids.insert(ids.end(), some.begin(), some.end());
    EXPECT_LE(encoding.bytes_left(), left);
    left = encoding.bytes_left();
  }
  EXPECT_EQ(left, 0u);
  return ids;
}

TEST(GuardedTokens, ControlTokensEndsAndNamesAreNotFoundInInput) {
  GgufBuilder file = bpe("gpt-2",
                         {{"<c>", kControl},
                          {"<?>", kUnknown},
                          {"<e>", kUserDefined},
                          {"<|im_start|>", kUserDefined},
                          {"<u>", kUserDefined},
                          {"<think>", kUserDefined}},
                         {});
  const Tokenizer t = must_build(file.kv_u32("tokenizer.ggml.eos_token_id", 258));
  for (TokenId id = 256; id < 262; ++id) {
    const std::string name(t.raw_token(id));
    const bool guarded = id < 260;
    EXPECT_EQ(t.is_guarded(id), guarded) << name;
    EXPECT_EQ(t.is_special(id), id != 257);
    const std::string text = "x" + name + "y";
    const Ids found = {'x', id, 'y'};
    EXPECT_EQ(t.encode(text, true), found);
    EXPECT_EQ(t.encode(text, true, {{0, 1}, {1 + name.size(), text.size()}}), found);
    for (size_t at = 1; at <= name.size(); ++at)  // one byte of it is enough
      EXPECT_EQ(t.encode(text, true, {{at, at + 1}}), guarded ? bytes_as_ids(text) : found) << name;
    EXPECT_EQ(t.encode(text, true, {{0, text.size()}}), guarded ? bytes_as_ids(text) : found);
    // Without parse_special the user-defined ones are found, whatever they are called.
    EXPECT_EQ(t.encode(text, false, {{0, text.size()}}), id < 258 ? bytes_as_ids(text) : found);
    EXPECT_EQ(t.find_control(text).size(), guarded ? 1u : 0u);
    EXPECT_EQ(t.decode(found), id < 258 ? "xy" : text);
  }
  EXPECT_FALSE(t.is_guarded('x'));
  EXPECT_FALSE(t.is_guarded(-1));
  EXPECT_FALSE(t.is_guarded(1000));
}

TEST(GuardedTokens, MatchesInInputAreDroppedBeforeTheLongestWins) {
  const Tokenizer t = must_build(bpe("gpt-2",
                                     {{"<|a|>", kControl},
                                      {"<|a|>x", kControl},
                                      {"|a", kUserDefined},
                                      {"x>y>", kControl},
                                      {"y>", kUserDefined}},
                                     {}));
  EXPECT_EQ(t.encode("<|a|>x", true), Ids{257});
  EXPECT_EQ(t.encode("<|a|>x", true, {{5, 6}}), (Ids{256, 'x'}));
  EXPECT_EQ(t.encode("<|a|>x", true, {{4, 6}}), (Ids{'<', 258, '|', '>', 'x'}));
  // The longer one that overlaps it counts only outside of input.
  EXPECT_EQ(t.encode("<|a|>x>y>", true), (Ids{257, '>', 260}));
  EXPECT_EQ(t.encode("<|a|>x>y>", true, {{0, 1}}), (Ids{'<', 258, '|', '>', 259}));
  EXPECT_EQ(t.encode("<|a|>x>y>", true, {{5, 6}}), (Ids{256, 'x', '>', 260}));
}

TEST(GuardedTokens, TokensOverBordersOfInput) {
  const Tokenizer t =
      must_build(bpe("gpt-2", {{"<|im_end|>", kControl}, {"<think>", kUserDefined}}, {}));
  const std::string text = "<|im_end|><think><|im_end|>";
  EXPECT_EQ(t.encode(text, true, {{10, 17}}), (Ids{256, 257, 256}));
  EXPECT_EQ(t.encode(text, true, {{10, 13}, {13, 17}}), (Ids{256, 257, 256}));
  EXPECT_EQ(t.encode(text, true, {{9, 13}, {16, 18}}),
            joined({bytes_as_ids("<|im_end|>"), {257}, bytes_as_ids("<|im_end|>")}));
  EXPECT_EQ(t.encode(text, true, {{5, 5}}), (Ids{256, 257, 256}));  // this has no byte
  // Spans that nobody should give: all of the text counts as input.
  const Ids none = joined({bytes_as_ids("<|im_end|>"), {257}, bytes_as_ids("<|im_end|>")});
  for (const Spans& spans :
       {Spans{{12, 13}, {11, 12}}, Spans{{11, 13}, {12, 14}}, Spans{{13, 12}}, Spans{{12, 999}}}) {
    const bool in_order = spans.back().end == 999;
    EXPECT_EQ(t.encode(text, true, spans),
              in_order ? joined({{256, 257}, bytes_as_ids("<|im_end|>")}) : none);
  }
}

// What is no token's place stays so however the plain text around it merges.
TEST(GuardedTokens, PlainTextDoesNotBecomeThem) {
  const std::vector<Token> tokens = {{"<|\"|>", kUserDefined}, {"<|\"|"},          {"<|\""}, {"<|"},
                                     {"::", kControl},         {"~", kUserDefined}};
  const Strings merges = {"< |", "<| \"", "<|\" |", "<|\"| >", ": :"};
  for (const char* pre : {"llama-bpe", "gpt-2"}) {  // one takes whole words that are a token
    GgufBuilder file = bpe(pre, tokens, merges);
    file.remove("tokenizer.ggml.tokens");
    Strings texts;
    for (int byte = 0; byte < 256; ++byte)
      texts.push_back(byte == '~' ? "unused"
                                  : std::string(byte_character(static_cast<uint8_t>(byte))));
    for (const Token& token : tokens) texts.push_back(token.text);
    file.kv_strings("tokenizer.ggml.tokens", texts).kv_u32("tokenizer.ggml.eos_token_id", 261);
    const Tokenizer t = must_build(file);
    EXPECT_EQ(t.encode("<|\"|>::", true), (Ids{256, 260}));
    EXPECT_EQ(t.encode("<|\"|>::", true, {{0, 7}}), (Ids{257, '>', ':', ':'}));
    EXPECT_EQ(t.encode("a~", true), (Ids{'a', 261}));
    EXPECT_EQ(t.encode("a~", true, {{0, 2}}), (Ids{'a'}));  // its byte has no other token
  }
}

TEST(GuardedNames, AreTheMarksOfPromptsAndNotThoseOfTexts) {
  for (const char* name : {"<|im_start|>",
                           "<|im_end|>",
                           "<|im_sep|>",
                           "<start_of_turn>",
                           "<end_of_turn>",
                           "<|turn>",
                           "<turn|>",
                           "<|tool>",
                           "<tool|>",
                           "<|tool_call>",
                           "<tool_call|>",
                           "<|tool_response>",
                           "<tool_response|>",
                           "<|\"|>",
                           "<|channel>",
                           "<channel|>",
                           "<|think|>",
                           "<|start|>",
                           "<|message|>",
                           "<|start_header_id|>",
                           "<|eot_id|>",
                           "[INST]",
                           "[/INST]",
                           "[TOOL_RESULTS]",
                           "<|user|>",
                           "<|assistant|>",
                           "<|system|>",
                           "<｜User｜>",
                           "[|user|]",
                           "<|START_OF_TURN_TOKEN|>",
                           "<|start_of_role|>",
                           "<s>",
                           "</s>",
                           "<|endoftext|>"})
    EXPECT_TRUE(is_guarded_name(name)) << name;
  for (const char* name : {"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>",
                           "</tool_response>", "<tools>", "", "  ", "<|im_start", "user"})
    EXPECT_FALSE(is_guarded_name(name)) << name;
}

// A vocabulary of the bytes and some tokens over a few letters, and what it should give.
struct Reference {
  struct Special {
    std::string text;
    TokenId id;
    bool user_defined;
    bool guarded;
  };
  std::vector<Special> special;

  Ids encode(std::string_view text, bool parse_special, const Spans& input) const {
    struct Found {
      size_t begin;
      const Special* token;
    };
    std::vector<Found> found;
    for (const Special& token : special) {
      if (!parse_special && !token.user_defined) continue;
      for (size_t at = text.find(token.text); at != std::string_view::npos;
           at = text.find(token.text, at + 1)) {
        const bool in_input = std::ranges::any_of(input, [&](const TextSpan& span) {
          return span.begin < at + token.text.size() && at < span.end;
        });
        if (!(parse_special && token.guarded && in_input)) found.push_back({at, &token});
      }
    }
    std::ranges::sort(found, [](const Found& a, const Found& b) {
      const size_t size_a = a.token->text.size(), size_b = b.token->text.size();
      return size_a != size_b ? size_a > size_b : a.begin < b.begin;
    });
    std::vector<const Special*> at(text.size());
    std::vector<bool> taken(text.size());
    for (const Found& each : found) {
      const auto first = taken.begin() + static_cast<std::ptrdiff_t>(each.begin);
      const auto last = first + static_cast<std::ptrdiff_t>(each.token->text.size());
      if (std::find(first, last, true) != last) continue;
      std::fill(first, last, true);
      at[each.begin] = each.token;
    }
    Ids ids;
    for (size_t i = 0; i < text.size(); ++i) {
      if (at[i] != nullptr) {
        ids.push_back(at[i]->id);
        continue;
      }
      const bool no_token = std::ranges::any_of(special, [&](const Special& token) {
        return token.text == text.substr(i, 1) && (token.guarded || !token.user_defined);
      });
      if (!taken[i] && !no_token) ids.push_back(static_cast<uint8_t>(text[i]));
    }
    return ids;
  }
};

TEST(GuardedTokens, AsInAPlainImplementation) {
  std::mt19937 random(11);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  for (int round = 0; round < 200; ++round) {
    const size_t letters = 1 + below(3);
    const auto letter = [&] { return static_cast<char>('a' + below(letters)); };
    std::vector<Token> tokens;
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back({std::string(byte_character(static_cast<uint8_t>(byte)))});
    for (size_t i = 0; i < letters; ++i)
      if (below(5) == 0) tokens['a' + i].type = below(2) == 0 ? kControl : kUserDefined;
    for (size_t i = 0, n = 1 + below(12); i < n; ++i) {
      std::string text;
      for (size_t size = 2 + below(round % 2 == 0 ? 4 : 12); text.size() < size;) text += letter();
      if (std::ranges::find(tokens, text, &Token::text) == tokens.end())
        tokens.push_back({text, below(2) == 0 ? kControl : kUserDefined});
    }
    GgufBuilder file;
    file.kv_string("tokenizer.ggml.model", "gpt2").kv_string("tokenizer.ggml.pre", "gpt-2");
    put_tokens(file, tokens);
    const size_t eos = 256 + below(tokens.size() - 255);
    if (eos < tokens.size()) file.kv_u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(eos));
    const Tokenizer t = must_build(file.kv_strings("tokenizer.ggml.merges", {}));
    Reference reference;
    for (size_t id = 0; id < tokens.size(); ++id) {
      const bool user_defined = tokens[id].type == kUserDefined;
      if (tokens[id].type != kNormal)
        reference.special.push_back(
            {tokens[id].text, static_cast<TokenId>(id), user_defined, !user_defined || id == eos});
    }
    for (int i = 0; i < 5; ++i) {
      std::string text;
      for (size_t size = below(round % 10 == 0 ? 2000 : 60); text.size() < size;) text += letter();
      Spans input;
      for (size_t at = below(4); i > 0 && at < text.size();) {
        const size_t end = std::min(text.size(), at + 1 + below(9));
        input.push_back({at, end});
        at = end + below(i < 3 ? 3 : 20);
      }
      for (const bool parse_special : {false, true}) {
        const Ids expected = reference.encode(text, parse_special, input);
        ASSERT_EQ(t.encode(text, parse_special, input), expected) << text << ", round " << round;
        for (const size_t slice : {1u, 7u, 40u})
          ASSERT_EQ(encoded_in_slices(t, text, parse_special, slice, input), expected) << text;
      }
    }
  }
}

// The search by itself. Tokens with a name in capitals are guarded.
struct Searched {
  std::vector<SpecialSearch::Match> matches;
  uint64_t work = 0;
};

Searched search_all(const Strings& tokens, std::string_view text, const Spans& input, size_t part) {
  SpecialTokens special;
  for (size_t i = 0; i < tokens.size(); ++i)
    EXPECT_TRUE(special.add(tokens[i], static_cast<TokenId>(i), i % 2 == 0, i % 2 == 1));
  special.finish();
  Searched out;
  SpecialSearch search(special, text, true, input, part);
  while (search.scan())
    out.matches.insert(out.matches.end(), search.matches().begin(), search.matches().end());
  out.work = search.work();
  return out;
}

Spans every(size_t step, size_t size) {
  Spans spans;
  for (size_t at = 0; at + step <= size; at += 2 * step) spans.push_back({at, at + step});
  return spans;
}

// Each byte is read a few times and each candidate compared a few times, whatever tokens there are.
TEST(SpecialSearch, WorkIsLinearInTheText) {
  Strings chain;  // every second one is guarded
  for (size_t n = 1; n <= SpecialTokens::kMaxBytes; ++n) chain.emplace_back(n, 'a');
  Strings blocked = chain;  // a longer token ends what begins before it
  blocked.resize(499);
  blocked.push_back(std::string(250, 'a') + std::string(260, 'b'));
  Strings stairs;  // tokens that each displace shorter ones
  for (size_t n = 1; n < 300; ++n) stairs.push_back(std::string(n, 'a') + std::string(n + 1, 'b'));
  for (size_t n = 1; n < 300; ++n) stairs.emplace_back(n, 'a');
  std::string of_blocks, of_stairs, of_a(600000, 'a');
  while (of_blocks.size() < 600000) of_blocks += std::string(499, 'a') + std::string(260, 'b');
  while (of_stairs.size() < 600000) of_stairs += std::string(290, 'a') + std::string(150, 'b');
  for (const auto& [tokens, text] :
       {std::pair(&chain, &of_a), {&blocked, &of_blocks}, {&stairs, &of_stairs}}) {
    for (const size_t step : {size_t{0}, size_t{1}, size_t{7}, size_t{300}, text->size()}) {
      const Searched found =
          search_all(*tokens, *text, step == 0 ? Spans{} : every(step, text->size()), 1 << 16);
      EXPECT_FALSE(found.matches.empty());
      EXPECT_LT(found.work, 8 * text->size()) << step;
    }
  }
}

TEST(SpecialSearch, MemoryDoesNotDependOnTheMatches) {
  const std::string text(1500000, 'a');
  for (const Strings& tokens : {Strings{"aaa", "a"}, Strings{"aa", "aaaaa", "b"}}) {
    SpecialTokens special;
    for (size_t i = 0; i < tokens.size(); ++i)
      special.add(tokens[i], static_cast<TokenId>(i), i % 2 == 0, i % 2 == 1);
    special.finish();
    for (const Spans& input : {Spans{}, Spans{{100, 200}}}) {
      SpecialSearch search(special, text, true, input, 1 << 16);
      reset_peak_bytes();
      size_t found = 0;
      while (search.scan()) found += search.matches().size();
      EXPECT_LT(peak_bytes(), 6u << 20);
      EXPECT_GT(found, text.size() / 8);
    }
  }
  // As many different lengths as there may be.
  Strings chain;
  for (size_t n = 1; n <= SpecialTokens::kMaxBytes; ++n) chain.emplace_back(n, 'a');
  SpecialTokens special;
  for (const std::string& each : chain) special.add(each, 0, true, false);
  special.finish();
  EXPECT_EQ(special.reach(SpecialTokens::Kind::all), 500500u);
  SpecialSearch search(special, text, true, {}, 1);
  reset_peak_bytes();
  while (search.scan()) continue;
  EXPECT_LT(peak_bytes(), 120u << 20);
}

TEST(SpecialSearch, TokensOfMoreThanAThousandBytesAreNotFound) {
  const std::string longest(1000, 'x'), longer(1001, 'y');
  const Tokenizer t =
      must_build(bpe("gpt-2", {{longest, kControl}, {longer, kUserDefined}, {"yy"}}, {}));
  ASSERT_EQ(t.warnings().size(), 1u);
  EXPECT_EQ(t.warnings()[0].code, NoteCode::special_tokens_too_long);
  EXPECT_EQ(t.warnings()[0].message,
            "1 special token has more than 1000 bytes: not found in texts");
  EXPECT_EQ(t.encode("a" + longest + "b", true), (Ids{'a', 256, 'b'}));
  EXPECT_EQ(t.encode(longer, true), bytes_as_ids(longer));
  EXPECT_EQ(must_build(bpe("gpt-2", {{longest, kControl}}, {})).warnings().size(), 0u);
}

// One token of 1,100 bytes once made all of a text one part.
TEST(Encoding, MemoryIsBoundedForAnyVocabulary) {
  const std::string long_token(1100, 'b');
  const std::vector<Token> special = {{"a", kControl}, {"ca", kUserDefined}};
  std::vector<Token> tokens = {{long_token}};
  Strings merges;
  for (size_t n = 2; n < 1100; n *= 2) {
    tokens.push_back({std::string(n, 'b')});
    merges.push_back(std::string(n / 2, 'b') + " " + std::string(n / 2, 'b'));
  }
  merges.push_back(std::string(1024, 'b') + " " + std::string(76, 'b'));
  tokens.push_back({std::string(76, 'b')});
  GgufBuilder bytes = bpe("gpt-2", tokens, merges);
  tokens.insert(tokens.begin(), special.begin(), special.end());
  const Tokenizer tokenizers[] = {must_build(bytes), must_build(spm(tokens)),
                                  must_build(raw_bpe(tokens, merges))};
  std::string of_b(500000, 'b'), of_both;
  while (of_both.size() < 500000) of_both += "acab";
  for (const Tokenizer& t : tokenizers) {
    for (const std::string* text : {&of_b, &of_both}) {
      for (const Spans& input : {Spans{}, Spans{{10, 20}}}) {
        Encoding encoding(t, *text, true, Encoding::kSlice, input);
        reset_peak_bytes();
        while (encoding.step()) encoding.take();
        EXPECT_LT(peak_bytes(), 12u << 20) << t.model();
      }
    }
  }
}

TEST(Encoding, StopsEarlyAndTellsWhatIsLeft) {
  for (const Tokenizer& t : {must_build(bpe("gpt-2", {{"<c>", kControl}}, {})),
                             must_build(raw_bpe({{"<c>", kControl}}, {})), must_build(spm({}))}) {
    std::string text;
    while (text.size() < 1000000) text += "some text ";
    Encoding encoding(t, text, true);
    size_t count = 0;
    while (encoding.step()) {
      count += encoding.take().size();
      if (count > 100000) break;
    }
    EXPECT_LT(count, 300000u);  // a slice too many
    const auto read = static_cast<double>(text.size() - encoding.bytes_left());
    const double total = static_cast<double>(count) / read * static_cast<double>(text.size());
    EXPECT_NEAR(total, static_cast<double>(t.encode(text, true).size()), 20000) << t.model();
  }
}

}  // namespace
}  // namespace sluice
