// Views of choices (sample/choice_view.h) under the options of a run, and their JSON.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "options/options.h"
#include "sample/choice_view.h"
#include "sample/raw_logits.h"

namespace sluice {

class Tokenizer;

// What a choice needs of a model's vocabulary. Owns nothing.
struct ChoiceVocabulary {
  int64_t size = 0;                          // logits of a position
  std::span<const TokenId> suppressed = {};  // never written, ascending
  // The bytes of a token. Only for DRY's breakers: without it no view of a choice with them is
  // enough.
  std::function<std::string_view(TokenId)> piece = {};
};
// Of a tokenizer, which must outlive it; of null what is known without one.
ChoiceVocabulary choice_vocabulary(const Tokenizer* tokenizer, int64_t n_vocab);

// Where in a run the token stands.
struct ChoicePlace {
  std::span<const TokenId> before;  // the tokens so far, prompt and answer
  size_t prompt_tokens = 0;         // those behind these are the answer
  uint64_t draws = 0;               // random numbers that were drawn from the seed before
};

// What these options do with the logits that were kept: `enough` is false where it would take
// others. At most `most` candidates, at least one. Without a seed in the options 0 is taken. Fails
// with invalid_argument for options out of range, and for ids that are not in the vocabulary or
// there twice.
Result<ChoiceView> view_choice(const ChoiceVocabulary& vocabulary, const RawLogits& raw,
                               const ChoicePlace& place, const GenerateOptions& options, int most);
// The same of all logits, one for each token of the vocabulary.
Result<ChoiceView> view_choice(const ChoiceVocabulary& vocabulary, std::span<const float> logits,
                               const ChoicePlace& place, const GenerateOptions& options, int most);

// {"enough":true,"steps":[{"step":..,"left":n,"mass":m},..],
//  "candidates":[[id,logprob,changed,cut,p],..],"nucleus":n,"mass":m,"place":u,"taken":id}
// as ChoiceView has them; null for -infinity and for no place. {"enough":false} if it isn't.
std::string choice_json(const ChoiceView& view);
Result<std::string> choice_json(const Tokenizer* tokenizer, int64_t n_vocab, const RawLogits& raw,
                                const ChoicePlace& place, const GenerateOptions& options, int most);
Result<std::string> choice_json(const Tokenizer* tokenizer, std::span<const float> logits,
                                const ChoicePlace& place, const GenerateOptions& options, int most);

}  // namespace sluice
