// Makes the files of Hugging Face vocabularies for tests: a small one of each kind, which a test
// changes before it asks for the files.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/vocabulary/vocabulary.h"
#include "text/vocab.h"

namespace sluice {

// Merges as lists of two texts.
inline nlohmann::ordered_json merge_list(const std::vector<std::vector<std::string>>& merges) {
  return merges;
}

struct MadePiece {
  std::string text;
  float score = 0;
  char type = 1;
};

struct MadeVocabulary {
  nlohmann::ordered_json tokenizer;
  nlohmann::ordered_json tokenizer_config = nlohmann::ordered_json::object();
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  nlohmann::ordered_json generation_config = nlohmann::ordered_json::object();
  std::vector<MadePiece> piece_list;  // of tokenizer.model; empty: there is none
  std::string trainer = "\x18\x02";   // its TrainerSpec: BPE
  std::optional<std::string> chat_template;
  std::optional<std::string> chat_template_json;

  uint64_t size() const { return tokenizer["model"]["vocab"].size(); }
  uint64_t id_of(std::string_view text) const {
    return tokenizer["model"]["vocab"][std::string(text)];
  }
  void add_token(const std::string& text, uint64_t id, bool special) {
    tokenizer["added_tokens"].push_back({{"id", id}, {"content", text}, {"special", special}});
  }
  // What the post-processor puts in front of a text and behind it; empty: nothing.
  void frame(const std::string& first, const std::string& last) {
    using Json = nlohmann::ordered_json;
    const auto special = [](const std::string& token) -> Json {
      return {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
    };
    Json single = Json::array();
    if (!first.empty()) single.push_back(special(first));
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    if (!last.empty()) single.push_back(special(last));
    tokenizer["post_processor"] = {{"type", "TemplateProcessing"}, {"single", single}};
  }
  // Gives it a tokenizer.model with its own tokens.
  void pieces() {
    for (const auto& [text, id] : tokenizer["model"]["vocab"].items()) piece_list.push_back({text});
  }

  VocabularyFiles files() const {
    VocabularyFiles out;
    out.tokenizer = tokenizer.dump();
    out.config = config.dump();
    out.tokenizer_config = tokenizer_config.dump();
    out.generation_config = generation_config.dump();
    out.chat_template = chat_template;
    out.chat_template_json = chat_template_json;
    if (piece_list.empty()) return out;
    std::string model;
    for (const MadePiece& piece : piece_list) {
      std::string score(sizeof piece.score, '\0');
      std::memcpy(score.data(), &piece.score, score.size());
      const std::string message = "\x0a" + std::string(1, static_cast<char>(piece.text.size())) +
                                  piece.text + "\x15" + score + "\x18" + piece.type;
      model += "\x0a" + std::string(1, static_cast<char>(message.size())) + message;
    }
    out.sentencepiece =
        model + "\x12" + std::string(1, static_cast<char>(trainer.size())) + trainer;
    return out;
  }
};

// BPE of bytes: ids 0 to 255 are those of the bytes, 256 "th", 257 "the", 258 "<|end|>".
inline MadeVocabulary byte_level_vocabulary() {
  MadeVocabulary out;
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[std::string(byte_character(static_cast<uint8_t>(byte)))] = byte;
  vocab["th"] = 256;
  vocab["the"] = 257;
  out.tokenizer = {
      {"added_tokens", nlohmann::ordered_json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", {{"type", "ByteLevel"}, {"add_prefix_space", true}}},
      {"model", {{"type", "BPE"}, {"byte_fallback", false}, {"vocab", vocab}}}};
  out.tokenizer["model"]["merges"] = merge_list({{"t", "h"}, {"th", "e"}});
  out.add_token("<|end|>", 258, true);
  return out;
}

// BPE with U+2581: <unk>, <s>, </s>, 256 bytes, "▁", "a", "b", "▁a", "▁ab".
inline MadeVocabulary spaces_vocabulary() {
  MadeVocabulary out;
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  for (const char* text : {"<unk>", "<s>", "</s>"}) vocab[text] = vocab.size();
  for (int byte = 0; byte < 256; ++byte) {
    const char* const digits = "0123456789ABCDEF";
    vocab[std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">"] = vocab.size();
  }
  for (const char* text : {"▁", "a", "b", "▁a", "▁ab"}) vocab[text] = vocab.size();
  out.tokenizer = {
      {"added_tokens", nlohmann::ordered_json::array()},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "▁"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}}},
      {"pre_tokenizer", nullptr},
      {"model",
       {{"type", "BPE"}, {"byte_fallback", true}, {"unk_token", "<unk>"}, {"vocab", vocab}}}};
  out.tokenizer["model"]["merges"] = merge_list({{"▁", "a"}, {"▁a", "b"}});
  out.add_token("<s>", 1, true);
  out.add_token("</s>", 2, true);
  out.frame("<s>", "");
  out.tokenizer_config = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return out;
}

// WordPiece: [PAD] [UNK] [CLS] [SEP] [MASK] play ##ing ing.
inline MadeVocabulary word_piece_vocabulary() {
  MadeVocabulary out;
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "ing"}) {
    vocab[text] = vocab.size();
  }
  out.tokenizer = {{"added_tokens", nlohmann::ordered_json::array()},
                   {"normalizer",
                    {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", true},
                     {"strip_accents", nullptr},
                     {"lowercase", true}}},
                   {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                   {"model",
                    {{"type", "WordPiece"},
                     {"unk_token", "[UNK]"},
                     {"continuing_subword_prefix", "##"},
                     {"max_input_chars_per_word", 100},
                     {"vocab", vocab}}}};
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    out.add_token(text, out.id_of(text), true);
  out.frame("[CLS]", "[SEP]");
  out.tokenizer_config = {{"cls_token", "[CLS]"},
                          {"sep_token", "[SEP]"},
                          {"mask_token", "[MASK]"},
                          {"pad_token", "[PAD]"},
                          {"unk_token", "[UNK]"}};
  out.config = {{"type_vocab_size", 2}};
  return out;
}

}  // namespace sluice
