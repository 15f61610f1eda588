#include "chat/fit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"

namespace sluice {
namespace {

using jinja::Value;

std::string_view role_of(const Value& message) {
  return find(message.entries(), "role")->as_text();
}

bool is_system(const Value& message) {
  return role_of(message) == "system" || role_of(message) == "developer";
}

// Which messages can go: those of the oldest turns.
struct Turns {
  size_t first = 0;          // the first message behind the system's
  std::vector<size_t> ends;  // of the turns that can go; the last one can't

  explicit Turns(const std::vector<Value>& messages) {
    while (first < messages.size() && is_system(messages[first])) ++first;
    for (size_t i = first + 1; i < messages.size(); ++i)
      if (role_of(messages[i]) == "user") ends.push_back(i);
  }
};

ChatInput without(const ChatInput& input, size_t from, size_t to) {
  ChatInput left = input;
  std::vector<Value> messages = input.messages();
  messages.erase(messages.begin() + static_cast<ptrdiff_t>(from),
                 messages.begin() + static_cast<ptrdiff_t>(to));
  left.set("messages", Value::list(std::move(messages)));
  return left;
}

}  // namespace

Result<ChatPrompt> fit_prompt(ChatInput input, size_t most_tokens, const MakePrompt& make) {
  SLUICE_ASSIGN(ChatPrompt whole, make(input));
  const size_t all = whole.tokens.size();
  if (most_tokens == 0 || all <= most_tokens) return whole;
  const Turns turns(input.messages());
  // Fewest oldest turns to drop so that the rest satisfies `enough`; all of them if nothing does.
  // By bisection, because a prompt gets shorter with each turn that is dropped. (A template may do
  // otherwise: then the result may drop more than it must, or not be enough.)
  const auto dropped = [&](const auto& enough) -> Result<ChatPrompt> {
    ChatPrompt best = whole;
    size_t low = 0;
    size_t high = turns.ends.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      SLUICE_ASSIGN(ChatPrompt trial, make(without(input, turns.first, turns.ends[middle])));
      trial.dropped_messages = turns.ends[middle] - turns.first;
      const bool is_enough = enough(trial.tokens.size());
      if (is_enough) {
        high = middle;
      } else {
        low = middle + 1;
      }
      if (is_enough || low == turns.ends.size()) best = std::move(trial);
    }
    return best;
  };
  SLUICE_ASSIGN(const ChatPrompt least, dropped([&](size_t n) { return n <= most_tokens; }));
  if (least.tokens.size() > most_tokens) {
    return with_facts(
        fail(Code::context_full, "the prompt has ", counted(least.tokens.size(), "token"),
             turns.ends.empty() ? "" : " with the last turn alone", ", but there is room for ",
             most_tokens, "; shorten the last message or load with a larger context"),
        {{"tokens", least.tokens.size()}, {"room", most_tokens}});
  }
  // Whole quarters of the room are dropped, so that the next prompts lack the same turns and share
  // this one's prefix.
  const size_t quarter = std::max<size_t>(most_tokens / 4, 1);
  const size_t goal = (all - least.tokens.size() + quarter - 1) / quarter * quarter;
  SLUICE_ASSIGN(ChatPrompt fewer, dropped([&](size_t n) { return n + goal <= all; }));
  if (fewer.tokens.size() > most_tokens) return least;
  return fewer;
}

}  // namespace sluice
