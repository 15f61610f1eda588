// JSON of options, events, figures and errors, the same for the program and the library.
#pragma once  // face

#include <span>
#include <string>
#include <string_view>

#include "engine.h"

namespace sluice {

struct ChatPrompt;
struct ReplyPrompt;

// Reads options by their names in options.json; "" and "{}" give the defaults, which for a model
// are ModelSampling::defaults. Fails with invalid_argument for an unknown name, a wrong type or a
// value out of range.
Result<LoadOptions> load_options_from_json(std::string_view json);
Result<GenerateOptions> generate_options_from_json(std::string_view json,
                                                   GenerateOptions defaults = {});
// {"event":"token",..}, {"event":"done",..} with the stats, {"event":"working"} or
// {"event":"waiting"}. A token with Event::raw has, last,
// "raw":{"logSum":..,"entropy":..,"draws":n,"best":[[id,logit],..]}; its numbers read back as the
// same bits.
std::string event_json(const Event& event, const Stats& stats);
std::string stats_json(const Stats& stats);
// {"top":[[id,logprob],..]}: the `top` likeliest tokens of one position. With `hash` also the hash
// of its logits: {"hash":"..","top":[..]}.
std::string logits_json(std::span<const float> logits, int top, bool hash);
// [{"code":..,"message":..,"audience":..,"facts":{..}},..]; `facts` is left out where there are
// none.
std::string notes_json(const Notes& notes);
// {"event":"error","code":..,"message":..,"facts":{..}}; likewise.
std::string error_json(const Error& error);
// {"text":..,"tokens":[..],"template":..,"warnings":[..]}; without `tokens` if they weren't wanted.
// `warnings` as notes_json() has them.
std::string chat_prompt_json(const ChatPrompt& prompt, bool tokens);
// {"tokens":n,"dropped":n,"template":..,"reasoning":..,"warnings":[..]}; `reasoning`: the model has
// marks for it.
std::string reply_prompt_json(const ReplyPrompt& reply);
// [[byte,..],..]: the bytes that each token stands for, of a control token its name.
std::string token_bytes_json(const Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace sluice
