// What a run generates: the tokens that are chosen and the text that is certain.
#pragma once  // inside

#include <span>
#include <string>
#include <vector>

#include "engine.h"
#include "reply/pending_text.h"
#include "sample/sampler.h"
#include "text/tokenizer.h"

namespace sluice {

class Generation {
 public:
  // Goes on after `prompt`. The model wrote the prompt's tokens from `answer_begin` on.
  // `seed`, `draws`: as in SamplerOptions. `tokenizer` must outlive this.
  Generation(const Tokenizer& tokenizer, const GenerateOptions& options,
             std::span<const TokenId> prompt, size_t answer_begin, uint64_t seed, uint64_t draws);

  // It is a reply of this form: see Session::start_reply(). Call it before the first token.
  void write_reply(const ReplyFormat& format, int64_t max_thinking, bool at_start_of_text);

  // The likeliest or a random token, or the next one of those that end a reasoning that is too
  // long. `reasoning_tokens`: how many were written.
  TokenId next_token(std::span<const float> logits, std::span<const TokenId> tokens,
                     int64_t reasoning_tokens);
  bool is_end_token(TokenId id) const;

  // add_token() takes the event of a token, without its text; flush_text() ends the text. Both move
  // the events whose text is certain now to `events`. True: a stop text was found.
  bool add_token(Event event);
  bool flush_text();

  bool thinking() const { return text_.thinking(); }
  size_t answer_begin() const { return answer_begin_; }
  uint64_t draws() const { return sampler_.draws(); }
  const GenerateOptions& options() const { return options_; }

  std::vector<Event> events;  // for the caller: few

 private:
  void release(std::vector<ReplyText>& texts);

  const Tokenizer& tokenizer_;
  GenerateOptions options_;
  Sampler sampler_;
  size_t answer_begin_;
  PendingText text_;
  std::vector<Event> undecided_;  // tokens whose text is not certain yet
  // Of a reply.
  std::vector<TokenId> end_tokens_;
  std::string think_close_;
  int64_t max_thinking_ = -1;           // tokens of reasoning; -1: any number
  std::vector<TokenId> forced_tokens_;  // they are written next, whatever is likely
};

}  // namespace sluice
