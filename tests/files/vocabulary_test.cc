// Vocabularies of Hugging Face, made ones of each kind, among them hostile ones. (Those of
// ../shared: vocabulary_answers_test.cc.)
#include "files/vocabulary/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.h"
#include "files/hub_json.h"
#include "files/vocabulary/sentencepiece.h"
#include "make/gguf_builder.h"
#include "make/vocabulary_files.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using nlohmann::ordered_json;
using Ids = std::vector<TokenId>;

// --- made vocabularies ---------------------------------------------------------------------------

// The result of add_vocabulary for files that should do.
struct Added {
  Gguf gguf;
  Notes notes;
  std::string_view text(std::string_view key) const {
    const MetadataValue* value = gguf.find(key);
    return value == nullptr ? "" : value->text();
  }
  // -1: there is no such key.
  int64_t number(std::string_view key) const {
    const MetadataValue* value = gguf.find(key);
    return value == nullptr ? -1 : *value->as_i64();
  }
  std::string token(uint64_t id) const {
    return std::string(gguf.find("tokenizer.ggml.tokens")->text(id));
  }
  int64_t type(uint64_t id) const { return *gguf.find("tokenizer.ggml.token_type")->as_i64(id); }
  double score(uint64_t id) const { return *gguf.find("tokenizer.ggml.scores")->as_f64(id); }
};

Added add_files(const MadeVocabulary& made, uint64_t n_vocab,
                const std::string& architecture = "llama") {
  Added out;
  const Status added = add_vocabulary(made.files(), architecture, n_vocab, out.gguf, out.notes);
  if (!added) ADD_FAILURE() << added.error().message;
  return out;
}

// The error for files that must not do.
Error refusal(const VocabularyFiles& files, uint64_t n_vocab,
              const std::string& architecture = "llama") {
  Gguf gguf;
  Notes notes;
  const Status added = add_vocabulary(files, architecture, n_vocab, gguf, notes);
  if (added) {
    ADD_FAILURE() << "it was taken";
    return {Code::aborted, ""};
  }
  return added.error();
}
Error refusal(const MadeVocabulary& made, uint64_t n_vocab,
              const std::string& architecture = "llama") {
  return refusal(made.files(), n_vocab, architecture);
}

void expect_refused(const MadeVocabulary& made, uint64_t n_vocab, Code code,
                    std::string_view part) {
  const Error error = refusal(made, n_vocab);
  EXPECT_EQ(code_name(error.code), code_name(code)) << error.message;
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

const std::string kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

TEST(Vocabulary, BytesWithMergesInBothForms) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["model"]["merges"] = merge_list({{"t", "h"}, {"th", "e"}});
  const Added pairs = add_files(made, 260);
  made.tokenizer["model"]["merges"] = {"t h", "th e"};
  const Added texts = add_files(made, 260);
  for (const Added* added : {&pairs, &texts}) {
    EXPECT_EQ(added->text("tokenizer.ggml.model"), "gpt2");
    EXPECT_EQ(added->text("tokenizer.ggml.pre"), "gpt-2");
    EXPECT_EQ(added->gguf.find("tokenizer.ggml.merges")->text(1), "th e");
    EXPECT_EQ(added->token(257), "the");
    EXPECT_EQ(added->type(257), 1);
    EXPECT_EQ(added->token(258), "<|end|>");
    EXPECT_EQ(added->type(258), 3);
    EXPECT_EQ(added->token(259), "[PAD259]");
    EXPECT_EQ(added->type(259), 5);
    EXPECT_EQ(added->number("tokenizer.ggml.add_bos_token"), 0);
    EXPECT_TRUE(added->notes.empty());
    const auto tokenizer = Tokenizer::from_gguf(added->gguf);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->encode("the<|end|>", true), (Ids{257, 258}));
  }
}

TEST(Vocabulary, MergesWithoutTokensAreLeftOut) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["model"]["merges"] =
      merge_list({{"t", "h"}, {"th", "x"}, {"q"}, {"th", "e"}, {"t", "zz"}});
  const Added added = add_files(made, 260);
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.merges")->count, 2u);
  ASSERT_EQ(added.notes.size(), 1u);
  EXPECT_EQ(added.notes[0].code, NoteCode::merges_skipped);
  EXPECT_EQ(std::get<uint64_t>(added.notes[0].facts[0].value), 3u);
}

// A file of 2020: no type of the model, no added tokens' list.
TEST(Vocabulary, OldFilesDontNameTheirModel) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["model"].erase("type");
  made.tokenizer.erase("post_processor");
  made.tokenizer["pre_tokenizer"].erase("use_regex");
  EXPECT_EQ(add_files(made, 260).text("tokenizer.ggml.pre"), "gpt-2");
}

TEST(Vocabulary, AddedTokens) {
  MadeVocabulary made = byte_level_vocabulary();
  made.add_token("<|looks_special|>", 259, false);
  made.add_token("<unused7>", 260, false);
  made.add_token("▁▁", 261, false);
  made.add_token("<tool>", 262, false);
  made.tokenizer_config["added_tokens_decoder"] = {
      {"262", {{"content", "<tool>"}, {"special", true}}},
      {"263", {{"content", "<more>"}, {"special", false}}}};
  const Added added = add_files(made, 264);
  EXPECT_EQ(added.type(259), 3);
  EXPECT_EQ(added.type(260), 3);
  EXPECT_EQ(added.type(261), 4);
  EXPECT_EQ(added.token(261), "  ");
  EXPECT_EQ(added.type(262), 3);
  EXPECT_EQ(added.token(263), "<more>");
  EXPECT_EQ(added.type(263), 4);
}

TEST(Vocabulary, AddedTokensWithoutARowAreLeftOut) {
  MadeVocabulary made = byte_level_vocabulary();
  made.add_token("<image>", 259, true);
  made.tokenizer["model"]["vocab"]["<image>"] = 259;
  const Added added = add_files(made, 259);
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.tokens")->count, 259u);
  ASSERT_EQ(added.notes.size(), 1u);
  EXPECT_EQ(added.notes[0].code, NoteCode::token_not_in_vocabulary);
}

// --- pre-tokenizers ------------------------------------------------------------------------------

ordered_json split(const std::string& pattern, const char* behavior = "Isolated",
                   bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", behavior},
          {"invert", invert}};
}
ordered_json bytes_step(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}
ordered_json digits(bool each) { return {{"type", "Digits"}, {"individual_digits", each}}; }
ordered_json sequence(const std::vector<ordered_json>& steps) {
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

struct PreCase {
  std::string name;
  ordered_json pre_tokenizer;
};

std::string with_number(std::string pattern, const std::string& number) {
  return pattern.replace(pattern.find("\\p{N}{1,3}"), 10, number);
}

std::vector<PreCase> pre_cases() {
  const std::string gpt2 =
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
  const std::string marks =
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
      "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const std::string upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
  const std::string lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
  const auto cases = [&](const std::string& contractions, const std::string& number) {
    return "[^\\r\\n\\p{L}\\p{N}]?" + upper + "*" + lower + "+" + contractions +
           "|[^\\r\\n\\p{L}\\p{N}]?" + upper + "+" + lower + "*" + contractions + "|" + number +
           "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  };
  // With line ends as they are, as its file has them.
  const std::string deepseek =
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
      "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
  return {
      {"gpt-2", bytes_step(true)},
      {"gpt-2", sequence({split(gpt2), bytes_step(false)})},
      {"dbrx", sequence({split(kLlama3Pattern), bytes_step(false)})},
      {"dbrx", sequence({split(kLlama3Pattern, "Removed", true), bytes_step(false)})},
      {"qwen2", sequence({split(with_number(kLlama3Pattern, "\\p{N}")), bytes_step(false)})},
      {"qwen2",
       sequence({sequence({split(with_number(kLlama3Pattern, "\\p{N}"))}), bytes_step(false)})},
      {"qwen35", sequence({split(marks), bytes_step(false)})},
      {"smollm", sequence({digits(true), bytes_step(true)})},
      {"smollm", sequence({split("\\p{N}"), bytes_step(true)})},
      {"gpt-4o",
       sequence({split(cases("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "\\p{N}{1,3}")), bytes_step(false)})},
      {"tekken", sequence({split(cases("", "\\p{N}")), bytes_step(false)})},
      {"deepseek-v3", sequence({split("\\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
                                split(deepseek), bytes_step(false)})},
      {"deepseek-coder",
       sequence({split("[\\r\\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"),
                 split("[一-龥ࠀ-一가-퟿]+"), digits(true), bytes_step(false)})},
      {"minicpm5", sequence({split("\\p{N}{1,3}"), split(with_number(kLlama3Pattern, "\\p{N}+")),
                             bytes_step(false)})},
      {"falcon", sequence({{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
                           bytes_step(true),
                           split("[0-9][0-9][0-9]")})},
  };
}

TEST(Vocabulary, PreTokenizersByTheirPatterns) {
  for (const PreCase& one : pre_cases()) {
    MadeVocabulary made = byte_level_vocabulary();
    made.tokenizer["pre_tokenizer"] = one.pre_tokenizer;
    if (find_pre_tokenizer(one.name)) {
      EXPECT_EQ(add_files(made, 260).text("tokenizer.ggml.pre"), one.name);
    } else {
      expect_refused(made, 260, Code::unsupported_model, "'" + one.name + "'");
    }
  }
}

TEST(Vocabulary, TheTokenInFrontTellsLlama3FromOthers) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["pre_tokenizer"] = sequence({split(kLlama3Pattern), bytes_step(false)});
  made.frame("<|end|>", "");
  const Added added = add_files(made, 260);
  EXPECT_EQ(added.text("tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(added.number("tokenizer.ggml.bos_token_id"), 258);
  EXPECT_EQ(added.number("tokenizer.ggml.add_bos_token"), 1);
  EXPECT_EQ(added.number("tokenizer.ggml.add_eos_token"), 0);
}

// A token that no merge makes is only found by looking up whole words.
TEST(Vocabulary, WholeWordsTellLlama3FromOthersIfTheyMatter) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["pre_tokenizer"] = sequence({split(kLlama3Pattern), bytes_step(false)});
  made.tokenizer["model"]["ignore_merges"] = true;
  const auto pre = [&] { return std::string(add_files(made, 260).text("tokenizer.ggml.pre")); };
  EXPECT_EQ(pre(), "dbrx");
  made.tokenizer["model"]["vocab"]["word"] = 259;
  EXPECT_EQ(pre(), "llama-bpe");
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.add_bos_token"), 0);
  made.tokenizer["model"]["ignore_merges"] = false;
  made.frame("<|end|>", "");
  EXPECT_EQ(pre(), "dbrx");
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.add_bos_token"), 1);
}

TEST(Vocabulary, UnknownRulesAreRefusedAndPrinted) {
  const std::vector<std::pair<ordered_json, std::string>> cases = {
      {sequence({split("my own [pattern]+"), bytes_step(false)}), "my own [pattern]+"},
      {sequence({split(kLlama3Pattern, "MergedWithNext"), bytes_step(false)}), "MergedWithNext"},
      {sequence({split(kLlama3Pattern, "Isolated", true), bytes_step(false)}), "Isolated"},
      {sequence({split("\\p{N}", "Removed", true), bytes_step(true)}), "Removed"},
      {sequence({bytes_step(true), digits(true)}), "Digits"},
      {sequence({{{"type", "Whitespace"}}, bytes_step(true)}), "Whitespace"},
      {{{"type", "ByteLevel"}, {"add_prefix_space", true}}, "add_prefix_space"},
  };
  for (const auto& [pre_tokenizer, part] : cases) {
    MadeVocabulary made = byte_level_vocabulary();
    made.tokenizer["pre_tokenizer"] = pre_tokenizer;
    expect_refused(made, 260, Code::unsupported_model, part);
  }
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["normalizer"] = {{"type", "NFKC"}};
  expect_refused(made, 260, Code::unsupported_model, "NFKC");
}

TEST(Vocabulary, Nfc) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.normalizer.nfc"), 1);
}

TEST(Vocabulary, OtherModelsAreRefusedByName) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer["model"] = {{"type", "Unigram"}};
  made.tokenizer["model"]["vocab"] = ordered_json::parse(R"([["a", -1.5], ["b", -2]])");
  expect_refused(made, 260, Code::unsupported_model, "Unigram");
  made.tokenizer["model"].erase("type");
  expect_refused(made, 260, Code::unsupported_model, "Unigram");
  made.tokenizer["model"] = {{"type", "WordLevel"}};
  expect_refused(made, 260, Code::unsupported_model, "WordLevel");
  made = byte_level_vocabulary();
  made.tokenizer["model"]["end_of_word_suffix"] = "</w>";
  expect_refused(made, 260, Code::unsupported_model, "marks");
  made = byte_level_vocabulary();
  made.tokenizer["pre_tokenizer"] = nullptr;
  expect_refused(made, 260, Code::unsupported_model, "byte fallback");
}

// --- U+2581 for spaces ---------------------------------------------------------------------------

TEST(Vocabulary, SpacesWithScoresOfMerges) {
  const MadeVocabulary made = spaces_vocabulary();
  const Added added = add_files(made, made.size());
  EXPECT_EQ(added.text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(added.text("tokenizer.ggml.pre"), "default");
  EXPECT_EQ(added.type(0), 2);  // <unk>
  EXPECT_EQ(added.type(1), 3);  // <s>
  EXPECT_EQ(added.token(3), "<0x00>");
  EXPECT_EQ(added.type(3), 6);
  const uint64_t merged = made.id_of("▁a");
  EXPECT_EQ(added.score(merged), 0);
  EXPECT_EQ(added.score(merged + 1), -1);
  EXPECT_EQ(added.score(made.id_of("a")), -2);
  EXPECT_EQ(added.score(1), -1000);
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.merges"), nullptr);
  EXPECT_EQ(added.number("tokenizer.ggml.add_space_prefix"), -1);  // the default
  const auto tokenizer = Tokenizer::from_gguf(added.gguf);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->with_prefix(tokenizer->encode("ab")),
            (Ids{1, static_cast<TokenId>(made.id_of("▁ab"))}));
}

TEST(Vocabulary, SpacePrefix) {
  MadeVocabulary made = spaces_vocabulary();
  const auto prefix = [&] {
    return add_files(made, made.size()).number("tokenizer.ggml.add_space_prefix");
  };
  const ordered_json replace = made.tokenizer["normalizer"]["normalizers"][1];
  made.tokenizer["normalizer"] = replace;
  EXPECT_EQ(prefix(), 0);
  made.tokenizer["normalizer"] = nullptr;
  const auto metaspace = [&](const char* scheme) {
    made.tokenizer["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", false}};
    return prefix();
  };
  EXPECT_EQ(metaspace("never"), 0);
  EXPECT_EQ(metaspace("first"), -1);
  EXPECT_EQ(metaspace("always"), -1);
  made.tokenizer["pre_tokenizer"].erase("split");  // divides at spaces, where no token goes on
  EXPECT_EQ(prefix(), -1);
  made.tokenizer["model"]["vocab"]["▁▁"] = made.size();
  expect_refused(made, made.size(), Code::unsupported_model, "Metaspace");
  made.tokenizer["model"]["vocab"].erase("▁▁");
  made.tokenizer_config["add_prefix_space"] = false;
  EXPECT_EQ(metaspace("always"), 0);
  // Splitting at spaces that are still there.
  made.tokenizer["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}};
  expect_refused(made, made.size(), Code::unsupported_model, "MergedWithPrevious");
  made.tokenizer["normalizer"] = replace;
  EXPECT_EQ(prefix(), 0);
}

TEST(Vocabulary, SentencePieceScoresAndTypes) {
  MadeVocabulary made = spaces_vocabulary();
  made.pieces();
  const uint64_t merged = made.id_of("▁a");
  made.piece_list[merged].score = -7;
  made.piece_list[merged + 1].type = 5;
  const Added added = add_files(made, made.size());
  EXPECT_EQ(added.score(merged), -7);
  EXPECT_EQ(added.type(merged + 1), 5);
  EXPECT_EQ(added.score(1), -1000);

  // Another vocabulary's file: by the merges again.
  made.piece_list[merged].text = "other";
  EXPECT_EQ(add_files(made, made.size()).score(merged), 0);
  made.piece_list[merged].text = "▁a";
  made.trainer = "\x18\x01";  // unigram
  EXPECT_EQ(add_files(made, made.size()).score(merged), 0);
}

TEST(Vocabulary, DamagedSentencePiece) {
  MadeVocabulary made = spaces_vocabulary();
  made.pieces();
  VocabularyFiles files = made.files();
  const std::string whole = *files.sentencepiece;
  for (const std::string_view damaged :
       {std::string_view("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12),  // a huge length
        std::string_view("\x0a\x05\x0a\x09"
                         "abc",
                         7),              // a text that is longer than its piece
        std::string_view("\x0b", 1),      // a group
        std::string_view("\x02\x00", 2),  // field 0
        std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12),
        std::string_view("\x0a\x05\x15\x00\x00\xc0\x7f", 7),  // NaN
        std::string_view("\x0a\x02\x18\x07", 4)}) {           // type 7
    files.sentencepiece = whole + std::string(damaged);
    EXPECT_EQ(refusal(files, made.size()).code, Code::bad_file) << hexadecimal(damaged.size());
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    (void)read_sentencepiece(whole.substr(0, size));
    if (size % 64 != 0) continue;
    files.sentencepiece = whole.substr(0, size);
    Gguf gguf;
    Notes notes;
    (void)add_vocabulary(files, "llama", made.size(), gguf, notes);
  }
}

TEST(Vocabulary, Gemma4HasMergesOfTexts) {
  MadeVocabulary made = spaces_vocabulary();
  made.tokenizer["normalizer"] = made.tokenizer["normalizer"]["normalizers"][1];
  const uint64_t n = made.size();
  made.add_token("<|tool_call>", n, true);
  made.add_token("<|turn>", n + 1, true);
  const Added added = add_files(made, n + 2, "gemma4");
  EXPECT_EQ(added.text("tokenizer.ggml.model"), "gemma4");
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.pre"), nullptr);
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.scores"), nullptr);
  EXPECT_EQ(added.gguf.find("tokenizer.ggml.merges")->text(0), "▁ a");
  EXPECT_EQ(added.type(n), 4);
  EXPECT_EQ(added.type(n + 1), 3);
  EXPECT_EQ(added.number("tokenizer.ggml.add_space_prefix"), 0);
  EXPECT_EQ(added.number("tokenizer.ggml.add_bos_token"), 1);
  const auto tokenizer = Tokenizer::from_gguf(added.gguf);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->encode(" ab"), (Ids{static_cast<TokenId>(made.id_of("▁ab"))}));
}

// --- WordPiece -----------------------------------------------------------------------------------

TEST(Vocabulary, WordPiece) {
  MadeVocabulary made = word_piece_vocabulary();
  const Added added = add_files(made, 8, "bert");
  EXPECT_EQ(added.text("tokenizer.ggml.model"), "bert");
  EXPECT_EQ(added.number("tokenizer.ggml.token_type_count"), 2);
  EXPECT_EQ(added.token(2), "[CLS]");
  EXPECT_EQ(added.token(5), "▁play");
  EXPECT_EQ(added.token(6), "ing");
  EXPECT_EQ(added.token(7), "▁ing");
  EXPECT_EQ(added.number("tokenizer.ggml.bos_token_id"), 2);
  EXPECT_EQ(added.number("tokenizer.ggml.eos_token_id"), 3);
  EXPECT_EQ(added.number("tokenizer.ggml.seperator_token_id"), 3);
  EXPECT_EQ(added.number("tokenizer.ggml.mask_token_id"), 4);
  EXPECT_EQ(added.number("tokenizer.ggml.normalizer.lowercase"), 1);
  EXPECT_EQ(added.number("tokenizer.ggml.normalizer.strip_accents"), -1);
  EXPECT_EQ(added.number("tokenizer.ggml.add_eos_token"), 1);

  made.tokenizer["normalizer"]["lowercase"] = false;
  made.tokenizer["normalizer"]["strip_accents"] = true;
  made.tokenizer["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  made.tokenizer_config = ordered_json::object();
  const Added cased = add_files(made, 8, "bert");
  EXPECT_EQ(cased.number("tokenizer.ggml.normalizer.lowercase"), 0);
  EXPECT_EQ(cased.number("tokenizer.ggml.normalizer.strip_accents"), 1);
  EXPECT_EQ(cased.number("tokenizer.ggml.bos_token_id"), 2);
  EXPECT_EQ(cased.number("tokenizer.ggml.padding_token_id"), 0);
  EXPECT_EQ(cased.number("tokenizer.ggml.add_bos_token"), 1);

  made.tokenizer["normalizer"]["clean_text"] = false;
  expect_refused(made, 8, Code::unsupported_model, "clean_text");
}

// --- special tokens ------------------------------------------------------------------------------

TEST(Vocabulary, SpecialTokensOfTheConfigs) {
  MadeVocabulary made = byte_level_vocabulary();
  made.add_token("<pad>", 259, true);
  made.tokenizer_config = {{"pad_token", {{"content", "<pad>"}}}, {"eos_token", "<|end|>"}};
  made.config = {{"bos_token_id", 1},
                 {"eos_token_id", {258, 259}},
                 {"pad_token_id", 5},
                 {"text_config", {{"mask_token_id", 7}, {"sep_token_id", 999}}}};
  const Added added = add_files(made, 260);
  EXPECT_EQ(added.number("tokenizer.ggml.bos_token_id"), 1);
  EXPECT_EQ(added.number("tokenizer.ggml.eos_token_id"), 258);
  EXPECT_EQ(added.number("tokenizer.ggml.padding_token_id"), 259);
  EXPECT_EQ(added.number("tokenizer.ggml.mask_token_id"), 7);
  EXPECT_EQ(added.number("tokenizer.ggml.seperator_token_id"), -1);
  ASSERT_EQ(added.notes.size(), 1u);
  EXPECT_EQ(added.notes[0].code, NoteCode::token_not_in_vocabulary);
  // A list has no key.
  made.tokenizer_config.erase("eos_token");
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.eos_token_id"), -1);
}

TEST(Vocabulary, ATokenBehindTexts) {
  MadeVocabulary made = byte_level_vocabulary();
  made.add_token("<|stop|>", 259, true);
  made.frame("", "<|end|>");
  made.tokenizer_config = {{"eos_token", "<|stop|>"}};
  const Added added = add_files(made, 260);
  EXPECT_EQ(added.number("tokenizer.ggml.eos_token_id"), 258);
  EXPECT_EQ(added.number("tokenizer.ggml.eot_token_id"), 259);
  EXPECT_EQ(added.number("tokenizer.ggml.add_eos_token"), 1);
  EXPECT_EQ(added.number("tokenizer.ggml.add_bos_token"), 0);
}

TEST(Vocabulary, ATokenBetweenTwoTexts) {
  MadeVocabulary made = byte_level_vocabulary();
  const auto separated = [&] {
    return add_files(made, 260).number("tokenizer.ggml.add_sep_token");
  };
  EXPECT_EQ(separated(), -1);
  made.tokenizer["post_processor"] = {
      {"type", "RobertaProcessing"}, {"sep", {"<|end|>", 258}}, {"cls", {"<|end|>", 258}}};
  EXPECT_EQ(separated(), 1);
  made.tokenizer["post_processor"]["type"] = "BertProcessing";
  EXPECT_EQ(separated(), 0);
  made.frame("", "");
  const ordered_json one = made.tokenizer["post_processor"]["single"][0];
  const ordered_json between = {{"SpecialToken", {{"id", "<|end|>"}}}};
  made.tokenizer["post_processor"]["pair"] = std::vector<ordered_json>{one, between, one};
  EXPECT_EQ(separated(), 0);
  made.tokenizer_config = {{"sep_token", "<|end|>"}};
  EXPECT_EQ(separated(), 1);
}

TEST(Vocabulary, AFrameThatNoKeyCanSay) {
  MadeVocabulary made = byte_level_vocabulary();
  made.add_token("<|start|>", 259, true);
  made.frame("<|start|>", "");
  made.tokenizer_config = {{"bos_token", "<|end|>"}};
  expect_refused(made, 260, Code::unsupported_model, "<|start|>");
  made.tokenizer_config = ordered_json::object();
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.bos_token_id"), 259);
  made.frame("<|missing|>", "");
  expect_refused(made, 260, Code::bad_file, "<|missing|>");
  made.frame("<|start|>", "");
  auto& single = made.tokenizer["post_processor"]["single"];
  single.insert(single.begin(), single[0]);
  expect_refused(made, 260, Code::unsupported_model, "several");
  single = ordered_json::array({single[0]});
  expect_refused(made, 260, Code::bad_file, "no place");
  made.tokenizer["post_processor"] = {{"type", "Novel"}};
  expect_refused(made, 260, Code::unsupported_model, "Novel");
}

TEST(Vocabulary, WithoutATemplateTheConfigDecides) {
  MadeVocabulary made = byte_level_vocabulary();
  made.tokenizer_config = {{"add_bos_token", true}, {"bos_token", "<|end|>"}};
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.add_bos_token"), 1);
  made.frame("<|end|>", "");
  made.tokenizer_config["add_bos_token"] = false;
  EXPECT_EQ(add_files(made, 260).number("tokenizer.ggml.add_bos_token"), 1);
}

TEST(Vocabulary, ChatTemplates) {
  MadeVocabulary made = byte_level_vocabulary();
  made.chat_template_json = R"({"chat_template": "of json"})";
  EXPECT_EQ(add_files(made, 260).text("tokenizer.chat_template"), "of json");
  made.chat_template = "of jinja";
  EXPECT_EQ(add_files(made, 260).text("tokenizer.chat_template"), "of jinja");
  made.tokenizer_config["chat_template"] = nullptr;
  EXPECT_EQ(add_files(made, 260).text("tokenizer.chat_template"), "of jinja");
  made.tokenizer_config["chat_template"] = {{{"name", "default"}, {"template", "one"}},
                                            {{"name", "tool use"}, {"template", "two"}}};
  const Added added = add_files(made, 260);
  EXPECT_EQ(added.text("tokenizer.chat_template"), "one");
  EXPECT_EQ(added.text("tokenizer.chat_template.tool_use"), "two");
  EXPECT_EQ(added.gguf.find("tokenizer.chat_templates")->text(0), "tool_use");
  made.tokenizer_config["chat_template"] = 7;
  expect_refused(made, 260, Code::bad_file, "chat_template");
  made.tokenizer_config.erase("chat_template");
  made.chat_template = "\xff";
  expect_refused(made, 260, Code::bad_file, "UTF-8");
}

TEST(Vocabulary, SuppressedTokens) {
  MadeVocabulary made = byte_level_vocabulary();
  made.generation_config = {{"suppress_tokens", {3, 258}}};
  EXPECT_EQ(add_files(made, 260).gguf.find("tokenizer.ggml.suppress_tokens")->as_i64(1), 258);
  made.generation_config = {{"suppress_tokens", {260}}};
  expect_refused(made, 260, Code::bad_file, "suppress_tokens");
}

// --- hostile files -------------------------------------------------------------------------------

TEST(Vocabulary, IdsAndTextsMustFit) {
  const auto with = [](const auto& change) {
    MadeVocabulary made = byte_level_vocabulary();
    change(made);
    return made;
  };
  auto& vocab = "vocab";
  expect_refused(with([&](auto& made) { made.tokenizer["model"][vocab]["zz"] = 257; }), 260,
                 Code::bad_file, "both have the id 257");
  expect_refused(with([&](auto& made) { made.tokenizer["model"][vocab]["zz"] = 260; }), 260,
                 Code::bad_file, "260 rows");
  for (const ordered_json& id : std::vector<ordered_json>{
           "7", -1, 7.5, nullptr, {7}, true, uint64_t{1} << 40, ordered_json::object()}) {
    expect_refused(with([&](auto& made) { made.tokenizer["model"][vocab]["zz"] = id; }), 260,
                   Code::bad_file, "zz");
  }
  expect_refused(with([](auto& made) { made.add_token("twice", 258, true); }), 260, Code::bad_file,
                 "twice");
  expect_refused(with([](auto& made) { made.add_token("t", 259, true); }), 260, Code::bad_file,
                 "'t'");
  expect_refused(with([](auto& made) { made.add_token("[PAD259]", 260, true); }), 261,
                 Code::bad_file, "[PAD259]");
  expect_refused(with([](auto& made) { made.add_token(std::string(70000, 'x'), 259, true); }), 260,
                 Code::bad_file, "70000");
  expect_refused(with([](auto& made) {
                   made.tokenizer["added_tokens"].push_back({{"content", "no id"}});
                 }),
                 260, Code::bad_file, "no id");
  expect_refused(with([](auto& made) {
                   made.tokenizer_config["added_tokens_decoder"] = {{"-3", {{"content", "x"}}}};
                 }),
                 260, Code::bad_file, "-3");
  expect_refused(byte_level_vocabulary(), 0, Code::bad_file, "0 rows");
  expect_refused(byte_level_vocabulary(), uint64_t{1} << 40, Code::bad_file, "rows");
}

TEST(Vocabulary, DamagedJson) {
  VocabularyFiles files = byte_level_vocabulary().files();
  const VocabularyFiles good = files;
  const auto refused = [&](const std::string& tokenizer, std::string_view part) {
    files.tokenizer = tokenizer;
    const Error error = refusal(files, 260);
    EXPECT_EQ(error.code, Code::bad_file);
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  };
  refused("", "no valid JSON");
  refused("[]", "no object");
  refused("7", "no object");
  refused("{}", "'model'");
  refused(R"({"model": []})", "'model'");
  refused(R"({"model": {"vocab": 7}})", "'vocab'");
  refused(R"({"model": {"merges": {}}})", "'merges'");
  refused(R"({"added_tokens": "x"})", "'added_tokens'");
  refused(R"({"model": {}, "model": {}})", "two parts");
  refused(R"({"model": {"vocab": {}, "vocab": {}}})", "two parts");
  refused(R"({"model": {"vocab": {"a": 1, "a": 2}, "merges": []}, "pre_tokenizer":
             {"type": "ByteLevel", "add_prefix_space": false}})",
          "twice");
  refused(R"({"pre_tokenizer": )" + std::string(100000, '[') + std::string(100000, ']') + "}",
          "nested");
  refused(std::string(200000, '['), "no object");
  refused(R"({"normalizer": [)" + std::string(300000, '0').replace(1, 0, "") + "]}", "JSON");
  std::string many = R"({"normalizer": [0)";
  for (int i = 0; i < 140000; ++i) many += ",0";
  refused(many + "]}", "more than");
  refused(good.tokenizer + "x", "JSON");

  files = good;
  files.config = "[1]";
  EXPECT_EQ(refusal(files, 260).code, Code::bad_file);
  files.config = std::string(200000, '[');
  EXPECT_EQ(refusal(files, 260).code, Code::bad_file);
  files = good;
  files.tokenizer_config = "{\"\xff\": 1}";
  EXPECT_EQ(refusal(files, 260).code, Code::bad_file);
}

// Cut at any byte, and with any value of another type, it's refused or read, and nothing worse.
TEST(Vocabulary, CutAndChangedFiles) {
  const MadeVocabulary made = word_piece_vocabulary();
  VocabularyFiles files = made.files();
  const auto read = [&] {
    Gguf gguf;
    Notes notes;
    return add_vocabulary(files, "bert", 8, gguf, notes).has_value();
  };
  const std::string whole = files.tokenizer;
  for (size_t size = 0; size < whole.size(); ++size) {
    files.tokenizer = whole.substr(0, size);
    EXPECT_FALSE(read()) << size;
  }
  const ordered_json flat = ordered_json::parse(whole).flatten();
  for (const auto& [path, value] : flat.items()) {
    for (const ordered_json& other :
         std::vector<ordered_json>{nullptr, true, -1, 0.5, "text", ordered_json::array(),
                                   ordered_json::object(), uint64_t{1} << 63}) {
      ordered_json changed = ordered_json::parse(whole);
      changed[ordered_json::json_pointer(path)] = other;
      files.tokenizer = changed.dump();
      (void)read();
    }
  }
  EXPECT_GT(flat.size(), 30u);
}

// A vocabulary as large as the largest ones is read in time; a slow way would take minutes.
TEST(Vocabulary, ManyTokens) {
  std::string text = R"({"model": {"type": "BPE", "vocab": {)";
  constexpr int kTokens = 200000;
  for (int i = 0; i < kTokens; ++i) text += concat(i == 0 ? "" : ",", "\"t", i, "\":", i);
  text += R"(}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}})";
  VocabularyFiles files;
  files.tokenizer = text;
  files.config = "{}";
  Gguf gguf;
  Notes notes;
  const Status added = add_vocabulary(files, "llama", kTokens + 5, gguf, notes);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(gguf.find("tokenizer.ggml.tokens")->text(kTokens - 1), "t199999");
}

TEST(HubJson, DeepAndWideFilesAreRefused) {
  const auto refused = [](const std::string& text, std::string_view why) {
    for (const auto read : {read_hub_json, read_hub_list}) {
      const auto got = read("x.json", text);
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, Code::bad_file);
      EXPECT_NE(got.error().message.find(why), std::string::npos) << got.error().message;
    }
  };
  const std::string deep(100'000, '[');
  refused(deep, "x.json: it has values in more than 32 others");
  refused(deep + std::string(deep.size(), ']'), "x.json: it has values in more than 32 others");
  EXPECT_TRUE(read_hub_list("x.json", std::string(32, '[') + std::string(32, ']')));
  std::string wide = "[0";
  for (int i = 0; i < 4'000'000; ++i) wide += ",0";
  refused(wide, "x.json: its JSON has more than 4000000 parts");
  refused("[", "x.json: it is no JSON. Download it again");
}

}  // namespace
}  // namespace sluice
