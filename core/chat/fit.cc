#include "chat/fit.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "base/format.h"

namespace sluice {
namespace {

using jinja::Value;

bool is_system(const Value& message) {
  const std::string_view role = role_of(message).as_text();
  return role == "system" || role == "developer";
}

// The first message of each turn. Those before them are the system's.
std::vector<size_t> turns_of(const jinja::List& messages) {
  std::vector<size_t> turns;
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool begins =
        turns.empty() ? !is_system(messages[i]) : role_of(messages[i]).as_text() == "user";
    if (begins) turns.push_back(i);
  }
  return turns;
}

ChatInput without(const ChatInput& input, size_t from, size_t to) {
  ChatInput left = input;
  jinja::List messages(nullptr);
  for (size_t i = 0; i < input.messages().size(); ++i)
    if (i < from || i >= to) messages.push_back(input.messages()[i]);
  left.set("messages", Value::list(std::move(messages)));
  return left;
}

// The first field of a message.
uint32_t field_of(const Value& message) {
  for (const auto& [key, value] : message.entries())
    if (const uint32_t field = first_field(key); field != 0) return field;
  return 0;
}

// Where the text shows each turn: from the first byte of the turn's messages behind the turn
// before.
std::vector<size_t> places_of(const std::vector<size_t>& turns, const jinja::List& messages,
                              const PromptText& shown) {
  std::vector<uint32_t> fields;  // by turn, ascending
  for (const size_t turn : turns) fields.push_back(field_of(messages[turn]));
  std::vector<std::vector<size_t>> seen(turns.size());
  for (const jinja::InputSpan& span : shown.input) {
    const auto behind = std::ranges::upper_bound(fields, span.field);
    if (span.field != 0 && behind != fields.begin())
      seen[static_cast<size_t>(behind - fields.begin()) - 1].push_back(span.begin);
  }
  std::vector<size_t> places;
  size_t from = 0;
  for (const std::vector<size_t>& each : seen) {
    const auto found = std::ranges::lower_bound(each, from);
    if (found != each.end()) from = *found;
    places.push_back(from);
  }
  if (places.front() < places.back()) return places;
  // Nothing is known of a template that changes the texts: turns of one size.
  for (size_t i = 0; i < places.size(); ++i) places[i] = shown.text.size() / places.size() * i;
  return places;
}

std::unexpected<Error> too_long(const PromptTokens& tokens, size_t most, bool alone) {
  const uint64_t n = tokens.about > 0 ? tokens.about : tokens.ids.size();
  return with_facts(
      fail(Code::context_full, "the prompt has ",
           tokens.about > 0 ? concat("more than ", counted(most, "token"), " (about ", n, ")")
                            : counted(n, "token"),
           alone ? " with the last turn alone" : "", ", but there is room for ", most,
           "; shorten the ", alone ? "last message" : "prompt", " or load with a larger context"),
      {{"tokens", n}, {"room", most}});
}

struct Choice {
  size_t least;  // the first turn that stays if as many stay as fit
  size_t fewer;  // if some more go
};

// By the tokens of the newest turns, as the prompt of all messages shows them.
Result<Choice> choose_turns(const PromptEncoder& encoder, const std::vector<size_t>& places,
                            const PromptText& shown, size_t most) {
  const auto count = [&](size_t begin, size_t end) -> Result<uint64_t> {
    SLUICE_ASSIGN(const PromptTokens tokens, encoder.encode(shown, begin, end, most));
    return tokens.about > 0 ? tokens.about : tokens.ids.size();
  };
  const size_t last = places.size() - 1;
  SLUICE_ASSIGN(uint64_t all, count(0, places.front()));
  uint64_t tokens = 0;
  size_t turn = last, end = shown.text.size();
  for (; turn > 0; --turn) {
    SLUICE_ASSIGN(const uint64_t more, count(places[turn], end));
    if (turn < last && all + more > most) break;
    all += more;
    tokens += more;
    end = places[turn];
  }
  const size_t least = turn + 1;
  // Whole quarters of the room are dropped, so that the next prompts lack the same turns and share
  // this one's prefix. They are measured in bytes, which stay the same from prompt to prompt; how
  // many are a token is rounded to a power of two for that.
  const uint64_t bytes = shown.text.size() - end;
  const uint64_t per_token =
      std::bit_floor(std::clamp<uint64_t>(bytes * 3 / (2 * std::max<uint64_t>(tokens, 1)), 1, 64));
  const uint64_t step = std::max<uint64_t>(most / 4, 1) * per_token;
  const uint64_t goal = (places[least] - places[0] + step - 1) / step * step;
  size_t fewer = least;
  while (fewer < last && places[fewer] - places[0] < goal) ++fewer;
  return Choice{least, fewer};
}

}  // namespace

Result<FittedPrompt> fit_prompt(TemplateUse& used, const PromptEncoder& encoder,
                                const ChatInput& input, const FitOptions& options) {
  const size_t most = options.most_tokens;
  const auto make = [&](const ChatInput& some) -> Result<FittedPrompt> {
    FittedPrompt made;
    SLUICE_ASSIGN(made.shown, render_prompt(used, some));
    SLUICE_ASSIGN(made.tokens, encoder.encode_whole(made.shown, most));
    return made;
  };
  const auto fits = [most](const FittedPrompt& made) {
    return most == 0 || (made.tokens.about == 0 && made.tokens.ids.size() <= most);
  };
  SLUICE_ASSIGN(FittedPrompt whole, make(input));
  if (fits(whole)) return whole;
  const std::vector<size_t> turns = turns_of(input.messages());
  if (!options.drop || turns.size() < 2) return too_long(whole.tokens, most, false);

  const auto begin_at = [&](size_t turn) -> Result<FittedPrompt> {
    SLUICE_ASSIGN(FittedPrompt left, make(without(input, turns.front(), turns[turn])));
    left.dropped_messages = turns[turn] - turns.front();
    return left;
  };
  SLUICE_ASSIGN(
      const Choice choice,
      choose_turns(encoder, places_of(turns, input.messages(), whole.shown), whole.shown, most));
  whole = FittedPrompt();  // its memory
  // The first one does, unless a template writes more when there is less.
  size_t turn = choice.fewer;
  for (size_t more = 1;; more *= 2) {
    SLUICE_ASSIGN(FittedPrompt left, begin_at(turn));
    if (fits(left)) return left;
    if (turn == choice.fewer && choice.least < choice.fewer) {
      SLUICE_ASSIGN(FittedPrompt longer, begin_at(choice.least));
      if (fits(longer)) return longer;
    }
    if (turn + 1 == turns.size()) return too_long(left.tokens, most, true);
    turn = std::min(turn + more, turns.size() - 1);
  }
}

}  // namespace sluice
