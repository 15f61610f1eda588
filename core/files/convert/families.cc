#include "files/convert/families.h"

#include <algorithm>
#include <string>

#include "base/format.h"

namespace sluice {

// Each is defined in the file of its name, or of its family's.
ConvertFamily convert_bert;
ConvertFamily convert_bert_masked;
ConvertFamily convert_distilbert;
ConvertFamily convert_distilbert_masked;
ConvertFamily convert_gemma3;
ConvertFamily convert_gemma4;
ConvertFamily convert_gpt2;
ConvertFamily convert_lfm2;
ConvertFamily convert_llama;
ConvertFamily convert_mistral;
ConvertFamily convert_mixtral;
ConvertFamily convert_qwen2;
ConvertFamily convert_qwen3;
ConvertFamily convert_qwen35;
ConvertFamily convert_qwen3moe;

namespace {

// What the names of a decoder's tensors begin with, alone or in a model that sees or hears.
const std::vector<std::string> kDecoder = {"model.language_model.", "language_model.model.",
                                           "language_model.", "model."};
const std::vector<std::string_view> kNone;
// The other parts of such a model. (A name's beginning is left out before.)
const std::vector<std::string_view> kGemmaParts = {"vision_tower.", "multi_modal_projector.",
                                                   "audio_tower.", "embed_vision.", "embed_audio."};
const std::vector<std::string_view> kQwenParts = {"visual.", "vision_tower."};

const HfFamily kFamilies[] = {
    {"GPT2LMHeadModel", "gpt2", convert_gpt2, {"transformer."}, kNone},
    {"LlamaForCausalLM", "llama", convert_llama, kDecoder, kNone},
    {"MistralForCausalLM", "llama", convert_mistral, kDecoder, kNone},
    {"MixtralForCausalLM", "llama", convert_mixtral, kDecoder, kNone},
    {"Qwen2ForCausalLM", "qwen2", convert_qwen2, kDecoder, kNone},
    {"Qwen3ForCausalLM", "qwen3", convert_qwen3, kDecoder, kNone},
    {"Qwen3MoeForCausalLM", "qwen3moe", convert_qwen3moe, kDecoder, kNone},
    {"Qwen3_5ForCausalLM", "qwen35", convert_qwen35, kDecoder, kNone},
    {"Qwen3_5ForConditionalGeneration", "qwen35", convert_qwen35, kDecoder, kQwenParts},
    {"Gemma3ForCausalLM", "gemma3", convert_gemma3, kDecoder, kNone},
    {"Gemma3ForConditionalGeneration", "gemma3", convert_gemma3, kDecoder, kGemmaParts},
    {"Gemma4ForCausalLM", "gemma4", convert_gemma4, kDecoder, kNone},
    {"Gemma4ForConditionalGeneration", "gemma4", convert_gemma4, kDecoder, kGemmaParts},
    {"Lfm2ForCausalLM", "lfm2", convert_lfm2, kDecoder, kNone},
    {"BertModel", "bert", convert_bert, {"bert."}, kNone},
    {"BertForMaskedLM", "bert", convert_bert_masked, {"bert."}, kNone},
    {"DistilBertModel", "bert", convert_distilbert, {"distilbert."}, kNone},
    {"DistilBertForMaskedLM", "bert", convert_distilbert_masked, {"distilbert."}, kNone},
};

}  // namespace

const HfFamily* find_family(std::string_view class_name) {
  const auto* const found = std::ranges::find(kFamilies, class_name, &HfFamily::class_name);
  return found == std::end(kFamilies) ? nullptr : found;
}

std::string family_names() {
  std::string names;
  for (const HfFamily& family : kFamilies)
    names += concat(names.empty() ? "" : ", ", family.class_name);
  return names;
}

}  // namespace sluice
