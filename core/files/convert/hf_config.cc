#include "files/convert/hf_config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "files/hub_json.h"

namespace sluice {
namespace {

// Keys that say nothing about what a model computes: how it was trained, saved and is sampled,
// token ids (the vocabulary reads them), and what transformers writes into every config.
constexpr std::string_view kHarmless[] = {
    "architectures",
    "attn_implementation",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "cls_token_id",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "initializer_factor",
    "initializer_range",
    "keys_to_ignore_at_inference",
    "label2id",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "min_length",
    "model_type",
    "name_or_path",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tie_weights_",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "transformers.js_config",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
    "chunk_size_feed_forward",
    "text_config",
    "max_sequence_length",
    "model_max_length",
    "neftune_noise_alpha",
    "predict_special_tokens",
    "n_special",
    "tokenizer_model_max_length",
    "tokenizer_padding_side",
    "trust_remote_code",
    "use_return_dict",
    "model_name",
    "mamba_ssm_dtype",
};
// Of all keys that begin so.
constexpr std::string_view kHarmlessStarts[] = {"_", "unsloth", "axolotl", "summary_"};

bool is_harmless(std::string_view key) {
  if (std::ranges::find(kHarmless, key) != std::end(kHarmless)) return true;
  // Dropout is for training: attention_dropout, embd_pdrop, hidden_dropout_prob, ..
  if (key.find("dropout") != key.npos || key.ends_with("_pdrop")) return true;
  return std::ranges::any_of(kHarmlessStarts, [&](auto start) { return key.starts_with(start); });
}

// Whether a value says that what the key means isn't there.
bool is_unset(const nlohmann::json& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();
}

std::string shown(const nlohmann::json& value) {
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string_view first_of(HfConfig::Names names) { return *names.begin(); }

}  // namespace

Result<HfConfig> HfConfig::parse(std::string_view text) {
  HfConfig config;
  SLUICE_ASSIGN(config.merged_, read_hub_json("config.json", text));
  nlohmann::json& merged = config.merged_;
  if (const auto inner = merged.find("text_config"); inner != merged.end() && inner->is_object()) {
    // Of a model that sees, hears or draws. The keys beside its text part are about the others.
    const nlohmann::json over = *inner;
    for (const auto& [key, value] : merged.items()) config.known_.insert(key);
    for (const auto& [key, value] : over.items()) {
      if (!value.is_null()) merged[key] = value;
      config.known_.erase(key);
    }
    config.known_.erase("quantization_config");
  }
  const auto classes = merged.find("architectures");
  if (classes != merged.end() && classes->is_array() && !classes->empty() &&
      classes->front().is_string())
    config.class_ = classes->front().get<std::string>();
  return config;
}

Result<std::string> HfConfig::class_name() const {
  if (!class_.empty()) return class_;
  return fail(
      Code::bad_file,
      "config.json names no class in architectures, so it can't be known what the model is");
}

bool HfConfig::has(std::string_view name) const {
  const auto found = merged_.find(name);
  return found != merged_.end() && !found->is_null();
}

const nlohmann::json* HfConfig::find(Names names) {
  const nlohmann::json* value = nullptr;
  for (const std::string_view name : names) {
    known_.emplace(name);
    if (value == nullptr && has(name)) value = &*merged_.find(name);
  }
  return value;
}

uint64_t HfConfig::integer(Names names, uint64_t most, std::optional<uint64_t> fallback) {
  const nlohmann::json* value = find(names);
  if (value == nullptr) {
    if (fallback) return *fallback;
    refuse(Code::bad_file, "config.json has no ", first_of(names));
    return 1;
  }
  if (value->is_number_unsigned() && value->get<uint64_t>() >= 1 && value->get<uint64_t>() <= most)
    return value->get<uint64_t>();
  refuse(Code::bad_file, "config.json has ", first_of(names), " ", shown(*value),
         "; a whole number from 1 to ", most, " is expected");
  return 1;
}

uint64_t HfConfig::integer_or_0(Names names, uint64_t most, uint64_t fallback) {
  const nlohmann::json* value = find(names);
  if (value != nullptr && value->is_number_unsigned() && value->get<uint64_t>() == 0) return 0;
  return integer(names, most, fallback);
}

std::optional<double> HfConfig::number(Names names) {
  const nlohmann::json* value = find(names);
  if (value == nullptr) return {};
  if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
  refuse(Code::bad_file, "config.json has ", first_of(names), " ", shown(*value),
         "; a number is expected");
  return 1;
}

std::optional<double> HfConfig::number_in(const nlohmann::json& object, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  refuse(Code::bad_file, "config.json has ", name, " ", shown(*found), "; a number is expected");
  return 1;
}

bool HfConfig::flag(std::string_view name, bool fallback) {
  const nlohmann::json* value = find({name});
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  refuse(Code::bad_file, "config.json has ", name, " ", shown(*value),
         "; true or false is expected");
  return fallback;
}

std::string HfConfig::text(Names names, std::string_view fallback) {
  const nlohmann::json* value = find(names);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  refuse(Code::bad_file, "config.json has ", first_of(names), " ", shown(*value),
         "; a text is expected");
  return std::string(fallback);
}

std::vector<std::string> HfConfig::texts(std::string_view name, uint64_t n) {
  const nlohmann::json* value = find({name});
  if (value == nullptr) return {};
  std::vector<std::string> out;
  const bool right = value->is_array() && value->size() == n;
  if (right)
    for (const auto& each : *value)
      if (each.is_string()) out.push_back(each.get<std::string>());
  if (right && out.size() == n) return out;
  refuse(Code::bad_file, "config.json has a ", name, " that is no array of ", n, " texts");
  return {};
}

void HfConfig::must_be(Names names, Names allowed) {
  const std::string value = text(names, *allowed.begin());
  if (std::ranges::find(allowed, value) == allowed.end()) cannot_express(first_of(names), value);
}

void HfConfig::must_be_flag(std::string_view name, bool value) {
  if (flag(name, value) != value) cannot_express(name, value ? "false" : "true");
}

void HfConfig::must_be_unset(std::string_view name) {
  const nlohmann::json* value = find({name});
  if (value != nullptr && !is_unset(*value)) cannot_express(name, shown(*value));
}

void HfConfig::ignore(Names names) {
  for (const std::string_view name : names) known_.emplace(name);
}

void HfConfig::cannot_express(std::string_view name, std::string_view value) {
  if (!status_) return;
  status_ = with_facts(
      fail(Code::unsupported_model, "config.json has ", printable(name), " ", printable(value),
           ", which Sluice doesn't compute in a model of the class ", printable(class_)),
      {{"key", printable(name)}, {"value", printable(value)}});
}

Status HfConfig::finish() {
  for (const auto& [key, value] : merged_.items()) {
    if (known_.contains(key) || is_harmless(key) || is_unset(value)) continue;
    cannot_express(key, shown(value));
  }
  return status_;
}

}  // namespace sluice
