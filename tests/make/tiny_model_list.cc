// The list of tiny models.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "blocks.h"
#include "quantize.h"
#include "tiny_models.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

TinyModel family(std::string_view architecture, Type type) {
  TinyModel m;
  m.architecture = architecture;
  m.type = type;
  m.name = m.architecture + "-" + lower_case(traits(type).name);
  if (architecture != "llama") m.vocabulary = Vocabulary::qwen2;
  if (architecture == "qwen2") {
    m.tied = true;
    m.n_kv_heads = 1;
    m.freq_base = 1e6f;
  }
  if (architecture == "gemma3") {
    m.vocabulary = Vocabulary::spm;
    m.n_layers = 7;  // the sixth sees all
    m.n_kv_heads = 1;
    m.window = 10;
    m.freq_base = 1e6f;
    m.tied = true;
  }
  if (architecture == "gemma4") {
    m.vocabulary = Vocabulary::spm;
    m.n_layers = 7;  // the third and the sixth see all
    m.period = 3;
    m.n_shared = 4;  // of both kinds
    m.shared_ff = 160;
    m.head_dim = 32;
    m.local_head_dim = 16;
    m.global_kv_heads = 1;
    m.window = 10;
    m.input_width = 32;
    m.rope_freqs = true;
    m.freq_base = 1e6f;
    m.tied = true;
  }
  if (architecture == "lfm2") {
    m.n_layers = 5;  // the third attends
    m.conv_tokens = 3;
    m.freq_base = 1e6f;
    m.tied = true;
  }
  if (architecture == "gpt2") {
    m.vocabulary = Vocabulary::gpt2;
    m.n_kv_heads = m.n_heads;
    m.n_ff = 256;
    m.rms_eps = 1e-5f;
    m.tied = true;
  }
  if (architecture == "qwen3moe") {
    m.n_experts = 7;
    m.n_used = 3;
    m.n_ff = 32;
  }
  if (architecture.starts_with("qwen3")) {  // an explicit head size
    m.n_heads = 3;
    m.n_kv_heads = 1;
    m.head_dim = 32;
    m.freq_base = 1e6f;
  }
  if (architecture == "qwen35") {
    m.n_layers = 5;  // the fourth attends
    m.delta_dim = 32;
    m.n_key_heads = 2;
    m.n_value_heads = 4;
    m.tied = true;
  }
  if (traits(type).block == 256) {
    m.n_embd = 256;
    m.n_ff = 256;
    m.head_dim = architecture.starts_with("qwen3") ? 128 : 64;
    m.n_heads = architecture.starts_with("qwen3") ? 2 : 4;
  }
  return m;
}

std::vector<TinyModel> make_models() {
  std::vector<TinyModel> models;
  const std::string_view first = "llama";
  for (const std::string_view architecture : {first, "qwen2"sv, "qwen3"sv}) {
    for (const Type type : every_type()) {
      // Types without a quantizer are only in one family, because kernels don't depend on the
      // family.
      const bool rounded = quantizer(type) != nullptr;
      if (rounded || architecture == first) models.push_back(family(architecture, type));
    }
    TinyModel mix = family(architecture, Type::Q4_K);
    mix.name = std::string(architecture) + "-q4_k_m";
    mix.k_m = true;
    mix.n_ff = 320;  // not a whole number of blocks of 256
    models.push_back(mix);
  }
  const auto odd = [&](std::string_view architecture, Type type, const char* name, auto change) {
    TinyModel m = family(architecture, type);
    m.name = name;
    change(m);
    models.push_back(m);
  };
  for (const auto& [type, name] :
       {std::pair{Type::F32, "llama-freqs-f32"}, {Type::Q8_0, "llama-freqs-q8_0"}}) {
    odd("llama", type, name, [](TinyModel& m) {
      m.rope_freqs = true;
      m.vocabulary = Vocabulary::llama_bpe;
      m.tied = true;
      m.freq_base = 500000;
      m.alignment = 64;
    });
  }
  odd("llama", Type::F16, "llama-keylen-f16", [](TinyModel& m) {
    m.n_heads = 6;
    m.n_kv_heads = 2;
    m.head_dim = 24;  // not 64 / 6
    m.vocabulary = Vocabulary::gpt2;
    m.shuffled = true;
  });
  odd("llama", Type::Q8_0, "llama-keylen-q8_0", [](TinyModel& m) {
    m.n_heads = 8;
    m.n_kv_heads = 4;
    m.head_dim = 32;
    m.vocabulary = Vocabulary::smollm;
  });
  odd("llama", Type::F32, "llama-odd-f32", [](TinyModel& m) {
    m.n_embd = 40;
    m.n_heads = 5;
    m.n_kv_heads = 1;
    m.head_dim = 8;
    m.n_ff = 52;
    m.n_vocab = 509;
    m.shuffled = true;
    m.alignment = 1;
  });
  odd("llama", Type::Q4_0, "llama-odd-q4_0", [](TinyModel& m) {
    m.n_heads = 8;
    m.n_kv_heads = 1;
    m.head_dim = 8;
    m.n_vocab = 509;
    m.n_layers = 3;
    m.shuffled = true;
    m.alignment = 64;
  });
  odd("qwen2", Type::Q8_0, "qwen2-odd-q8_0", [](TinyModel& m) {
    m.n_embd = 32;
    m.n_heads = 4;
    m.head_dim = 8;
    m.n_ff = 32;
    m.n_vocab = 509;
    m.tied = false;
    m.alignment = 8;
  });
  odd("qwen3", Type::BF16, "qwen3-odd-bf16", [](TinyModel& m) {
    m.n_embd = 36;
    m.n_heads = 2;
    m.n_kv_heads = 2;
    m.head_dim = 10;
    m.n_ff = 51;
    m.n_layers = 1;
    m.tied = true;
    m.shuffled = true;
  });
  odd("qwen3", Type::Q5_1, "qwen3-scattered-q5_1", [](TinyModel& m) { m.scattered = true; });
  for (const Type type : {Type::F32, Type::F16, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("gpt2", type));
  }
  odd("gpt2", Type::F32, "gpt2-odd-f32", [](TinyModel& m) {
    m.n_embd = 40;  // the rows of q, k and v are not whole strips
    m.n_heads = 5;
    m.n_kv_heads = 5;
    m.head_dim = 8;
    m.n_ff = 52;
    m.n_vocab = 509;
    m.tied = false;
    m.shuffled = true;
  });
  for (const Type type : {Type::F32, Type::F16, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("gemma3", type));
  }
  for (const Type type : {Type::F32, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("qwen3moe", type));
  }
  odd("qwen3moe", Type::Q4_K, "qwen3moe-q4_k_m", [](TinyModel& m) { m.k_m = true; });
  odd("qwen3moe", Type::BF16, "qwen3moe-odd-bf16", [](TinyModel& m) {
    m.n_embd = 36;
    m.n_experts = 40;  // more than a row of the residual
    m.n_used = 5;
    m.n_ff = 21;  // no whole strips
    m.tied = true;
    m.shuffled = true;
  });
  odd("gemma3", Type::F32, "gemma3-wide-f32", [](TinyModel& m) {
    m.window = 261;  // more than a chunk of the cache
    m.n_heads = 2;
    m.head_dim = 24;
    m.tied = false;
  });
  for (const Type type : {Type::F32, Type::F16, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("lfm2", type));
  }
  for (const Type type : {Type::F32, Type::F16, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("gemma4", type));
  }
  odd("gemma4", Type::F32, "gemma4-odd-f32", [](TinyModel& m) {
    m.n_embd = 40;
    m.n_heads = 2;
    m.head_dim = 24;
    m.local_head_dim = 8;
    m.keys_are_values = true;
    m.n_ff = 52;
    m.shared_ff = 36;
    m.input_width = 12;  // a layer's rows are no whole strips
    m.window = 20;
    m.n_vocab = 509;
    m.tied = false;
    m.shuffled = true;
  });
  odd("gemma4", Type::F32, "gemma4-plain-f32", [](TinyModel& m) {
    m.n_shared = 0;
    m.input_width = 0;
    m.window = 261;  // more than a chunk of the cache
  });
  odd("lfm2", Type::F32, "lfm2-odd-f32", [](TinyModel& m) {
    m.n_layers = 7;
    m.conv_tokens = 5;
    m.window = 20;
    m.n_embd = 40;  // the rows of b, c and x are not whole strips
    m.n_heads = 5;
    m.n_kv_heads = 1;
    m.head_dim = 8;
    m.n_ff = 52;
    m.n_vocab = 509;
    m.tied = false;
    m.shuffled = true;
  });
  for (const Type type : {Type::F32, Type::F16, Type::Q4_0, Type::Q8_0}) {
    models.push_back(family("qwen35", type));
  }
  odd("qwen35", Type::F32, "qwen35-odd-f32", [](TinyModel& m) {
    m.n_layers = 4;
    m.attends = 2;
    m.n_drafting = 1;
    m.n_embd = 40;
    m.n_heads = 4;
    m.n_kv_heads = 2;
    m.head_dim = 24;  // the gates of a key head are no whole strips
    m.delta_dim = 48;
    m.n_key_heads = 1;
    m.n_value_heads = 3;
    m.n_ff = 52;
    m.n_vocab = 509;
    m.tied = false;
    m.shuffled = true;
  });
  const auto folded = [&](std::string_view architecture, Type type) {
    TinyModel m = family(architecture, type);
    m.folded_from = std::string(architecture) + "-f32";
    m.name = std::string(architecture) + "-folded-" + lower_case(traits(type).name);
    models.push_back(m);
  };
  folded("llama", Type::Q8_0);
  folded("qwen3", Type::F32);
  folded("gemma3", Type::F32);
  folded("gemma3", Type::Q8_0);
  folded("qwen3moe", Type::F32);
  return models;
}

}  // namespace

const std::vector<TinyModel>& tiny_models() {
  static const std::vector<TinyModel> models = make_models();
  return models;
}

const TinyModel& tiny_model_named(std::string_view name) {
  for (const auto* models : {&tiny_models(), &tiny_encoders()}) {
    const auto found = std::ranges::find(*models, name, &TinyModel::name);
    if (found != models->end()) return *found;
  }
  std::fprintf(stderr, "there is no tiny model %s\n", std::string(name).c_str());
  std::abort();
}

}  // namespace sluice
