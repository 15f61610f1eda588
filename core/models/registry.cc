#include "models/registry.h"

#include "base/format.h"
#include "pass/config_reader.h"

namespace sluice {

// Each is defined in the file of its name.
MakeModel make_bert;
MakeModel make_gemma3;
MakeModel make_gemma4;
MakeModel make_gpt2;
MakeModel make_lfm2;
MakeModel make_llama;
MakeModel make_qwen35;

namespace {

constexpr Family kFamilies[] = {
    {"llama", make_llama, {.rope_pairs = RopePairs::adjacent, .experts = WithExperts::sometimes}},
    {"qwen2", make_llama, {.qkv_biases = Biases::required}},
    {"qwen3", make_llama, {.qk_norm = true}},
    {"qwen3moe", make_llama, {.qk_norm = true, .experts = WithExperts::always}},
    {"gpt2", make_gpt2, {}},
    {"gemma3", make_gemma3, {}},
    {"gemma4", make_gemma4, {}},
    {"lfm2", make_lfm2, {}, Sight::either},
    {"qwen35", make_qwen35, {}},
    {"bert", make_bert, {}, Sight::both_ways},
    {"nomic-bert", make_bert, {.bert = BertForm::nomic}, Sight::both_ways},
    {"modern-bert", make_bert, {.bert = BertForm::modern}, Sight::both_ways},
    {"gemma-embedding", make_gemma3, {}, Sight::both_ways},
};

// What people have files of, and take for what is computed.
struct Other {
  std::string_view architecture, is;
};
constexpr Other kOthers[] = {
    {"jina-bert-v2", "an encoder whose scores fall with the distance (ALiBi)"},
    {"jina-bert-v3", "an encoder with adapters for tasks"},
    {"nomic-bert-moe", "an encoder with a mixture of experts"},
    {"eurobert", "EuroBERT, an encoder"},
    {"neo-bert", "NeoBERT, an encoder"},
    {"gemma-embedding2", "a later form of gemma-embedding"},
    {"t5", "T5, an encoder with a decoder"},
    {"t5encoder", "the encoder of T5"},
};

// Fails with unsupported_model if the file is a reranker, or if its layers don't see as those of
// its family do.
Status check_use(const Gguf& gguf, const Family& family) {
  const std::string key = concat(family.architecture, ".attention.causal");
  SLUICE_ASSIGN(const auto causal, gguf.get_bool(key));
  std::string problem;
  if (family.sight != Sight::either &&
      causal.value_or(family.sight == Sight::back) != (family.sight == Sight::back)) {
    problem = concat(key, *causal ? " is true: layers see only what was before"
                                  : " is false: layers see both ways");
  }
  for (const TensorInfo& tensor : gguf.tensors)
    if (tensor.name.starts_with("cls."))
      problem = concat("the file has the tensor ", printable(tensor.name),
                       ": the model ranks texts (a reranker)");
  if (problem.empty()) return {};
  return with_facts(fail(Code::unsupported_model, problem, ", which Sluice doesn't compute in ",
                         family.architecture, "; use another model"),
                    {{"architecture", std::string(family.architecture)}});
}

}  // namespace

Result<std::unique_ptr<Model>> make_model(const Gguf& gguf, const Cut& cut) {
  SLUICE_ASSIGN(const auto architecture, gguf.get_string("general.architecture"));
  if (!architecture.has_value()) {
    return fail(Code::bad_file,
                "the header has no general.architecture; the file is not a language model");
  }
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.architecture == *architecture) {
      SLUICE_TRY(check_use(gguf, family));
      SLUICE_ASSIGN(const Config config, read_config(gguf, family.architecture));
      return family.make(gguf, config, cut, family.variant);
    }
    known += concat(known.empty() ? "" : ", ", family.architecture);
  }
  std::string is;
  for (const Other& other : kOthers)
    if (other.architecture == *architecture) is = concat(", ", other.is);
  return with_facts(fail(Code::unsupported_model, "the model's architecture is \"",
                         printable(*architecture), "\"", is, "; Sluice computes ", known),
                    {{"architecture", printable(*architecture)}});
}

}  // namespace sluice
