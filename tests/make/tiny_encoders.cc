// Tiny encoders: their list, and what their files have that those of other models haven't.
#include <algorithm>
#include <cmath>

#include "tiny_plan.h"

namespace sluice {
namespace {

bool fits_row(Type type, uint64_t columns) { return columns % traits(type).block == 0; }

TinyModel encoder(std::string_view architecture, Type type) {
  TinyModel m;
  m.architecture = architecture;
  m.type = type;
  m.name = m.architecture + "-" + lower_case(traits(type).name);
  m.vocabulary = Vocabulary::wordpiece;
  m.tied = true;
  m.rms_eps = 1e-5f;
  m.n_kv_heads = m.n_heads;
  m.pooling = 1;
  if (architecture == "bert") {
    m.token_types = true;
    m.pooling = 2;
    m.rms_eps = 1e-12f;
  }
  if (architecture == "nomic-bert") {
    m.token_types = true;
    m.freq_base = 1000;
  }
  if (architecture == "modern-bert") {
    m.vocabulary = Vocabulary::qwen2;
    m.n_layers = 5;  // the first and the fourth see all
    m.window = 9;
    m.freq_base = 160000;
    m.pooling = 2;
  }
  if (architecture == "gemma-embedding") {
    m.vocabulary = Vocabulary::spm;
    m.n_layers = 7;  // the sixth sees all
    m.n_kv_heads = 1;
    m.window = 10;
    m.freq_base = 1e6f;
    m.dense[0] = 96;
    m.dense[1] = 64;
  }
  if (architecture == "lfm2") {
    m.name = "lfm2-embed-" + lower_case(traits(type).name);
    m.vocabulary = Vocabulary::qwen2;
    m.n_layers = 5;  // the third attends
    m.n_kv_heads = 2;
    m.conv_tokens = 3;
    m.freq_base = 1e6f;
    m.dense[0] = 32;
    m.dense_biased = true;
  }
  return m;
}

std::vector<TinyModel> make_encoders() {
  std::vector<TinyModel> models;
  for (const char* architecture : {"bert", "nomic-bert", "modern-bert", "gemma-embedding", "lfm2"})
    for (const Type type : {Type::F32, Type::Q8_0}) models.push_back(encoder(architecture, type));
  const auto odd = [&](std::string_view architecture, const char* name, auto change) {
    TinyModel m = encoder(architecture, Type::F32);
    m.name = name;
    change(m);
    models.push_back(m);
  };
  for (const Type type : {Type::F32, Type::Q8_0}) {
    TinyModel m = encoder("bert", type);
    m.name = "bert-masks-" + lower_case(traits(type).name);
    m.masks = true;
    m.pooling = 1;
    models.push_back(m);
  }
  odd("bert", "bert-odd-f32", [](TinyModel& m) {
    m.n_embd = 40;  // the rows of q, k and v are not whole strips
    m.n_heads = m.n_kv_heads = 5;
    m.head_dim = 8;
    m.n_ff = 36;  // narrower than the residual
    m.n_vocab = 509;
    m.token_types = false;
    m.masks = true;
    m.shuffled = true;
  });
  odd("gemma-embedding", "gemma-embedding-wide-f32", [](TinyModel& m) {
    m.window = 520;  // half of it is more than a chunk of the cache
    m.dense[0] = 200;
    m.dense[1] = 21;
  });
  odd("lfm2", "lfm2-embed-odd-f32", [](TinyModel& m) {
    m.conv_tokens = 7;
    m.window = 20;
    m.n_embd = 40;
    m.n_heads = 5;
    m.n_kv_heads = 1;
    m.head_dim = 8;
    m.n_ff = 52;
    m.dense[0] = 0;
    m.shuffled = true;
  });
  return models;
}

}  // namespace

const std::vector<TinyModel>& tiny_encoders() {
  static const std::vector<TinyModel> models = make_encoders();
  return models;
}

Plan plan_matrix(const TinyModel& model, const std::string& name, uint64_t columns, uint64_t rows,
                 Type wanted) {
  Type type = wanted;
  if (!fits_row(wanted, columns)) {
    const bool k_type = traits(wanted).block == 256;
    type = !k_type || !fits_row(Type::Q8_0, columns) ? Type::F16
           : model.k_m && wanted == Type::Q4_K       ? Type::Q5_0
                                                     : Type::Q8_0;
  }
  return {name, type, columns, rows, 1 / std::sqrt(static_cast<float>(columns)), 0};
}

Plan plan_vector(const std::string& name, uint64_t n, float mean) {
  return {name, Type::F32, n, 0, 0.1f, mean};
}

std::vector<Plan> plan_bert(const TinyModel& m) {
  std::vector<Plan> plans;
  const bool modern = m.architecture == "modern-bert", nomic = m.architecture == "nomic-bert";
  const auto vector = [&](const std::string& name, uint64_t n, float mean) {
    plans.push_back(plan_vector(name, n, mean));
  };
  const auto norm = [&](const std::string& name) {
    vector(name + ".weight", m.n_embd, 1);
    if (!modern) vector(name + ".bias", m.n_embd, 0);
  };
  const auto linear = [&](const std::string& name, uint64_t columns, uint64_t rows) {
    plans.push_back(plan_matrix(m, name + ".weight", columns, rows, m.type));
    if (!modern && !nomic) vector(name + ".bias", rows, 0);
  };
  plans.push_back(plan_matrix(m, "token_embd.weight", m.n_embd, m.n_vocab, m.type));
  if (m.token_types) plans.push_back(plan_matrix(m, "token_types.weight", m.n_embd, 2, Type::F32));
  if (!modern && !nomic)
    plans.push_back(plan_matrix(m, "position_embd.weight", m.n_embd, m.context, Type::F32));
  norm("token_embd_norm");
  if (modern) norm("output_norm");
  for (uint32_t layer = 0; layer < m.n_layers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    const uint64_t q = uint64_t{m.n_heads} * m.head_dim, kv = uint64_t{m.n_kv_heads} * m.head_dim;
    if (modern && layer > 0) norm(blk + "attn_norm");
    if (modern || nomic) {
      linear(blk + "attn_qkv", m.n_embd, q + 2 * kv);
    } else {
      linear(blk + "attn_q", m.n_embd, q);
      linear(blk + "attn_k", m.n_embd, kv);
      linear(blk + "attn_v", m.n_embd, kv);
    }
    linear(blk + "attn_output", q, m.n_embd);
    norm(blk + (modern ? "ffn_norm" : "attn_output_norm"));
    if (nomic) linear(blk + "ffn_gate", m.n_embd, m.n_ff);
    linear(blk + "ffn_up", m.n_embd, modern ? 2 * m.n_ff : m.n_ff);
    linear(blk + "ffn_down", m.n_ff, m.n_embd);
    if (!modern) norm(blk + "layer_output_norm");
  }
  if (m.masks) {
    linear("mlm.dense", m.n_embd, m.n_embd);
    norm("mlm.norm");
    vector("mlm.bias", m.n_vocab, 0);
  }
  if (m.shuffled) std::ranges::reverse(plans);
  return plans;
}

void plan_dense(const TinyModel& m, std::vector<Plan>& plans) {
  uint64_t width = m.n_embd;
  for (int i = 0; i < 2; ++i) {
    if (m.dense[i] == 0) continue;
    const std::string name = i == 0 ? "dense_2" : "dense_3";
    plans.push_back(plan_matrix(m, name + ".weight", width, m.dense[i], m.type));
    width = m.dense[i];
    if (m.dense_biased) plans.push_back(plan_vector(name + ".bias", width, 0));
  }
}

void add_encoder_keys(GgufBuilder& file, const TinyModel& m) {
  const std::string a = m.architecture + ".";
  file.kv_bool(a + "attention.causal", false).kv_u32(a + "pooling_type", m.pooling);
  if (m.vocabulary == Vocabulary::wordpiece)
    file.kv_u32("tokenizer.ggml.token_type_count", m.token_types ? 2 : 1);
  if (m.architecture == "nomic-bert") file.kv_f32(a + "rope.freq_base", m.freq_base);
  if (m.architecture == "modern-bert") {
    file.kv_u32(a + "attention.sliding_window", m.window)
        .kv_u32(a + "attention.sliding_window_pattern", 3)
        .kv_f32(a + "rope.freq_base", m.freq_base)
        .kv_f32(a + "rope.freq_base_swa", 10000);
  }
  if (m.architecture == "lfm2" && m.dense[0] > 0)
    file.kv_u32(a + "embedding_length_out", m.dense[0]);
  if (m.architecture == "gemma-embedding") {
    file.kv_bool("tokenizer.ggml.add_eos_token", true)
        .kv_u32(a + "dense_2_feat_in", m.n_embd)
        .kv_u32(a + "dense_2_feat_out", m.dense[0])
        .kv_u32(a + "dense_3_feat_in", m.dense[0])
        .kv_u32(a + "dense_3_feat_out", m.dense[1]);
  }
}

}  // namespace sluice
