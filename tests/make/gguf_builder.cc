#include "gguf_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/utf8.h"

namespace sluice {

std::string gguf_string(std::string_view text) {
  return bytes_of<uint64_t>(text.size()) + std::string(text);
}

GgufBuilder& GgufBuilder::kv_raw(std::string_view key, uint32_t type, std::string value) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  if (found != entries.end()) {
    found->type = type;
    found->value = std::move(value);
  } else {
    entries.push_back({std::string(key), type, std::move(value), std::nullopt});
  }
  return *this;
}

GgufBuilder& GgufBuilder::kv_u32(std::string_view key, uint32_t value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::u32), bytes_of(value));
}
GgufBuilder& GgufBuilder::kv_i32(std::string_view key, int32_t value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::i32), bytes_of(value));
}
GgufBuilder& GgufBuilder::kv_u64(std::string_view key, uint64_t value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::u64), bytes_of(value));
}
GgufBuilder& GgufBuilder::kv_f32(std::string_view key, float value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::f32), bytes_of(value));
}
GgufBuilder& GgufBuilder::kv_bool(std::string_view key, bool value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::boolean), std::string(1, value ? 1 : 0));
}
GgufBuilder& GgufBuilder::kv_string(std::string_view key, std::string_view value) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::string), gguf_string(value));
}

GgufBuilder& GgufBuilder::kv_strings(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes;
  for (const std::string& value : values) bytes += gguf_string(value);
  return kv_array_raw(key, static_cast<uint32_t>(ValueType::string), values.size(), bytes);
}

GgufBuilder& GgufBuilder::kv_array_raw(std::string_view key, uint32_t element, uint64_t count,
                                       std::string_view bytes) {
  return kv_raw(key, static_cast<uint32_t>(ValueType::array),
                bytes_of(element) + bytes_of(count) + std::string(bytes));
}

GgufBuilder& GgufBuilder::remove(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  return *this;
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, uint32_t type, std::vector<uint64_t> dims,
                                 std::string data) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  Tensor& target = found != tensors.end() ? *found : tensors.emplace_back();
  target = {std::string(name), type, std::move(dims), std::move(data), {}, {}, {}};
  return *this;
}

GgufBuilder& GgufBuilder::remove_tensor(std::string_view name) {
  std::erase_if(tensors, [&](const Tensor& t) { return t.name == name; });
  return *this;
}

GgufBuilder::Tensor& GgufBuilder::find_tensor(std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  if (found == tensors.end()) {
    std::fprintf(stderr, "no tensor %s in this builder\n", std::string(name).c_str());
    std::abort();
  }
  return *found;
}

namespace {
void pad(std::string& bytes, uint64_t alignment) {
  while (bytes.size() % alignment != 0) bytes.push_back('\0');
}
}  // namespace

std::string GgufBuilder::header() const {
  std::string out = magic + bytes_of(version) + bytes_of(n_tensors.value_or(tensors.size())) +
                    bytes_of(n_kv.value_or(entries.size()));
  for (const Entry& entry : entries) {
    out += bytes_of(entry.key_length.value_or(entry.key.size())) + entry.key +
           bytes_of(entry.type) + entry.value;
  }
  uint64_t offset = 0;
  for (const Tensor& t : tensors) {
    out += bytes_of(t.name_length.value_or(t.name.size())) + t.name +
           bytes_of(t.n_dims.value_or(static_cast<uint32_t>(t.dims.size()))) + bytes_of(t.dims) +
           bytes_of(t.type) + bytes_of(t.offset.value_or(offset));
    offset = (offset + t.data.size() + alignment - 1) / alignment * alignment;
  }
  pad(out, alignment);
  return out;
}

std::string GgufBuilder::build() const {
  std::string out = header();
  for (const Tensor& t : tensors) {
    out += t.data;
    pad(out, alignment);
  }
  return out;
}

std::vector<float> test_values(size_t n, uint32_t seed) {
  std::vector<float> values(n);
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state) >> 8) / 8388608.0f;
  }
  return values;
}

std::vector<std::string> tiny_tokens() {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    tokens.emplace_back(text);
  }
  tokens.emplace_back("▁");
  for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
  for (const char* piece :
       {"▁t", "th", "▁the", "he", "in", "er", "an", "▁a", "re", "on", "at", "en", "nd", "▁s"}) {
    tokens.emplace_back(piece);
  }
  return tokens;
}

std::vector<std::string> tiny_bpe_tokens() {
  // GPT-2's characters for bytes: the byte's own if it is printable, otherwise from 256 on.
  std::vector<std::string> tokens;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    utf8_append(tokens.emplace_back(), prints ? byte : next++);
  }
  tokens.insert(tokens.end(), {"th", "he", "the"});
  while (tokens.size() < kTinyVocab)
    tokens.push_back("<filler" + std::to_string(tokens.size()) + ">");
  return tokens;
}

GgufBuilder tiny_model() {
  constexpr uint32_t kEmbd = 32;
  constexpr uint32_t kFf = 64;
  GgufBuilder file;
  file.kv_string("general.architecture", "llama")
      .kv_string("general.name", "tiny test model")
      .kv_u32("llama.block_count", 1)
      .kv_u32("llama.context_length", 128)
      .kv_u32("llama.embedding_length", kEmbd)
      .kv_u32("llama.feed_forward_length", kFf)
      .kv_u32("llama.attention.head_count", 2)
      .kv_u32("llama.attention.head_count_kv", 1)
      .kv_u32("llama.rope.dimension_count", 16)
      .kv_f32("llama.rope.freq_base", 10000.0f)
      .kv_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .kv_u32("llama.vocab_size", kTinyVocab);

  const std::vector<std::string> tokens = tiny_tokens();
  std::vector<int32_t> types = {2, 3, 3};  // unknown, control, control
  types.resize(3 + 256, 6);                // byte
  types.resize(tokens.size(), 1);          // normal
  std::vector<float> scores(tokens.size(), 0.0f);
  for (size_t i = 259; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
  file.kv_string("tokenizer.ggml.model", "llama")
      .kv_strings("tokenizer.ggml.tokens", tokens)
      .kv_array("tokenizer.ggml.scores", ValueType::f32, scores)
      .kv_array("tokenizer.ggml.token_type", ValueType::i32, types)
      .kv_u32("tokenizer.ggml.bos_token_id", 1)
      .kv_u32("tokenizer.ggml.eos_token_id", 2)
      .kv_u32("tokenizer.ggml.unknown_token_id", 0);

  uint32_t seed = 1;
  const auto matrix = [&](std::string_view name, uint64_t columns, uint64_t rows) {
    std::vector<float> values = test_values(static_cast<size_t>(columns * rows), seed++);
    for (float& value : values) value *= 0.25f;
    file.tensor(name, Type::F32, {columns, rows}, bytes_of(values));
  };
  const auto norm = [&](std::string_view name) {
    file.tensor(name, Type::F32, {kEmbd}, bytes_of(std::vector<float>(kEmbd, 1.0f)));
  };
  matrix("token_embd.weight", kEmbd, kTinyVocab);
  norm("blk.0.attn_norm.weight");
  matrix("blk.0.attn_q.weight", kEmbd, 32);
  matrix("blk.0.attn_k.weight", kEmbd, 16);
  matrix("blk.0.attn_v.weight", kEmbd, 16);
  matrix("blk.0.attn_output.weight", 32, kEmbd);
  norm("blk.0.ffn_norm.weight");
  matrix("blk.0.ffn_gate.weight", kEmbd, kFf);
  matrix("blk.0.ffn_up.weight", kEmbd, kFf);
  matrix("blk.0.ffn_down.weight", kFf, kEmbd);
  norm("output_norm.weight");
  matrix("output.weight", kEmbd, kTinyVocab);
  return file;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  std::string bytes(none ? 0 : size, 0);
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

}  // namespace sluice
