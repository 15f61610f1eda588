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

// As "top": [[id, logprob], ..]
void append_top(JsonText& out, const std::vector<std::pair<TokenId, float>>& top) {
  out.open("top", '[');
  for (const auto& [id, logprob] : top) {
    out.open('[');
    out.whole(id);
    out.real(shortest(logprob));
    out.close(']');
  }
  out.close(']');
}

void append_raw(JsonText& out, const RawLogits& raw) {
  out.open("raw", '{');
  out.real("logSum", raw.log_sum);
  out.real("entropy", raw.entropy);
  out.count("draws", raw.draws);
  out.open("best", '[');
  for (const auto& [id, logit] : raw.best) {
    out.open('[');
    out.whole(id);
    out.exact(logit);
    out.close(']');
  }
  out.close(']');
  out.close('}');
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

// {"kernels":..}
void append_stats(JsonText& out, const Stats& stats) {
  out.open('{');
  out.text("kernels", stats.kernels);
  out.whole("threads", stats.threads);
  out.whole("decodeThreads", stats.decode_threads);
  out.whole("contextSize", stats.context_size);
  out.real("loadMs", rounded(stats.load_ms));
  out.real("ttftMs", rounded(stats.ttft_ms));
  out.real("waitedMs", rounded(stats.waited_ms));
  out.whole("promptTokens", stats.prompt_tokens);
  out.whole("reusedTokens", stats.reused_tokens);
  out.real("promptTokensPerSecond", rounded(stats.prompt_tps));
  out.whole("tokens", stats.tokens);
  out.whole("reasoningTokens", stats.reasoning_tokens);
  out.real("tokensPerSecond", rounded(stats.tps));
  out.count("residentBytes", stats.resident_bytes);
  out.count("rereadBytes", stats.reread_bytes);
  out.count("streamedBytes", stats.reread_bytes);  // its name before; goes with the next version
  out.count("memoryBudget", stats.memory_budget);
  out.count("bytesPerToken", stats.bytes_per_token);
  out.count("heapBytes", heap_bytes());
  out.count("seed", stats.seed);
  out.close('}');
}

// {"event":name
void open_event(JsonText& out, std::string_view name) {
  out.open('{');
  out.text("event", name);
}

}  // namespace

std::string event_json(const Event& event, const Stats& stats) {
  constexpr std::string_view kNames[] = {"working", "waiting", "token", "done"};
  JsonText out;
  open_event(out, kNames[static_cast<size_t>(event.kind)]);
  if (event.kind == Event::Kind::token) {
    out.whole("id", event.id);
    out.text("text", event.text);
    out.real("logprob", shortest(event.logprob));
    if (event.reasoning) out.flag("reasoning", true);
    if (!event.top.empty()) append_top(out, event.top);
    if (event.raw) append_raw(out, *event.raw);
  } else if (event.kind == Event::Kind::done) {
    out.text("finish", finish_name(event.finish));
    out.key("stats");
    append_stats(out, stats);
  }
  out.close('}');
  return out.take();
}

std::string logits_json(std::span<const float> logits, int top, bool hash) {
  JsonText out;
  out.open('{');
  if (hash) out.text("hash", logits_hash(logits));
  append_top(out, top_logprobs(logits, top));
  out.close('}');
  return out.take();
}

std::string notes_json(const Notes& notes) {
  JsonText out;
  out.notes(notes);
  return out.take();
}

std::string stats_json(const Stats& stats) {
  JsonText out;
  append_stats(out, stats);
  return out.take();
}

std::string error_json(const Error& error) {
  JsonText out;
  open_event(out, "error");
  out.error(error);
  out.close('}');
  return out.take();
}

std::string chat_prompt_json(const ChatPrompt& prompt, bool tokens) {
  JsonText out;
  out.open('{');
  out.text("text", prompt.text);
  if (tokens) {
    out.open("tokens", '[');
    for (const TokenId id : prompt.tokens) out.whole(id);
    out.close(']');
  }
  out.text("template", prompt.source);
  out.key("warnings");
  out.notes(prompt.warnings);
  out.close('}');
  return out.take();
}

std::string reply_prompt_json(const ReplyPrompt& reply) {
  const ChatPrompt& prompt = reply.prompt;
  JsonText out;
  out.open('{');
  out.count("tokens", prompt.tokens.size());
  out.count("dropped", prompt.dropped_messages);
  out.text("template", prompt.source);
  out.flag("reasoning", reply.format.has_reasoning());
  out.key("warnings");
  out.notes(prompt.warnings);
  out.close('}');
  return out.take();
}

std::string token_bytes_json(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  JsonText out;
  out.open('[');
  for (const TokenId id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    out.open('[');
    for (const char c : piece.empty() ? tokenizer.raw_token(id) : piece)
      out.count(static_cast<uint8_t>(c));
    out.close(']');
  }
  out.close(']');
  return out.take();
}

}  // namespace sluice
