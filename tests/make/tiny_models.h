// Tiny models with random weights for the tests of whole models, the same bytes on every machine.
// tests/data/answers.json has llama.cpp's answers for them (see record_answers.mjs).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_builder.h"
#include "quant/quant.h"

namespace sluice {

enum class Vocabulary { spm, gpt2, qwen2, llama_bpe, smollm, wordpiece };

// A model's shape. If a row is not a whole number of a type's blocks, the tensor gets another type,
// as in real files: for K types Q8_0 if that fits (in Q4_K_M, Q5_0 for Q4_K), otherwise F16.
struct TinyModel {
  std::string name;  // "llama-q4_0"
  // "llama", "qwen2", "qwen3", "qwen3moe", "qwen35", "gpt2", "gemma3", "gemma4", "lfm2", or that of
  // an encoder.
  std::string architecture;
  Type type = Type::F32;
  bool k_m =
      false;  // the mix called Q4_K_M: Q6_K for the values, some down-projections and the head
  bool q6_head = false;  // the head in Q6_K, as real files have it
  uint32_t n_vocab = 512;
  uint32_t n_layers = 2;
  uint32_t n_embd = 64;
  uint32_t n_heads = 4;
  uint32_t n_kv_heads = 2;
  uint32_t head_dim = 16;
  uint32_t n_ff = 96;  // with experts: of one
  uint32_t n_experts = 0;
  uint32_t n_used = 0;         // of them by a token
  bool fused_experts = false;  // gate and up in one tensor
  uint32_t context = 512;
  float freq_base = 10000;
  float rms_eps = 1e-6f;
  // gemma3, gemma4, gemma-embedding, modern-bert: of the layers that don't see all positions; lfm2:
  // of attention.
  uint32_t window = 0;
  // gemma4. Every `period`-th layer sees all positions. The others have heads of local_head_dim.
  uint32_t period = 0;
  uint32_t local_head_dim = 0;
  uint32_t global_kv_heads = 0;  // of the layers that see all positions
  bool keys_are_values = false;  // in these: they have no attn_v
  uint32_t n_shared = 0;         // the last ones, which read the keys and values of others
  uint32_t shared_ff = 0;        // n_ff of these
  uint32_t input_width = 0;      // of what each layer gets beside the residual; 0: nothing
  uint32_t conv_tokens = 0;  // lfm2: of the short convolutions that all layers but every third are
  // qwen35: the gated delta nets that all layers but every `attends`-th are, their key and value
  // heads of delta_dim, and the tokens of their convolution.
  uint32_t delta_dim = 0;
  uint32_t n_key_heads = 0;
  uint32_t n_value_heads = 0;
  uint32_t delta_tokens = 4;
  uint32_t attends = 4;     // other than 4: the header lists the layers
  uint32_t n_drafting = 0;  // qwen35: blocks after the layers
  // Of encoders, whose layers see both ways: how they pool (as in a file), rows of dense_2 and
  // dense_3 (0: none), and whether bert has token types and a head for masked words.
  uint32_t pooling = 0;
  uint32_t dense[2] = {};
  bool dense_biased = false;
  bool token_types = false;
  bool masks = false;
  Vocabulary vocabulary = Vocabulary::spm;
  bool tied = false;        // no output.weight
  bool rope_freqs = false;  // with rope_freqs.weight
  bool shuffled = false;    // tensors in no particular order
  bool scattered =
      false;              // the data in another order than the tensors' list (llama.cpp refuses it)
  bool reversed = false;  // the last tensor first
  uint32_t alignment = 32;
  // Its weights are folded (fold.h). This is the name of the F32 model that computes the same.
  std::string folded_from;

  bool is_bert() const { return architecture.ends_with("bert"); }  // of some form
  bool is_encoder() const { return pooling > 0; }
  bool is_conv(uint32_t layer) const { return conv_tokens > 0 && layer % 3 != 2; }
  bool is_delta(uint32_t layer) const {
    return delta_dim > 0 && layer < n_layers && (layer + 1) % attends != 0;
  }
  bool fold_signs() const { return n_experts == 0; }
  bool is_local(uint32_t layer) const { return period > 0 && (layer + 1) % period != 0; }
  bool is_shared(uint32_t layer) const { return n_shared > 0 && layer + n_shared >= n_layers; }
  uint32_t head_dim_of(uint32_t layer) const { return is_local(layer) ? local_head_dim : head_dim; }
  uint32_t kv_heads_of(uint32_t layer) const {
    if (is_conv(layer)) return 0;
    return period > 0 && !is_local(layer) ? global_kv_heads : n_kv_heads;
  }
  uint32_t ff_of(uint32_t layer) const { return is_shared(layer) ? shared_ff : n_ff; }
};

// All tiny models: llama with every type, qwen2 and qwen3 with every type that has a quantizer, all
// three with Q4_K_M, other families with a few types, odd ones, and folded ones. Names are unique.
// (Another engine's answers for 4-bit mixtures of experts are in ../shared alone.)
const std::vector<TinyModel>& tiny_models();
// Encoders, which make vectors of texts: they aren't among the others.
const std::vector<TinyModel>& tiny_encoders();
// The model of this name, which must exist.
const TinyModel& tiny_model_named(std::string_view name);
// The file as a builder, for changes, with its data in the order of the tensors; and the file's
// bytes.
GgufBuilder tiny_model_file(const TinyModel& model);
std::string build_tiny_model(const TinyModel& model);

// The shapes of real models for benches ("smollm2-135m", "qwen3-0.6b", "llama-3.2-1b",
// "llama-3.1-8b", "lfm2-350m", "gemma-3-1b", "embeddinggemma-300m", "gemma4-e2b", "qwen3.5-0.8b"),
// the first layers of one ("qwen3-30b-a3b-6-layers"), and a small one that is nearly all a table of
// layers' inputs ("gemma4-inputs"); null for other names. Their weights repeat a short random
// pattern.
const TinyModel* big_model(std::string_view name);
// Writes such a file piece by piece; returns false if writing fails.
bool write_big_model(const TinyModel& model, std::FILE* out);

// The text with its ASCII letters in lower case.
std::string lower_case(std::string_view text);

// FNV-1a (64 bits) as 16 hexadecimal digits.
std::string fnv1a(std::string_view bytes);

}  // namespace sluice
