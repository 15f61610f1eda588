// Tests of tokenizers with small vocabularies made here; the ids are derived by hand.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/allocation_counter.h"
#include "text/merge.h"
#include "text/small_vocabularies.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace sluice {
namespace {

using namespace vocabularies;

Strings texts_of(const Notes& notes) {
  Strings texts;
  for (const Note& note : notes) texts.push_back(note.message);
  return texts;
}

void expect_error(const GgufBuilder& file, Code code, std::string_view part) {
  const auto tokenizer = build(file);
  ASSERT_FALSE(tokenizer.has_value()) << "expected: " << part;
  EXPECT_EQ(code_name(tokenizer.error().code), code_name(code));
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().message;
}

std::string random_bytes(std::mt19937& random, size_t n) {
  static const Strings kParts = {
      " ",        "  ",   "a",        "Ab",           "12",  "'s", "\n",
      "\xc3\xa9", "\xff", "\xe2\x96", "\xe2\x96\x81", "<s>", "<<", "\xf0\x9f\x98\x80",
      ".",        "$",    "\xe2"};
  std::string out;
  while (out.size() < n) {
    const auto pick = static_cast<size_t>(random() % 24);
    if (pick < kParts.size()) {
      out += kParts[pick];
    } else {
      out.push_back(static_cast<char>(random()));
    }
  }
  return out;
}

TEST(Bpe, MergesByRankAndFromTheLeft) {
  const Tokenizer t =
      must_build(bpe("gpt-2", {{"ab"}, {"bc"}, {"abc"}, {"aa"}}, {"b c", "a b", "a bc", "a a"}));
  EXPECT_EQ(t.encode("abc"), (Ids{258}));  // b c goes first
  EXPECT_EQ(t.encode("ab"), (Ids{256}));
  EXPECT_EQ(t.encode("aaa"), (Ids{259, 'a'}));  // of two equal merges the left one
  EXPECT_EQ(t.encode("a b"), (Ids{'a', ' ', 'b'}));
  EXPECT_EQ(t.encode("abcabc ab"), (Ids{258, 258, ' ', 256}));
  EXPECT_EQ(t.encode(""), Ids{});
  EXPECT_EQ(t.model(), "gpt2");
  EXPECT_EQ(t.pre_tokenizer(), "gpt-2");
  EXPECT_EQ(texts_of(t.warnings()), Strings{});
  EXPECT_FALSE(t.adds_space_prefix());
}

TEST(Bpe, WholeWordsIgnoreMergesOnlyForLlamaBpe) {
  const std::vector<Token> tokens = {{"ab"}, {"abcd"}, {"\u0120abcd"}};
  EXPECT_EQ(must_build(bpe("llama-bpe", tokens, {"a b"})).encode("abcd abcd abcde"),
            (Ids{257, 258, ' ', 256, 'c', 'd', 'e'}));
  EXPECT_EQ(must_build(bpe("gpt-2", tokens, {"a b"})).encode("abcd"), (Ids{256, 'c', 'd'}));
  for (const char* alias : {"llama3", "llama-v3"}) {
    EXPECT_EQ(must_build(bpe(alias, tokens, {"a b"})).encode("abcd"), (Ids{257})) << alias;
  }
}

TEST(Bpe, UnknownPreTokenizerWarnsAndIsDefault) {
  const Tokenizer t = must_build(bpe("foo", {}, {}));
  EXPECT_EQ(texts_of(t.warnings()), Strings{"unknown pre-tokenizer 'foo': using 'default'"});
  EXPECT_EQ(note_code_name(t.warnings()[0].code), "unknown_pre_tokenizer");
  EXPECT_EQ(std::get<std::string>(t.warnings()[0].facts[0].value), "foo");
  EXPECT_EQ(t.pre_tokenizer(), "default");
  EXPECT_EQ(texts_of(must_build(bpe("", {}, {})).warnings()),
            Strings{"the file names no pre-tokenizer: using 'default'"});
  for (const char* known : {"gpt-2", "llama-bpe", "qwen2", "qwen35", "smollm", "default"}) {
    EXPECT_EQ(texts_of(must_build(bpe(known, {}, {})).warnings()), Strings{});
    EXPECT_EQ(must_build(bpe(known, {}, {})).pre_tokenizer(), known);
  }
}

TEST(Bpe, NamesOfOnePattern) {
  const std::map<std::string, Strings> patterns = {
      {"gpt-2", {"modern-bert", "jina-v1-en", "jina-v2-code", "jina-es", "roberta-bpe", "mellum"}},
      {"llama-bpe", {"falcon-h1", "jina-v5-nano"}},
      {"dbrx", {"glm4", "chatglm-bpe"}},
      {"qwen2", {"f2llmv2", "solar-open"}},
      {"smollm", {"mellum2", "minerva-7b"}}};
  for (const auto& [pattern, names] : patterns) {
    for (const std::string& name : names) {
      const Tokenizer t = must_build(bpe(name, {}, {}));
      EXPECT_EQ(texts_of(t.warnings()), Strings{});
      EXPECT_EQ(t.pre_tokenizer(), pattern) << name;
    }
  }
}

TEST(Bpe, MergesOfAbsentTokensAreSkippedAndCounted) {
  const auto with = [](const Strings& merges) {
    return must_build(bpe("gpt-2", {{"ab"}}, merges));
  };
  for (const char* merge : {"ab", "a b c", " ", "", "a ", "a x!", "a c", "zz a"}) {
    const Tokenizer t = with({merge, "a b"});
    EXPECT_EQ(t.encode("abc"), (Ids{256, 'c'})) << merge;
    EXPECT_EQ(texts_of(t.warnings()),
              Strings{"1 merge of the vocabulary names a token that it does not "
                      "have: skipped"});
  }
  EXPECT_EQ(texts_of(with({"a c", "a b", "b c"}).warnings()),
            Strings{"2 merges of the vocabulary name tokens that it does not have: skipped"});
}

TEST(Bpe, AnyBytesComeBack) {
  std::mt19937 random(2);
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "qwen35", "smollm", "default"}) {
    const Tokenizer t =
        must_build(bpe(pre, {{"Ab"}, {"\u0120\u0120"}, {"<<", kUserDefined}, {"<s>", kControl}},
                       {"A b", "\u0120 \u0120"}));
    for (int round = 0; round < 200; ++round) {
      const std::string text = random_bytes(random, 50);
      EXPECT_EQ(t.decode(t.encode(text)), text);
    }
  }
}

TEST(RawBpe, CharactersMergeByRank) {
  const Tokenizer t = must_build(raw_bpe(
      {{"a"}, {"b"}, {"\u2581"}, {"\u00e9"}, {"ab"}, {"\u2581a"}, {"b\u00e9"}, {"b\u2581a"}},
      {"b \u00e9", "a b", "\u2581 a", "b \u2581a"}));
  enum : TokenId { a = kRawMore, b, space, e_acute, ab, space_a, b_e, b_space_a };
  EXPECT_EQ(t.encode("ab"), (Ids{ab}));
  EXPECT_EQ(t.encode("ab\u00e9"), (Ids{a, b_e}));  // b é goes first
  EXPECT_EQ(t.encode("b a"), (Ids{b_space_a}));    // a merge reaches over spaces
  EXPECT_EQ(t.encode("  a"), (Ids{space, space_a}));
  EXPECT_EQ(t.encode("a\u00fcb"), (Ids{a, 3 + 0xc3, 3 + 0xbc, b}));        // no token: its bytes
  EXPECT_EQ(t.encode("a\u2581"), (Ids{a, 3 + 0xe2, 3 + 0x96, 3 + 0x81}));  // this is no space
  EXPECT_EQ(t.decode(Ids{space, a, 3 + 0xc3, 3 + 0xbc}), " a\u00fc");
  EXPECT_EQ(t.encode(""), Ids{});
  EXPECT_EQ(t.model(), "gemma4");
  EXPECT_EQ(t.pre_tokenizer(), "gemma4");
  EXPECT_EQ(texts_of(t.warnings()), Strings{});
  EXPECT_FALSE(t.adds_space_prefix());
}

TEST(RawBpe, RunsOfLineEndsAreWordsAndTakenWhole) {
  const Tokenizer t =
      must_build(raw_bpe({{"a"}, {"\n"}, {"\n\n"}, {"\n\n\n\n"}, {"a\n"}}, {"\n \n", "a \n"}));
  enum : TokenId { a = kRawMore, one, two, four };
  EXPECT_EQ(t.encode("a\na"), (Ids{a, one, a}));  // no merge over the border
  EXPECT_EQ(t.encode("\n\n\n\n"), (Ids{four}));
  EXPECT_EQ(t.encode("\n\n\na"), (Ids{two, one, a}));
}

TEST(RawBpe, AlsoByThePreTokenizersName) {
  GgufBuilder file = raw_bpe({{"a"}, {"b"}, {"ab"}}, {"a b"});
  file.kv_string("tokenizer.ggml.model", "gpt2").kv_string("tokenizer.ggml.pre", "gemma4");
  const Tokenizer t = must_build(file);
  EXPECT_EQ(t.encode("ab\u00e9"), (Ids{kRawMore + 2, 3 + 0xc3, 3 + 0xa9}));
  EXPECT_EQ(t.model(), "gpt2");
  EXPECT_EQ(Ids(t.prefix().begin(), t.prefix().end()), Ids{2});
  // A file of model gemma4 is read so whatever it names.
  file = raw_bpe({{"a"}, {"b"}, {"ab"}}, {"a b"}).kv_string("tokenizer.ggml.pre", "foo");
  EXPECT_EQ(must_build(file).encode("ab"), Ids{kRawMore + 2});
  EXPECT_EQ(texts_of(must_build(file).warnings()), Strings{});
}

TEST(RawBpe, BosComesInAnyCaseAndOnce) {
  GgufBuilder file = raw_bpe({{"a"}}, {});
  file.kv_bool("tokenizer.ggml.add_bos_token", false);
  const Tokenizer t = must_build(file);
  EXPECT_EQ(t.with_prefix({kRawMore}), (Ids{2, kRawMore}));
  EXPECT_EQ(t.with_prefix(t.encode("<bos>a", true)), (Ids{2, kRawMore}));
}

TEST(RawBpe, AnyBytesComeBack) {
  std::mt19937 random(6);
  const Tokenizer t = must_build(raw_bpe({{"a"},
                                          {"\u2581"},
                                          {"\u2581\u2581"},
                                          {"\u00e9"},
                                          {"a\u00e9"},
                                          {"\n"},
                                          {"\n\n"},
                                          {"<<", kUserDefined},
                                          {"<s>", kControl}},
                                         {"\u2581 \u2581", "a \u00e9"}));
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_bytes(random, 50);
    EXPECT_EQ(t.decode(t.encode(text)), text);
  }
}

TEST(Bpe, ComposesWhereTheFileWantsIt) {
  const std::vector<Token> tokens = {{"\u00c3\u00a9"}, {"<s>", kControl}};
  const auto with = [&](std::optional<bool> nfc) {
    GgufBuilder file = bpe("qwen2", tokens, {"\u00c3 \u00a9"});
    if (nfc) file.kv_bool("tokenizer.ggml.normalizer.nfc", *nfc);
    return must_build(file);
  };
  EXPECT_EQ(with({}).encode("e\u0301"), (Ids{'e', 0xcc, 0x81}));
  EXPECT_EQ(with(false).encode("e\u0301"), (Ids{'e', 0xcc, 0x81}));
  const Tokenizer t = with(true);
  EXPECT_EQ(t.encode("e\u0301\u00e9"), (Ids{256, 256}));
  EXPECT_EQ(t.encode("e<s>\u0301", true), (Ids{'e', 257, 0xcc, 0x81}));  // each text by itself
  EXPECT_EQ(t.decode(t.encode("e\u0301")), "\u00e9");
  EXPECT_EQ(Encoding(t, std::string_view("e\u0301")).min_ids(), 1u);
}

TEST(Spm, MergesByScoreAndFromTheLeft) {
  const Tokenizer t = must_build(spm({{"a", kNormal, -50},
                                      {"b", kNormal, -50},
                                      {"c", kNormal, -50},
                                      {"ab", kNormal, -3},
                                      {"bc", kNormal, -1},
                                      {"\u2581a", kNormal, -2},
                                      {"aa", kNormal, -4}}));
  EXPECT_EQ(t.encode("abc"), (Ids{kMore + 5, kMore + 4}));  // bc, then the space and a
  EXPECT_EQ(t.encode("ab"), (Ids{kMore + 5, kMore + 1}));   // space and a before ab
  EXPECT_EQ(t.encode("caaa"), (Ids{kSpace, kMore + 2, kMore + 6, kMore + 0}));
  EXPECT_EQ(t.encode("x"), (Ids{kSpace, kFirstByte + 'x'}));
  EXPECT_EQ(t.encode("\u00e9"), (Ids{kSpace, kFirstByte + 0xc3, kFirstByte + 0xa9}));
  EXPECT_EQ(t.encode(""), Ids{});
  EXPECT_EQ(t.piece(kSpace), " ");
  EXPECT_EQ(t.piece(kFirstByte + 0xc3), "\xc3");
  EXPECT_EQ(t.raw_token(kMore + 5), "\u2581a");
  EXPECT_EQ(t.model(), "llama");
  EXPECT_EQ(t.pre_tokenizer(), "");
}

TEST(Spm, SpacePrefixComesAndGoes) {
  GgufBuilder file = spm({{"<|u|>", kUserDefined}});
  const Tokenizer with = must_build(file);
  EXPECT_TRUE(with.adds_space_prefix());
  EXPECT_EQ(with.encode("x"), (Ids{kSpace, kFirstByte + 'x'}));
  EXPECT_EQ(with.encode(" x"), (Ids{kSpace, kSpace, kFirstByte + 'x'}));
  EXPECT_EQ(with.encode("x<|u|>y"),
            (Ids{kSpace, kFirstByte + 'x', kMore, kSpace, kFirstByte + 'y'}));
  EXPECT_EQ(with.decode(with.encode("x<|u|>y")), "x<|u|>y");
  EXPECT_EQ(with.decode(Ids{1, kSpace, kFirstByte + 'x'}), "x");  // after BOS, too
  file.kv_bool("tokenizer.ggml.add_space_prefix", false);
  const Tokenizer without = must_build(file);
  EXPECT_EQ(without.encode("x"), (Ids{kFirstByte + 'x'}));
  EXPECT_EQ(without.decode(without.encode(" x")), " x");
}

TEST(Spm, AnyBytesComeBack) {
  std::mt19937 random(3);
  const Tokenizer t = must_build(spm({{"a", kNormal, -1},
                                      {"Ab", kNormal, -2},
                                      {"A", kNormal, -3},
                                      {"\u2581\u2581", kNormal, -1},
                                      {"<<", kUserDefined},
                                      {"  ", kUserDefined}}));
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_bytes(random, 50);
    EXPECT_EQ(t.decode(t.encode(text)), text);
  }
  // U+2581 in a text stays U+2581.
  EXPECT_EQ(t.decode(t.encode("\u2581 a\u2581")), "\u2581 a\u2581");
}

TEST(Spm, WithoutByteTokensIsUnknown) {
  GgufBuilder file;
  file.kv_string("tokenizer.ggml.model", "llama");
  put_tokens(file, {{"<unk>", kUnknown}, {"a"}, {std::string(kSpaceSign)}});
  file.kv_u32("tokenizer.ggml.bos_token_id", 1).kv_u32("tokenizer.ggml.eos_token_id", 1);
  EXPECT_EQ(must_build(file).encode("ab"), (Ids{2, 1, 0}));
}

TEST(SpecialTokens, UserDefinedAlwaysControlOnRequest) {
  const Tokenizer t =
      must_build(bpe("gpt-2", {{"<u>", kUserDefined}, {"<c>", kControl}, {"<?>", kUnknown}}, {}));
  EXPECT_EQ(t.encode("a<u><c>"), (Ids{'a', 256, '<', 'c', '>'}));
  EXPECT_EQ(t.encode("a<u><c>b<?>", true), (Ids{'a', 256, 257, 'b', 258}));
  EXPECT_EQ(t.encode("<u", true), (Ids{'<', 'u'}));
  EXPECT_EQ(t.piece(256), "<u>");
  EXPECT_EQ(t.piece(257), "");
  EXPECT_EQ(t.raw_token(257), "<c>");
  EXPECT_TRUE(t.is_special(256));
  EXPECT_TRUE(t.is_special(257));
  EXPECT_FALSE(t.is_special('a'));
}

TEST(SpecialTokens, LongerOnesFirstWhereverTheyStand) {
  const Tokenizer t = must_build(bpe("gpt-2",
                                     {{"abc", kUserDefined},
                                      {"cdef", kUserDefined},
                                      {"ab", kUserDefined},
                                      {"zz", kUserDefined},
                                      {"zzz", kUserDefined}},
                                     {}));
  EXPECT_EQ(t.encode("abcdef"), (Ids{258, 257}));  // cdef takes the c that abc would need
  EXPECT_EQ(t.encode("abcd"), (Ids{256, 'd'}));
  EXPECT_EQ(t.encode("zzzzz"), (Ids{260, 259}));
  EXPECT_EQ(t.encode("zzzz"), (Ids{260, 'z'}));
}

TEST(EndTokens, ByIdAndByName) {
  GgufBuilder file =
      bpe("qwen2", {{"<|endoftext|>", kControl}, {"<|im_end|>"}, {"<e>", kControl}, {"</s>"}}, {});
  file.kv_u32("tokenizer.ggml.eos_token_id", 258);
  const Tokenizer t = must_build(file);
  EXPECT_EQ(t.eos(), 258);
  EXPECT_EQ(t.bos(), kNoToken);
  EXPECT_TRUE(t.is_end(256));
  EXPECT_TRUE(t.is_end(257));  // no matter what its type is
  EXPECT_TRUE(t.is_special(257));
  EXPECT_TRUE(t.is_end(258));
  EXPECT_FALSE(t.is_end(259));  // plain text in this file
  EXPECT_FALSE(t.is_end('a'));
  EXPECT_FALSE(t.is_end(-1));
  file.kv_u32("tokenizer.ggml.eot_token_id", 'x').kv_u32("tokenizer.ggml.eom_token_id", 'y');
  EXPECT_TRUE(must_build(file).is_end('x'));
  EXPECT_TRUE(must_build(file).is_end('y'));
  EXPECT_TRUE(must_build(spm({})).is_end(2));  // </s>, Llama's own
}

TEST(EndTokens, WithToolResponsesTheTagIsPlainText) {
  const Tokenizer t = must_build(
      raw_bpe({{"<turn|>", kControl}, {"<|tool_response>", kControl}, {"</s>", kUserDefined}}, {}));
  EXPECT_TRUE(t.is_end(1));  // <eos>
  EXPECT_TRUE(t.is_end(kRawMore));
  EXPECT_TRUE(t.is_end(kRawMore + 1));
  EXPECT_FALSE(t.is_end(kRawMore + 2));
  EXPECT_FALSE(t.is_special(kRawMore + 2));
  EXPECT_EQ(t.piece(kRawMore + 2), "</s>");
  EXPECT_TRUE(must_build(raw_bpe({{"</s>", kUserDefined}}, {})).is_end(kRawMore));
}

TEST(SuppressedTokens, AreReadAndChecked) {
  constexpr std::string_view kKey = "tokenizer.ggml.suppress_tokens";
  const auto with = [&](const std::vector<int32_t>& ids) {
    return bpe("qwen2", {}, {}).kv_array(kKey, ValueType::i32, ids);
  };
  const auto suppressed = [](const Tokenizer& t) {
    return Ids(t.suppressed().begin(), t.suppressed().end());
  };
  EXPECT_EQ(suppressed(must_build(bpe("qwen2", {}, {}))), Ids{});
  EXPECT_EQ(suppressed(must_build(with({}))), Ids{});
  EXPECT_EQ(suppressed(must_build(with({9, 3, 9, -1}))), (Ids{3, 9}));
  EXPECT_TRUE(must_build(with({9, -1})).warnings().empty());
  const Tokenizer odd = must_build(with({256, 5, INT32_MAX}));
  EXPECT_EQ(suppressed(odd), Ids{5});
  EXPECT_EQ(texts_of(odd.warnings()),
            Strings{"tokenizer.ggml.suppress_tokens is 256, but the vocabulary has 256 tokens: "
                    "left out"});
  std::vector<int32_t> all(256);
  for (int32_t id = 0; id < 256; ++id) all[static_cast<size_t>(id)] = id;
  expect_error(with(all), Code::bad_file, "has all 256 tokens of the vocabulary");
  expect_error(bpe("qwen2", {}, {}).kv_u32(kKey, 3), Code::bad_file, "is no array");
  expect_error(bpe("qwen2", {}, {}).kv_strings(kKey, {"a"}), Code::bad_file, "holds no integers");
  expect_error(bpe("qwen2", {}, {}).kv_array(kKey, ValueType::f32, std::vector<float>{1}),
               Code::bad_file, "holds no integers");
}

TEST(Bos, DefaultsAndWhatTheFileSays) {
  const auto prefix = [](const GgufBuilder& file) {
    const Tokenizer t = must_build(file);
    return Ids(t.prefix().begin(), t.prefix().end());
  };
  EXPECT_EQ(prefix(spm({})), (Ids{1}));
  EXPECT_EQ(prefix(spm({}).kv_bool("tokenizer.ggml.add_bos_token", false)), Ids{});
  EXPECT_EQ(prefix(bpe("gpt-2", {}, {}).kv_u32("tokenizer.ggml.bos_token_id", 7)), Ids{});
  EXPECT_EQ(prefix(bpe("llama-bpe", {}, {}).kv_u32("tokenizer.ggml.bos_token_id", 7)), (Ids{7}));
  EXPECT_EQ(prefix(bpe("llama-bpe", {}, {})), Ids{});
  EXPECT_EQ(prefix(bpe("qwen2", {}, {})
                       .kv_u32("tokenizer.ggml.bos_token_id", 7)
                       .kv_bool("tokenizer.ggml.add_bos_token", true)),
            (Ids{7}));
}

TEST(BadVocabulary, IsRefusedWithWhatWasFound) {
  const auto with = [](auto change) {
    GgufBuilder file = bpe("gpt-2", {{"ab"}}, {"a b"});
    change(file);
    return file;
  };
  const auto bad = [&](auto change, std::string_view part) {
    expect_error(with(change), Code::bad_file, part);
  };
  expect_error(with([](auto& f) { f.kv_string("tokenizer.ggml.model", "t5"); }),
               Code::unsupported_model, "'t5'");
  bad([](auto& f) { f.remove("tokenizer.ggml.model"); }, "tokenizer.ggml.model is missing");
  bad([](auto& f) { f.kv_u32("tokenizer.ggml.model", 1); }, "tokenizer.ggml.model");
  bad([](auto& f) { f.remove("tokenizer.ggml.tokens"); }, "tokenizer.ggml.tokens is missing");
  bad([](auto& f) { f.kv_strings("tokenizer.ggml.tokens", {}); }, "has 0 entries");
  bad([](auto& f) { f.kv_u32("tokenizer.ggml.tokens", 5); }, "no array of strings");
  bad([](auto& f) { f.remove("tokenizer.ggml.merges"); }, "tokenizer.ggml.merges is missing");
  for (const size_t n : {0u, 1u, 256u}) {
    expect_error(spm({}).kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(n)),
                 Code::bad_file, "but tokenizer.ggml.tokens has 260");
    bad(
        [&](auto& f) {
          f.kv_array("tokenizer.ggml.token_type", ValueType::i32, std::vector<int32_t>(n));
        },
        "but tokenizer.ggml.tokens has 257");
  }
  expect_error(
      spm({}).kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(260, NAN)),
      Code::bad_file, "no number");
  bad(
      [](auto& f) {
        f.kv_array("tokenizer.ggml.token_type", ValueType::f32, std::vector<float>(257));
      },
      "no integers");
  bad([](auto& f) { f.kv_i32("tokenizer.ggml.eos_token_id", -1); }, "eos_token_id");
  expect_error(bpe("gpt-2", {{"x"}}, {}), Code::bad_file, "are both 'x'");
  expect_error(bpe("gpt-2", {{std::string(65536, 'x')}}, {}), Code::bad_file, "65536 bytes");
  for (const char* text : {"<0xZZ>", "<0x-1>", "<0x1>", "<0x100>", "", "x"}) {
    expect_error(spm({{text, kByte}}), Code::bad_file, "byte token 260");
  }
  std::vector<Token> many(200);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = {std::string(60000, 'x') + std::to_string(i), kUserDefined};
  }
  expect_error(bpe("gpt-2", many, {}), Code::bad_file, "special tokens have more than");
}

TEST(OddVocabulary, IsTaken) {
  // Tokens that are not UTF-8 or not of GPT-2's characters, empty tokens, unknown types, no types.
  const Tokenizer t = must_build(
      bpe("gpt-2", {{"\xff\xfe"}, {""}, {""}, {"\u4f60"}, {"later", 99}, {"<0x41>", kByte}}, {}));
  EXPECT_EQ(t.piece(256), "\xff\xfe");
  EXPECT_EQ(t.piece(257), "");
  EXPECT_EQ(t.piece(259), "\u4f60");
  EXPECT_EQ(t.piece(260), "later");
  EXPECT_EQ(t.piece(261), "A");
  EXPECT_EQ(t.piece(-1), "");
  EXPECT_EQ(t.piece(262), "");
  EXPECT_EQ(t.raw_token(1000000), "");
  EXPECT_EQ(t.vocab_size(), 262);
  EXPECT_EQ(t.decode(Ids{'a', -5, 9999, 'b'}), "ab");
  GgufBuilder untyped = spm({});
  untyped.remove("tokenizer.ggml.token_type").remove("tokenizer.ggml.scores");
  EXPECT_EQ(must_build(untyped).decode(must_build(untyped).encode("\u00e9!")), "\u00e9!");
}

// Other engines run such files.
TEST(OddVocabulary, WhatCanBeDoneWithoutIsLeftOut) {
  for (const char* key : {"bos", "eos", "eot", "eom", "fim_pad"}) {
    const std::string name = "tokenizer.ggml." + std::string(key) + "_token_id";
    const Tokenizer t = must_build(bpe("gpt-2", {}, {}).kv_u32(name, 256));
    EXPECT_EQ(texts_of(t.warnings()),
              Strings{name + " is 256, but the vocabulary has 256 tokens: left out"});
    EXPECT_EQ(t.bos(), kNoToken);
    EXPECT_EQ(t.eos(), kNoToken);
    EXPECT_EQ(texts_of(must_build(bpe("gpt-2", {}, {}).kv_u32(name, 0xffffffffu)).warnings()),
              Strings{});
  }
  EXPECT_EQ(must_build(spm({}).kv_u32("tokenizer.ggml.bos_token_id", 300)).bos(), 1);
  EXPECT_EQ(must_build(spm({}).kv_u32("tokenizer.ggml.unknown_token_id", 300)).encode("x"),
            (Ids{kSpace, kFirstByte + 'x'}));

  const Tokenizer without_bos =
      must_build(bpe("gpt-2", {}, {}).kv_bool("tokenizer.ggml.add_bos_token", true));
  EXPECT_TRUE(without_bos.prefix().empty());
  ASSERT_EQ(without_bos.warnings().size(), 1u);
  EXPECT_NE(without_bos.warnings()[0].message.find("no tokenizer.ggml.bos_token_id"),
            std::string::npos);

  // More types or scores than tokens; any scores with merges, which do not use them.
  const Tokenizer longer = must_build(
      spm({{"ab", kNormal, -1}})
          .kv_array("tokenizer.ggml.token_type", ValueType::i32, std::vector<int32_t>(300, kNormal))
          .kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(300)));
  EXPECT_EQ(longer.vocab_size(), 261);
  for (const std::vector<float>& scores :
       {std::vector<float>(256, NAN), std::vector<float>(3), std::vector<float>(300)}) {
    EXPECT_EQ(
        must_build(bpe("gpt-2", {}, {}).kv_array("tokenizer.ggml.scores", ValueType::f32, scores))
            .encode("a"),
        Ids{'a'});
  }
}

TEST(TextStream, NeverHoldsHalfACharacter) {
  const Tokenizer t = must_build(bpe("gpt-2", {{"<c>", kControl}}, {}));
  TextStream stream(t, false);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.push(0x9f), "");
  EXPECT_EQ(stream.push(256), "");
  EXPECT_EQ(stream.push(0x98), "");
  EXPECT_TRUE(stream.incomplete());
  EXPECT_EQ(stream.push(0x80), "\U0001f600");
  EXPECT_FALSE(stream.incomplete());
  EXPECT_EQ(stream.push(0xff), "\ufffd");
  EXPECT_EQ(stream.push(0xe2), "");
  EXPECT_EQ(stream.push('b'),
            "\ufffd"
            "b");
  EXPECT_EQ(stream.push(0xe2), "");
  EXPECT_EQ(stream.flush(), "\ufffd");
  EXPECT_EQ(stream.flush(), "");
}

TEST(TextStream, StripsTheSpacePrefixAtTheStart) {
  const Tokenizer t = must_build(spm({}));
  TextStream at_start(t, true);
  EXPECT_EQ(at_start.push(kSpace), "");
  EXPECT_EQ(at_start.push(kSpace), " ");
  TextStream in_the_middle(t, false);
  EXPECT_EQ(in_the_middle.push(kSpace), " ");
}

// Would take hours if any step were quadratic.
TEST(LongText, AMillionOfOneCharacter) {
  const Tokenizer tokenizers[] = {
      must_build(spm({{"aa", kNormal, -1}, {"aaaa", kNormal, -2}, {"<|", kUserDefined}})),
      must_build(bpe("gpt-2", {{"aa"}, {"aaaa"}, {"<|", kUserDefined}}, {"a a", "aa aa"})),
      must_build(bpe("default", {{"aa"}, {"aaaa"}}, {"a a", "aa aa"})),
      must_build(raw_bpe({{"a"}, {"aa"}, {"aaaa"}, {"\u2581"}, {"\u2581\u2581"}},
                         {"a a", "aa aa", "\u2581 \u2581"}))};
  for (const Tokenizer& t : tokenizers) {
    for (const std::string part : {"a", " ", "<", "\xff", "\uff11"}) {
      const size_t size = part == "a" ? 1000000 : 100000;
      std::string text;
      while (text.size() < size) text += part;
      const Ids ids = t.encode(text);
      EXPECT_LE(ids.size(), text.size() + 1);
      EXPECT_EQ(t.decode(ids), text);
    }
  }
}

Ids in_slices(const Tokenizer& t, std::string_view text, bool special, size_t slice) {
  Encoding encoding(t, text, special, slice);
  Ids ids;
  uint64_t least = encoding.min_ids();
  for (bool more = true; more;) {
    more = encoding.step();
    const Ids some = encoding.take();
    ids.insert(ids.end(), some.begin(), some.end());
    least = std::max(least, encoding.min_ids());
  }
  EXPECT_EQ(least, ids.size());  // at the end, and never more
  return ids;
}

TEST(Encoding, SlicesOfAnySizeGiveTheSameIds) {
  std::mt19937 random(7);
  std::vector<Tokenizer> tokenizers;
  const std::vector<Token> special = {
      {"<<", kUserDefined}, {"<<<", kUserDefined}, {"aab", kUserDefined}, {"<s>", kControl}};
  std::vector<Token> tokens = {{"aa"},           {"aaa"}, {"aaaa"}, {"ab"},
                               {"\u0120\u0120"}, {"Aba"}, {"Ab"}};
  tokens.insert(tokens.end(), special.begin(), special.end());
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "qwen35", "smollm", "default"}) {
    tokenizers.push_back(must_build(
        bpe(pre, tokens, {"a b", "a a", "aa aa", "aa a", "\u0120 \u0120", "A b", "Ab a", "A ba"})));
  }
  for (const bool worse_first : {false, true}) {
    tokens = {{"a", kNormal, -9}, {"b", kNormal, -9}};
    for (const char* text : {"aa", "aaa", "ab", "aaaa", "\u2581\u2581", "Ab", "bAb", "\u2581a"}) {
      const auto n = static_cast<float>(tokens.size());
      tokens.push_back({text, kNormal, worse_first ? n : -n});
    }
    for (const Token& token : special) {
      if (token.text != "<s>") tokens.push_back(token);
    }
    tokenizers.push_back(must_build(spm(tokens)));
  }
  tokenizers.push_back(
      must_build(bpe("qwen35", {{"aa"}}, {"a a"}).kv_bool("tokenizer.ggml.normalizer.nfc", true)));
  tokens = {{"a"}, {"b"}, {"A"}, {"\u2581"}, {"\u00e9"}, {"\n"}, {"\n\n"}};
  for (const char* text : {"aa", "aaa", "aaaa", "ab", "\u2581\u2581", "b\u2581\u2581", "A\u00e9"})
    tokens.push_back({text});
  tokens.insert(tokens.end(), special.begin(), special.end());
  tokenizers.push_back(must_build(raw_bpe(
      tokens, {"a b", "a a", "aa aa", "aa a", "\u2581 \u2581", "b \u2581\u2581", "A \u00e9"})));
  for (const Tokenizer& t : tokenizers) {
    for (int round = 0; round < 30; ++round) {
      std::string text = random_bytes(random, 200);
      text.insert(random() % text.size(), std::string(random() % 100, 'a'));
      text.insert(random() % text.size(), std::string(random() % 100, ' '));
      text.insert(random() % text.size(), std::string(random() % 20, '<'));
      for (const bool parse_special : {false, true}) {
        const Ids whole = in_slices(t, text, parse_special, 1 << 20);
        EXPECT_EQ(t.encode(text, parse_special), whole);
        for (const size_t slice : {1u, 3u, 10u, 40u, 200u}) {
          EXPECT_EQ(in_slices(t, text, parse_special, slice), whole) << slice;
        }
      }
    }
  }
}

// A symbol of a merge takes 36 bytes. A long run must not need that much for each of its bytes.
TEST(Encoding, MemoryDoesNotGrowWithTheText) {
  const Tokenizer tokenizers[] = {
      must_build(spm({{"aa", kNormal, -1}, {"aaaa", kNormal, -2}, {"<|", kUserDefined}})),
      must_build(bpe("gpt-2", {{"aa"}, {"aaaa"}, {"<|", kUserDefined}}, {"a a", "aa aa"})),
      must_build(raw_bpe({{"a"}, {"aa"}, {"aaaa"}}, {"a a", "aa aa"}))};
  for (const Tokenizer& t : tokenizers) {
    const std::string text(1000000, 'a');
    const size_t before = allocated_bytes();
    Encoding encoding(t, text);
    while (encoding.step()) encoding.take();
    EXPECT_LT(allocated_bytes() - before, 12 * text.size());  // with freed memory and the ids
  }
}

// Merging many symbols in small parts gives the same as merging the whole, with any priorities.
// Tokens are strings of a few letters; a symbol's token is the number of its text.
TEST(MergePart, TheResultIsThatOfTheWhole) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    const int letters = 1 + static_cast<int>(random() % 3);
    const bool by_pair = round % 2 == 0;  // as in BPE: a merge depends on both sides
    const auto letter = [&] {
      return static_cast<char>('a' + random() % static_cast<unsigned>(letters));
    };
    const uint32_t n_priorities = round % 3 == 0 ? 2 : 1000;
    std::map<std::string, uint32_t> merges;  // "ab" or "a|b" to the priority
    size_t longest = 0;
    for (unsigned i = 0, n = 1 + static_cast<unsigned>(random() % 60); i < n; ++i) {
      std::string text;
      const size_t size = 2 + random() % 6;
      while (text.size() < size) text += letter();
      longest = std::max(longest, text.size());
      if (by_pair) text.insert(1 + random() % (size - 1), "|");
      merges.emplace(text, static_cast<uint32_t>(random() % n_priorities));
    }
    std::string text;
    const size_t size = random() % 120;
    while (text.size() < size) text += letter();

    const auto priority = [&](std::string_view at, size_t left, size_t both) {
      std::string key(at.substr(0, both));
      if (by_pair) key.insert(left, "|");
      const auto found = merges.find(key);
      return found == merges.end() ? kNoPriority : found->second;
    };
    const auto result = [&](size_t part) {
      std::vector<size_t> ends;
      size_t begin = 0;
      for (size_t window = part; begin < text.size();) {
        const std::string_view rest = std::string_view(text).substr(begin);
        const bool whole = rest.size() <= window;
        MergeList list;
        for (uint32_t i = 0; i < std::min(rest.size(), window); ++i) list.add(i, 1, 0);
        const auto find_pair = [&](const Symbol& left, const Symbol& right) -> PairMerge {
          const uint32_t p = priority(rest.substr(left.begin), left.size, left.size + right.size);
          return p == kNoPriority ? PairMerge{} : PairMerge{1, p};
        };
        const auto find_crossing = [&](const Symbol& symbol, size_t end) {
          uint32_t best = kNoPriority;
          for (size_t n = end + 1; n <= rest.size() && n - symbol.begin <= longest; ++n) {
            best =
                std::min(best, priority(rest.substr(symbol.begin), symbol.size, n - symbol.begin));
          }
          return best;
        };
        const size_t done =
            whole ? merge_symbols(list, find_pair) : merge_part(list, find_pair, find_crossing);
        for (int32_t i = done > 0 ? 0 : -1; i >= 0;) {
          const Symbol& symbol = list.symbols[static_cast<size_t>(i)];
          ends.push_back(begin + symbol.begin + symbol.size);
          i = symbol.next;
        }
        begin += done;
        if (done < window) ++window;
      }
      return ends;
    };
    const std::vector<size_t> whole = result(text.size() + 1);
    for (const size_t part : {1u, 2u, 5u, 16u}) {
      ASSERT_EQ(result(part), whole) << text << ", parts of " << part << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace sluice
