#include "api/json.h"

#include <cmath>

#include "api/json_parts.h"
#include "base/format.h"
#include "reply/reply_prompt.h"
#include "text/tokenizer.h"
#ifndef __EMSCRIPTEN__
#include <sys/resource.h>
#endif

namespace sluice {
namespace {

// [[id, logprob], ..]
Json top_json(const std::vector<std::pair<TokenId, float>>& top) {
  Json list = Json::array();
  for (const auto& [id, logprob] : top) list.push_back(Json::array({id, shortest(logprob)}));
  return list;
}

void append_raw(std::string& out, const RawLogits& raw) {
  out += concat("{\"logSum\":", dump(raw.log_sum), ",\"entropy\":", dump(raw.entropy),
                ",\"draws\":", raw.draws, ",\"best\":[");
  const char* before = "[";
  for (const auto& [id, logit] : raw.best) {
    out += concat(before, id, ",");
    append_float(out, logit);
    before = "],[";
  }
  out += raw.best.empty() ? "]}" : "]]}";
}

// Memory of the process: the size of the wasm heap, or natively the largest resident set so far.
uint64_t heap_bytes() {
#ifdef __EMSCRIPTEN__
  return static_cast<uint64_t>(__builtin_wasm_memory_size(0)) * 65536;
#else
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
#endif
}

// Milliseconds and rates get three decimals: the clock is no more exact than that.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json stats_object(const Stats& stats) {
  Json out = Json::object();
  append(out, "kernels", stats.kernels);
  append_whole(out, "threads", stats.threads);
  append_whole(out, "decodeThreads", stats.decode_threads);
  append_whole(out, "contextSize", stats.context_size);
  append_real(out, "loadMs", rounded(stats.load_ms));
  append_real(out, "ttftMs", rounded(stats.ttft_ms));
  append_real(out, "waitedMs", rounded(stats.waited_ms));
  append_whole(out, "promptTokens", stats.prompt_tokens);
  append_whole(out, "reusedTokens", stats.reused_tokens);
  append_real(out, "promptTokensPerSecond", rounded(stats.prompt_tps));
  append_whole(out, "tokens", stats.tokens);
  append_whole(out, "reasoningTokens", stats.reasoning_tokens);
  append_real(out, "tokensPerSecond", rounded(stats.tps));
  const Count counts[] = {
      {"residentBytes", stats.resident_bytes},
      {"rereadBytes", stats.reread_bytes},
      {"streamedBytes", stats.reread_bytes},  // its name before; goes with the next version
      {"memoryBudget", stats.memory_budget},
      {"bytesPerToken", stats.bytes_per_token},
      {"heapBytes", heap_bytes()},
      {"seed", stats.seed}};
  append_counts(out, counts);
  return out;
}

// {"event":name}
Json event_object(std::string_view name) {
  Json out = Json::object();
  append(out, "event", name);
  return out;
}

}  // namespace

std::string event_json(const Event& event, const Stats& stats) {
  constexpr std::string_view kNames[] = {"working", "waiting", "token", "done"};
  Json out = event_object(kNames[static_cast<size_t>(event.kind)]);
  if (event.kind == Event::Kind::token) {
    append_whole(out, "id", event.id);
    append(out, "text", event.text);
    append_real(out, "logprob", shortest(event.logprob));
    if (event.reasoning) append(out, "reasoning", true);
    if (!event.top.empty()) append(out, "top", top_json(event.top));
  } else if (event.kind == Event::Kind::done) {
    append(out, "finish", finish_name(event.finish));
    append(out, "stats", stats_object(stats));
  }
  std::string text = dump(out);
  if (event.kind == Event::Kind::token && event.raw) {
    text.back() = ',';
    text += "\"raw\":";
    append_raw(text, *event.raw);
    text += '}';
  }
  return text;
}

std::string logits_json(std::span<const float> logits, int top, bool hash) {
  Json out = Json::object();
  if (hash) append(out, "hash", logits_hash(logits));
  append(out, "top", top_json(top_logprobs(logits, top)));
  return dump(out);
}

std::string notes_json(const Notes& notes) { return dump(notes_list(notes)); }

std::string stats_json(const Stats& stats) { return dump(stats_object(stats)); }

std::string error_json(const Error& error) {
  Json out = event_object("error");
  append(out, "code", code_name(error.code));
  append(out, "message", error.message);
  append_facts(out, error.facts);
  return dump(out);
}

std::string chat_prompt_json(const ChatPrompt& prompt, bool tokens) {
  Json out = Json::object();
  append(out, "text", prompt.text);
  if (tokens) append(out, "tokens", prompt.tokens);
  append(out, "template", prompt.source);
  append(out, "warnings", notes_list(prompt.warnings));
  return dump(out);
}

std::string reply_prompt_json(const ReplyPrompt& reply) {
  const ChatPrompt& prompt = reply.prompt;
  Json out = Json::object();
  append_whole(out, "tokens", static_cast<int64_t>(prompt.tokens.size()));
  append_whole(out, "dropped", static_cast<int64_t>(prompt.dropped_messages));
  append(out, "template", prompt.source);
  append(out, "reasoning", reply.format.has_reasoning());
  append(out, "warnings", notes_list(prompt.warnings));
  return dump(out);
}

std::string token_bytes_json(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  Json out = Json::array();
  for (const TokenId id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    Json bytes = Json::array();
    for (const char c : piece.empty() ? tokenizer.raw_token(id) : piece)
      bytes.push_back(static_cast<uint8_t>(c));
    out.push_back(std::move(bytes));
  }
  return dump(out);
}

}  // namespace sluice
