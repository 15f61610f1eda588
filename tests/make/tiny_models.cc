#include "tiny_models.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/half.h"
#include "blocks.h"
#include "fold.h"
#include "quantize.h"
#include "tiny_plan.h"
#include "tiny_vocabulary.h"

namespace sluice {
namespace {

// Random numbers (splitmix64, public domain, by Sebastiano Vigna). They use only integers, so that
// they are the same everywhere.
class Random {
 public:
  explicit Random(std::string_view seed) {
    for (const char c : seed) state_ = (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  // About normal with deviation 1: the sum of four 16-bit numbers, scaled.
  float normal() {
    const uint64_t bits = next();
    int32_t sum = -2 * 65535;
    for (int i = 0; i < 4; ++i) sum += static_cast<int32_t>(bits >> 16 * i & 0xffff);
    return static_cast<float>(sum) * (1.0f / 37837.0f);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

// The model's tensors in the order in which converters write them.
std::vector<Plan> plan_tensors(const TinyModel& m) {
  if (m.is_bert()) return plan_bert(m);
  std::vector<Plan> plans;
  const auto matrix = [&](const std::string& name, uint64_t columns, uint64_t rows, Type wanted) {
    plans.push_back(plan_matrix(m, name, columns, rows, wanted));
  };
  const auto vector = [&](const std::string& name, uint64_t n, float mean) {
    plans.push_back(plan_vector(name, n, mean));
  };
  const bool gpt2 = m.architecture == "gpt2";
  const auto norm = [&](const std::string& name) {
    vector(name + ".weight", m.n_embd, 1);
    if (gpt2) vector(name + ".bias", m.n_embd, 0);
  };
  const Type better = m.k_m ? Type::Q6_K : m.type;
  const Type head = m.q6_head ? Type::Q6_K : better;
  const bool gemma4 = m.architecture == "gemma4";

  if (!m.tied) matrix("output.weight", m.n_embd, m.n_vocab, head);
  matrix("token_embd.weight", m.n_embd, m.n_vocab, m.tied ? head : m.type);
  // The embedding is larger than what the layers add to it, as in trained models. But if it is also
  // the head, it has to be as small as the other matrices.
  if (!m.tied) plans.back().deviation = 0.7f;
  if (gpt2) {
    matrix("position_embd.weight", m.n_embd, m.context, Type::F32);
    plans.back().deviation = 0.1f;
  }
  norm(m.architecture == "lfm2" ? "token_embd_norm" : "output_norm");
  plan_dense(m, plans);
  if (m.rope_freqs) vector("rope_freqs.weight", m.head_dim / 2, 1);
  if (m.input_width > 0) {
    const uint64_t all = uint64_t{m.input_width} * m.n_layers;
    matrix("per_layer_token_embd.weight", all, m.n_vocab, m.type);
    plans.back().deviation = 0.06f;
    matrix("per_layer_model_proj.weight", m.n_embd, all, m.type);
    vector("per_layer_proj_norm.weight", m.input_width, 1);
  }
  for (uint32_t layer = 0; layer < m.n_layers + m.n_drafting; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    const uint64_t q_rows = uint64_t{m.n_heads} * m.head_dim_of(layer);
    const uint64_t kv_rows = uint64_t{m.kv_heads_of(layer)} * m.head_dim_of(layer);
    norm(blk + "attn_norm");
    if (gpt2) {
      const auto biased = [&](const std::string& name, uint64_t columns, uint64_t rows) {
        matrix(blk + name + ".weight", columns, rows, m.type);
        vector(blk + name + ".bias", rows, 0);
      };
      biased("attn_qkv", m.n_embd, q_rows + 2 * kv_rows);
      biased("attn_output", q_rows, m.n_embd);
      norm(blk + "ffn_norm");
      biased("ffn_up", m.n_embd, m.n_ff);
      biased("ffn_down", m.n_ff, m.n_embd);
      continue;
    }
    if (m.is_conv(layer)) {
      matrix(blk + "shortconv.conv.weight", m.conv_tokens, m.n_embd, Type::F32);
      matrix(blk + "shortconv.in_proj.weight", m.n_embd, 3 * m.n_embd, m.type);
      matrix(blk + "shortconv.out_proj.weight", m.n_embd, m.n_embd, m.type);
    } else if (m.is_delta(layer)) {
      const uint64_t values = uint64_t{m.n_value_heads} * m.delta_dim;
      const uint64_t channels = values + 2 * uint64_t{m.n_key_heads} * m.delta_dim;
      matrix(blk + "attn_qkv.weight", m.n_embd, channels, m.type);
      matrix(blk + "attn_gate.weight", m.n_embd, values, m.type);
      matrix(blk + "ssm_conv1d.weight", m.delta_tokens, channels, Type::F32);
      matrix(blk + "ssm_alpha.weight", m.n_embd, m.n_value_heads, m.type);
      matrix(blk + "ssm_beta.weight", m.n_embd, m.n_value_heads, m.type);
      vector(blk + "ssm_dt.bias", m.n_value_heads, 0);
      vector(blk + "ssm_a", m.n_value_heads, -0.5f);
      vector(blk + "ssm_norm.weight", m.delta_dim, 1);
      matrix(blk + "ssm_out.weight", values, m.n_embd, m.type);
    } else {
      matrix(blk + "attn_q.weight", m.n_embd, m.delta_dim > 0 ? 2 * q_rows : q_rows, m.type);
      const bool values = m.is_local(layer) || !m.keys_are_values;
      if (!m.is_shared(layer)) matrix(blk + "attn_k.weight", m.n_embd, kv_rows, m.type);
      if (!m.is_shared(layer) && values) matrix(blk + "attn_v.weight", m.n_embd, kv_rows, better);
    }
    if (m.architecture == "qwen2") {
      vector(blk + "attn_q.bias", q_rows, 0);
      vector(blk + "attn_k.bias", kv_rows, 0);
      vector(blk + "attn_v.bias", kv_rows, 0);
    }
    const bool gemma = m.architecture.starts_with("gemma");
    const bool lfm2 = m.architecture == "lfm2" && !m.is_conv(layer);
    const bool qwen3 = m.architecture.starts_with("qwen3") && !m.is_delta(layer);
    if (qwen3 || gemma || lfm2) {
      vector(blk + "attn_q_norm.weight", m.head_dim_of(layer), 1);
      if (!m.is_shared(layer)) vector(blk + "attn_k_norm.weight", m.head_dim_of(layer), 1);
    }
    if (!m.is_conv(layer) && !m.is_delta(layer))
      matrix(blk + "attn_output.weight", q_rows, m.n_embd, m.type);
    if (gemma) {
      norm(blk + "post_attention_norm");
      norm(blk + "post_ffw_norm");
    }
    vector(blk + (m.delta_dim > 0 ? "post_attention_norm.weight" : "ffn_norm.weight"), m.n_embd, 1);
    if (layer >= m.n_layers) {
      matrix(blk + "nextn.eh_proj.weight", 2 * m.n_embd, m.n_embd, m.type);
      for (const char* name : {"enorm", "hnorm", "shared_head_norm"})
        vector(blk + "nextn." + name + ".weight", m.n_embd, 1);
    }
    if (m.n_experts > 0) {
      const auto experts = [&](const char* name, uint64_t columns, uint64_t rows, Type wanted) {
        matrix(blk + name, columns, rows * m.n_experts, wanted);
        plans.back().matrices = m.n_experts;
      };
      matrix(blk + "ffn_gate_inp.weight", m.n_embd, m.n_experts, Type::F32);
      if (m.fused_experts) {
        experts("ffn_gate_up_exps.weight", m.n_embd, 2 * m.n_ff, m.type);
      } else {
        experts("ffn_gate_exps.weight", m.n_embd, m.n_ff, m.type);
        experts("ffn_up_exps.weight", m.n_embd, m.n_ff, m.type);
      }
      experts("ffn_down_exps.weight", m.n_ff, m.n_embd, layer % 2 == 0 ? better : m.type);
      continue;
    }
    const uint32_t n_ff = m.ff_of(layer);
    matrix(blk + "ffn_gate.weight", m.n_embd, n_ff, m.type);
    matrix(blk + "ffn_up.weight", m.n_embd, n_ff, m.type);
    matrix(blk + "ffn_down.weight", n_ff, m.n_embd, layer % 2 == 0 ? better : m.type);
    if (m.input_width > 0) {
      matrix(blk + "inp_gate.weight", m.n_embd, m.input_width, m.type);
      matrix(blk + "proj.weight", m.input_width, m.n_embd, m.type);
      norm(blk + "post_norm");
    }
    if (gemma4 && layer % 3 != 1) vector(blk + "layer_output_scale.weight", 1, 0.8f);
  }
  if (m.reversed) std::ranges::reverse(plans);
  if (m.shuffled) {
    Random random("order of " + m.name);
    for (size_t i = plans.size(); i > 1; --i) std::swap(plans[i - 1], plans[random.next() % i]);
  }
  return plans;
}

// Whether a matrix of a folded model is folded: all are but routers and, of the second layer, some
// whose input others share.
bool is_folded(const TinyModel& model, const Plan& plan) {
  const auto ends_with = [&](std::string_view end) { return plan.name.ends_with(end); };
  if (model.folded_from.empty() || plan.rows == 0 || ends_with("ffn_gate_inp.weight")) return false;
  if (!plan.name.starts_with("blk.1.")) return true;
  return !ends_with("attn_k.weight") && !ends_with("ffn_gate.weight") &&
         !ends_with("ffn_up_exps.weight");
}

Folded folded_of(const TinyModel& model) {
  Folded folded;
  for (const Plan& plan : plan_tensors(model)) {
    if (!is_folded(model, plan)) continue;
    if (plan.name != "token_embd.weight") folded.names.push_back(plan.name);
    const auto width = static_cast<uint32_t>(plan.columns);
    if (std::ranges::find(folded.widths, width) == folded.widths.end())
      folded.widths.push_back(width);
  }
  folded.signs = model.fold_signs();
  folded.narrow = model.tied;
  folded.tied = model.tied;
  return folded;
}

// Blocks of random bytes with the plan's deviation, for types without a quantizer.
std::string random_blocks(const TypeTraits& type, int64_t n, float deviation, Random& random) {
  std::string bytes(row_bytes(type, static_cast<uint64_t>(n)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  auto* const blocks = reinterpret_cast<uint8_t*>(bytes.data());
  const auto set_scales = [&](float scale) {
    for (size_t at = 0; at < bytes.size(); at += type.block_bytes) {
      const float sign = at / type.block_bytes % 2 == 0 ? 1.0f : -1.0f;
      set_floats(type, blocks + at, type.block_bytes, [&] { return f32_to_f16(sign * scale); });
    }
  };
  set_scales(1);
  std::vector<float> values(static_cast<size_t>(n));
  type.dequantize(blocks, n, values.data());
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  set_scales(static_cast<float>(deviation / std::sqrt(squares / static_cast<double>(n))));
  return bytes;
}

// The bytes of `rows` rows of a plan's tensor.
std::string tensor_rows(const TinyModel& model, const Plan& plan, uint64_t rows) {
  const std::string& seed = model.folded_from.empty() ? model.name : model.folded_from;
  Random random(seed + " " + plan.name);
  std::vector<float> values(plan.columns * std::max<uint64_t>(rows, 1));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = plan.mean + random.normal() * plan.deviation;
  if (plan.name == "rope_freqs.weight") {
    const float step = 7.0f / static_cast<float>(values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i) * step;
    // Of gemma4 most pairs don't turn.
    for (size_t i = values.size() / 4; i < values.size() && model.period > 0; ++i)
      values[i] = 1e30f;
  }
  if (is_folded(model, plan))
    fold_rows(values, static_cast<uint32_t>(plan.columns), model.fold_signs());
  const TypeTraits& type = traits(plan.type);
  const auto n = static_cast<int64_t>(values.size());
  Quantize* const quantize = quantizer(plan.type);
  if (quantize == nullptr) return random_blocks(type, n, plan.deviation, random);
  std::string bytes(row_bytes(type, values.size()), '\0');
  quantize(values.data(), n, reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

std::vector<uint64_t> dims_of(const Plan& plan) {
  if (plan.rows == 0) return {plan.columns};
  if (plan.matrices > 1) return {plan.columns, plan.rows / plan.matrices, plan.matrices};
  return {plan.columns, plan.rows};
}

uint64_t bytes_in_file(const Plan& plan) {
  return row_bytes(traits(plan.type), plan.columns) * std::max<uint64_t>(plan.rows, 1);
}

GgufBuilder metadata(const TinyModel& m) {
  GgufBuilder file;
  const std::string a = m.architecture + ".";
  file.kv_string("general.architecture", m.architecture)
      .kv_string("general.name", m.name)
      .kv_u32(a + "block_count", m.n_layers + m.n_drafting)
      .kv_u32(a + "context_length", m.context)
      .kv_u32(a + "embedding_length", m.n_embd);
  std::vector<uint32_t> kv_heads, widths;
  std::vector<uint8_t> locals;
  for (uint32_t layer = 0; layer < m.n_layers; ++layer) {
    kv_heads.push_back(m.kv_heads_of(layer));
    widths.push_back(m.ff_of(layer));
    locals.push_back(m.is_local(layer));
  }
  if (m.n_shared > 0)
    file.kv_array(a + "feed_forward_length", ValueType::i32, widths);
  else
    file.kv_u32(a + "feed_forward_length", m.n_ff);
  file.kv_u32(a + "attention.head_count", m.n_heads);
  if (m.architecture == "gpt2" || m.is_bert()) {
    file.kv_f32(a + "attention.layer_norm_epsilon", m.rms_eps);
  } else {
    if (m.conv_tokens > 0 || m.period > 0)
      file.kv_array(a + "attention.head_count_kv", ValueType::i32, kv_heads);
    else
      file.kv_u32(a + "attention.head_count_kv", m.n_kv_heads);
    file.kv_f32(a + "attention.layer_norm_rms_epsilon", m.rms_eps)
        .kv_f32(a + "rope.freq_base", m.freq_base);
  }
  if (m.n_experts > 0) {
    file.kv_u32(a + "expert_count", m.n_experts)
        .kv_u32(a + "expert_used_count", m.n_used)
        .kv_u32(a + "expert_feed_forward_length", m.n_ff);
  }
  if (m.is_encoder()) add_encoder_keys(file, m);
  if (m.architecture == "gemma3" || m.architecture == "gemma-embedding") {
    file.kv_u32(a + "attention.sliding_window", m.window).kv_f32(a + "rope.freq_base_swa", 10000);
  }
  if (m.architecture == "gemma4") {
    file.kv_u32(a + "attention.sliding_window", m.window)
        .kv_array(a + "attention.sliding_window_pattern", ValueType::boolean, locals)
        .kv_u32(a + "attention.shared_kv_layers", m.n_shared)
        .kv_u32(a + "attention.key_length_swa", m.local_head_dim)
        .kv_u32(a + "attention.value_length_swa", m.local_head_dim)
        .kv_f32(a + "rope.freq_base_swa", 10000)
        .kv_u32(a + "rope.dimension_count", m.head_dim)
        .kv_u32(a + "rope.dimension_count_swa", m.local_head_dim)
        .kv_u32(a + "embedding_length_per_layer_input", m.input_width)
        .kv_f32(a + "final_logit_softcapping", 30);
  }
  if (m.architecture == "lfm2") {
    file.kv_u32(a + "shortconv.l_cache", m.conv_tokens).kv_u32(a + "vocab_size", m.n_vocab);
    if (m.window > 0) file.kv_u32(a + "attention.sliding_window", m.window);
  }
  if (m.delta_dim > 0) {
    file.kv_u32(a + "rope.dimension_count", m.head_dim / 4)
        .kv_array<int32_t>(a + "rope.dimension_sections", ValueType::i32, {2, 1, 1, 0})
        .kv_u32(a + "ssm.conv_kernel", m.delta_tokens)
        .kv_u32(a + "ssm.state_size", m.delta_dim)
        .kv_u32(a + "ssm.group_count", m.n_key_heads)
        .kv_u32(a + "ssm.time_step_rank", m.n_value_heads)
        .kv_u32(a + "ssm.inner_size", m.n_value_heads * m.delta_dim);
    if (m.n_drafting > 0) file.kv_u32(a + "nextn_predict_layers", m.n_drafting);
    std::vector<uint8_t> recurrent;
    for (uint32_t layer = 0; layer < m.n_layers + m.n_drafting; ++layer)
      recurrent.push_back(m.is_delta(layer));
    if (m.attends != 4)
      file.kv_array(a + "attention.recurrent_layers", ValueType::boolean, recurrent);
  }
  if (m.architecture == "llama") {
    file.kv_u32(a + "rope.dimension_count", m.head_dim).kv_u32(a + "vocab_size", m.n_vocab);
  }
  if (m.head_dim * m.n_heads != m.n_embd || m.period > 0) {
    file.kv_u32(a + "attention.key_length", m.head_dim)
        .kv_u32(a + "attention.value_length", m.head_dim);
  }
  if (!m.folded_from.empty()) add_fold_keys(file, folded_of(m));
  if (m.alignment != 32) file.kv_u32("general.alignment", m.alignment);
  file.alignment = m.alignment;
  add_vocabulary(file, m.vocabulary, m.n_vocab);
  return file;
}

// Adds the tensors to a builder without their data, but with the offsets that the data will have.
void add_tensor_list(GgufBuilder& file, const std::vector<Plan>& plans) {
  uint64_t offset = 0;
  for (const Plan& plan : plans) {
    file.tensor(plan.name, plan.type, dims_of(plan), "");
    file.tensors.back().offset = offset;
    offset = (offset + bytes_in_file(plan) + file.alignment - 1) / file.alignment * file.alignment;
  }
}

}  // namespace

GgufBuilder tiny_model_file(const TinyModel& model) {
  GgufBuilder file = metadata(model);
  for (const Plan& plan : plan_tensors(model)) {
    file.tensor(plan.name, plan.type, dims_of(plan), tensor_rows(model, plan, plan.rows));
  }
  return file;
}

std::string build_tiny_model(const TinyModel& model) {
  const GgufBuilder file = tiny_model_file(model);
  if (!model.scattered) return file.build();

  GgufBuilder backwards = metadata(model);
  add_tensor_list(backwards, plan_tensors(model));
  std::ranges::reverse(backwards.tensors);
  return backwards.header() + file.build().substr(file.header().size());
}

bool write_big_model(const TinyModel& model, std::FILE* out) {
  constexpr uint64_t kPattern = 61;  // rows; a prime, so that strips differ
  const std::vector<Plan> plans = plan_tensors(model);
  GgufBuilder file = metadata(model);
  add_tensor_list(file, plans);
  const auto put = [&](std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  };
  if (!put(file.header())) return false;
  for (const Plan& plan : plans) {
    const std::string pattern = tensor_rows(model, plan, std::min(plan.rows, kPattern));
    uint64_t left = bytes_in_file(plan);
    const uint64_t padding = (model.alignment - left % model.alignment) % model.alignment;
    while (left > 0) {
      const uint64_t piece = std::min<uint64_t>(left, pattern.size());
      if (!put(std::string_view(pattern).substr(0, piece))) return false;
      left -= piece;
    }
    if (!put(std::string(padding, '\0'))) return false;
  }
  return true;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower;
}

std::string fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace sluice
