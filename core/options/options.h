// Written by scripts/options.mjs from options.json.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/token.h"

namespace sluice {

struct LoadOptions {
  // Size of the context: tokens of prompt and answer together; of texts that become vectors, the
  // most that one may have; 1 to 1048576; 0: the model's own, of one that writes text at most 4096.
  uint32_t context_size = 0;
  // Worker threads; 1 to 64; 0: one for each core, at most 8; fewer if that decodes faster.
  int32_t threads = 0;
  // Decode with fewer threads if that is faster.
  bool tune_threads = false;
  // Type of the numbers in the KV cache; f32, f16 or q8_0.
  std::string kv_type = "f16";
  // Most memory that the model may take; weights for which there is no room are read again for
  // every token; 0: what the device allows.
  uint64_t memory_budget = 0;
  // Memory of each session for places to which it can go back, besides the ends of the last two
  // prompts; only for models that can't go back anywhere.
  uint64_t snapshot_memory = 67108864;
  // Sessions that may fill the context at the same time: memory is planned for so many; 1 to 64.
  int32_t sessions = 1;
  // Name of the kernels to use: in a browser 'wasm-simd', or 'wasm-relaxed' with a relaxed flavour;
  // "": the best that runs here.
  std::string kernels;

  // The positions of a start_logits() with all_positions whose logits the memory is planned for
  // (MemoryPlan); 1 to 1048576.
  int64_t logit_positions = 1;
  // The memory is planned for Session::start_vectors alone, which keeps nothing of a text: a model
  // that writes text has no cache then. (What runs take is checked in any case.)
  bool vectors_only = false;
  bool profile = false;  // measure the phases, for Engine::take_profile
};

struct GenerateOptions {
  // Tokens to write at most; 0: the prompt is computed; -1: until the text or the context ends.
  int64_t max_tokens = -1;
  // Higher is more random; 0 always takes the likeliest token; 0 to 100.
  float temperature = 0.8f;
  // Leave out tokens whose logits (the model's scores) are more than N standard deviations below
  // the best; 0: off; 0 to 100.
  float top_n_sigma = 0.f;
  // Choose among the K likeliest tokens; 0: all.
  int32_t top_k = 40;
  // Leave out tokens that surprise much more or much less than the average one here; those that
  // stay have probabilities that add up to P; 1: off; 0 to 1.
  float typical_p = 1.f;
  // Choose among the likeliest tokens whose probabilities add up to P; 1: all; 0 to 1.
  float top_p = 0.95f;
  // Leave out tokens less likely than P times the likeliest; 0: none; 0 to 1.
  float min_p = 0.05f;
  // The chance, at each token, that XTC leaves out the likeliest ones, for a less predictable text:
  // of those from its threshold on only the least likely stays; 0: off; 0 to 1.
  float xtc_probability = 0.f;
  // XTC leaves out only tokens of this probability or more; above 0.5: none; 0 to 1.
  float xtc_threshold = 0.1f;
  // Above 1, the latest tokens of prompt and answer become less likely; 1: off; 0.01 to 100.
  float repeat_penalty = 1.f;
  // Tokens of prompt and answer that the repeat penalty looks back at; 0: none; -1: all.
  int32_t repeat_last_n = 64;
  // Above 0, tokens that are in the answer become less likely: P is taken from their logits; below
  // 0: likelier; 0: off; -2 to 2.
  float presence_penalty = 0.f;
  // Above 0, tokens become less likely the more often they are in the answer: P is taken from their
  // logits each time; below 0: likelier; 0: off; -2 to 2.
  float frequency_penalty = 0.f;
  // A number that is added to the logit of a token, before all else: -100 bans it, 100 forces it;
  // several may be given; at most 1024, each from -100 to 100.
  std::vector<std::pair<TokenId, float>> logit_bias;
  // DRY (don't repeat yourself) makes a token less likely that would go on with a repetition, the
  // more the longer that is: M * B^(length - L) is taken from its logit; 0: off; 0 to 100.
  float dry_multiplier = 0.f;
  // B of DRY: how fast the penalty grows with each repeated token; 1 to 100.
  float dry_base = 1.75f;
  // L of DRY: so many tokens may be repeated before the next one becomes less likely.
  int32_t dry_allowed_length = 2;
  // Tokens of prompt and answer that DRY looks back at; 0: none; -1: all.
  int32_t dry_penalty_last_n = -1;
  // Texts at which a repetition ends for DRY; several may be given, in place of the default; at
  // most 64, each of 1 to 64 bytes.
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  // The same seed gives the same text on every machine.
  std::optional<uint64_t> seed;
  // The text ends before this one; several may be given; at most 64, each of 1 to 1024 bytes.
  std::vector<std::string> stop;
  // Go on after the token with which the model ends its text.
  bool ignore_eos = false;
  // Recognize special tokens that are written out in the text.
  bool special = false;
  // Also give the N likeliest tokens at each position; 0 to 100.
  int32_t top_logprobs = 0;
  // Also give what each token was chosen from: so many of the best raw logits (the model's scores,
  // before penalties and samplers), with the log-sum and the entropy of all; 0: nothing; 0 to 256.
  int32_t trace = 0;
};

}  // namespace sluice
