#include "session/runtime.h"

#include <algorithm>

#include "base/format.h"
#include "session/session_state.h"

namespace sluice {

Status Runtime::check_or_close_source() {
  if (source == nullptr) return {};
  SLUICE_TRY(source->status());
  if (weights->all_resident()) source.reset();
  return {};
}

uint64_t Runtime::session_memory() const {
  uint64_t held = 0;
  for (const Session::State* one : sessions) held += one->held_bytes();
  return held;
}

uint64_t Runtime::unplanned_ropes(int64_t end) const {
  const uint64_t bytes = std::max(pass->rope_bytes(), Pass::rope_bytes(*model, end));
  return bytes - std::min(bytes, planned_ropes);
}

uint64_t Runtime::memory_left() const {
  const uint64_t in_use = fixed_memory + unplanned_ropes() + session_memory();
  return memory_limit > in_use ? memory_limit - in_use : 0;
}

Status Runtime::check_memory(uint64_t more, uint64_t tokens, std::string_view what) const {
  if (more == 0) return {};
  const uint64_t left = memory_left();
  if (more <= left) return {};
  const bool budget = memory_budget > 0 && memory_budget <= memory_limit;
  return with_facts(
      fail(Code::out_of_memory, what, " needs ", human_bytes(more), " more, but of the ",
           human_bytes(memory_limit), budget ? " of the budget" : " that there are", " only ",
           human_bytes(left), " are left (the model takes ", human_bytes(fixed_memory),
           ", sessions have ", human_bytes(session_memory()),
           "): close other sessions, or use a shorter text or a smaller model",
           budget ? ", or give a larger budget" : ""),
      {{"neededBytes", more}, {"availableBytes", left}, {"tokens", tokens}});
}

Status Runtime::check_keeps() const {
  if (model->makes().text) return {};
  return fail(Code::unsupported_model,
              "the model writes no text, so its sessions keep nothing that could be saved or "
              "restored; keep what it has made instead");
}

void Runtime::add_to(Stats& stats) const {
  stats.kernels = kernels->name;
  stats.load_ms = load_ms;
  stats.context_size = context_size;
  stats.memory_budget = memory_budget;
  if (!tokenizer) return;
  stats.threads = pool->size();
  stats.decode_threads = tuner.best();
  stats.bytes_per_token = bytes_per_token;
  stats.resident_bytes = weights->held_bytes() + Pass::scratch_bytes(*model, pool->size()) +
                         pass->held_activation_bytes() + session_memory();
}

}  // namespace sluice
