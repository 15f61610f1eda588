#include "tiny_vocabulary.h"

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Token types as in tokenizer.ggml.token_type.
enum : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

constexpr std::string_view kFrequent = "etaoinshrdlucmfwyg";
constexpr const char* kWords[] = {"th|e", "in|g", "an|d", "o|n", "re|d", "st|or", "he|r", "al|l"};

struct Tokens {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::set<std::string> known;

  bool add(const std::string& text, int32_t type) {
    if (!known.insert(text).second) return false;
    texts.push_back(text);
    types.push_back(type);
    return true;
  }
  uint32_t size() const { return static_cast<uint32_t>(texts.size()); }
  void fill(uint32_t n) {
    while (size() < n) add("[PAD" + std::to_string(size()) + "]", kUnused);
  }
};

// Pairs (left, right) that merge into a token, in the order of their priority.
std::vector<std::pair<std::string, std::string>> joins(const std::string& space) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const char c : kFrequent) pairs.emplace_back(space, std::string(1, c));
  for (const char a : kFrequent.substr(0, 12)) {
    for (const char b : kFrequent.substr(0, 12)) {
      pairs.emplace_back(std::string(1, a), std::string(1, b));
    }
  }
  for (const std::string_view word : kWords) {
    const size_t bar = word.find('|');
    pairs.emplace_back(word.substr(0, bar), word.substr(bar + 1));
  }
  for (const char a : kFrequent) {
    for (const char b : kFrequent) pairs.emplace_back(std::string(1, a), std::string(1, b));
  }
  return pairs;
}

void add_spm(GgufBuilder& file, uint32_t n) {
  Tokens tokens;
  tokens.add("<unk>", kUnknown);
  tokens.add("<s>", kControl);
  tokens.add("</s>", kControl);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (uint32_t byte = 0; byte < 256; ++byte) {
    tokens.add({'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'}, kByte);
  }
  const std::string space = "\u2581";
  tokens.add(space, kNormal);
  for (char c = '!'; c <= '~'; ++c) {
    if (c != '<' && c != '>') tokens.add(std::string(1, c), kNormal);
  }
  tokens.add("\u00e9", kNormal);
  for (const auto& [left, right] : joins(space)) {
    if (tokens.size() == n) break;
    tokens.add(left + right, kNormal);
  }
  tokens.fill(n);
  std::vector<float> scores(n);
  for (uint32_t i = 259; i < n; ++i) scores[i] = -static_cast<float>(i - 259);
  file.kv_string("tokenizer.ggml.model", "llama")
      .kv_strings("tokenizer.ggml.tokens", tokens.texts)
      .kv_array("tokenizer.ggml.scores", ValueType::f32, scores)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, tokens.types)
      .kv_u32("tokenizer.ggml.bos_token_id", 1)
      .kv_u32("tokenizer.ggml.eos_token_id", 2)
      .kv_u32("tokenizer.ggml.unknown_token_id", 0)
      .kv_bool("tokenizer.ggml.add_bos_token", true);
}

std::string utf8(uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's characters for the 256 bytes: the byte's own if it is printable, otherwise from 256 on.
std::array<std::string, 256> byte_letters() {
  std::array<std::string, 256> letters;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    letters[byte] = utf8(printable ? byte : next++);
  }
  return letters;
}

void add_bpe(GgufBuilder& file, Vocabulary vocabulary, uint32_t n) {
  const auto [pre, bos, eos, eot] = [&]() -> std::array<const char*, 4> {
    switch (vocabulary) {
      case Vocabulary::qwen2:
        return {"qwen2", "<|endoftext|>", "<|im_end|>", "<|im_start|>"};
      case Vocabulary::llama_bpe:
        return {"llama-bpe", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"};
      case Vocabulary::smollm:
        return {"smollm", "<|endoftext|>", "<|im_end|>", "<|im_start|>"};
      default:
        return {"gpt-2", "<|endoftext|>", "<|end|>", "<|pad|>"};
    }
  }();
  Tokens tokens;
  const std::array<std::string, 256> letters = byte_letters();
  for (const std::string& letter : letters) tokens.add(letter, kNormal);
  // A whole word that no merges make: llama-bpe finds it anyway.
  if (vocabulary == Vocabulary::llama_bpe) tokens.add("Zebra", kNormal);
  std::vector<std::string> merges;
  for (const auto& [left, right] : joins(letters[' '])) {
    if (tokens.size() + 3 >= n) break;
    if (tokens.add(left + right, kNormal)) merges.push_back(left + " " + right);
  }
  tokens.fill(n - 3);
  for (const char* special : {bos, eos, eot}) tokens.add(special, kControl);
  file.kv_string("tokenizer.ggml.model", "gpt2")
      .kv_string("tokenizer.ggml.pre", pre)
      .kv_strings("tokenizer.ggml.tokens", tokens.texts)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, tokens.types)
      .kv_strings("tokenizer.ggml.merges", merges)
      .kv_u32("tokenizer.ggml.bos_token_id", n - 3)
      .kv_u32("tokenizer.ggml.eos_token_id", n - 2)
      .kv_bool("tokenizer.ggml.add_bos_token", vocabulary == Vocabulary::llama_bpe);
  if (vocabulary == Vocabulary::llama_bpe) file.kv_u32("tokenizer.ggml.eot_token_id", n - 1);
}

// Words begin with the sign for a space; what goes on in a word has none.
void add_wordpiece(GgufBuilder& file, uint32_t n) {
  Tokens tokens;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    tokens.add(special, kControl);
  const std::string space = "\u2581";
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789")) {
    tokens.add(space + c, kNormal);
    tokens.add(std::string(1, c), kNormal);
  }
  for (const char c : std::string_view("!\"',-.:;?()")) tokens.add(space + c, kNormal);
  for (const char* word : {"the", "and", "of", "is", "cat", "dog", "in", "a", "town", "capital"})
    tokens.add(space + word, kNormal);
  for (const auto& [left, right] : joins(space)) {
    if (tokens.size() == n) break;
    tokens.add(left + right, kNormal);
  }
  tokens.fill(n);
  file.kv_string("tokenizer.ggml.model", "bert")
      .kv_strings("tokenizer.ggml.tokens", tokens.texts)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, tokens.types)
      .kv_u32("tokenizer.ggml.unknown_token_id", 1)
      .kv_u32("tokenizer.ggml.seperator_token_id", 3)
      .kv_u32("tokenizer.ggml.padding_token_id", 0)
      .kv_u32("tokenizer.ggml.mask_token_id", 4)
      .kv_u32("tokenizer.ggml.bos_token_id", 2)
      .kv_u32("tokenizer.ggml.eos_token_id", 3);
}

}  // namespace

void add_vocabulary(GgufBuilder& file, Vocabulary vocabulary, uint32_t n) {
  if (vocabulary == Vocabulary::spm) {
    add_spm(file, n);
  } else if (vocabulary == Vocabulary::wordpiece) {
    add_wordpiece(file, n);
  } else {
    add_bpe(file, vocabulary, n);
  }
}

}  // namespace sluice
