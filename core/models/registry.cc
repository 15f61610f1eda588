#include "models/registry.h"

#include "base/format.h"
#include "pass/config_reader.h"

namespace sluice {

// Each is defined in the file of its name.
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
    {"lfm2", make_lfm2, {}},
    {"qwen35", make_qwen35, {}},
};

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
      SLUICE_ASSIGN(const Config config, read_config(gguf, family.architecture));
      return family.make(gguf, config, cut, family.variant);
    }
    known += concat(known.empty() ? "" : ", ", family.architecture);
  }
  return with_facts(fail(Code::unsupported_model, "the model's architecture is \"",
                         printable(*architecture), "\"; Sluice computes ", known),
                    {{"architecture", printable(*architecture)}});
}

}  // namespace sluice
