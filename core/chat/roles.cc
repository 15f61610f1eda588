#include "chat/roles.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"

namespace sluice {
namespace {

using jinja::InputSpan;
using jinja::Value;

constexpr std::string_view kRoles[] = {
    "system", "developer",     "user",     "assistant", "model",
    "tool",   "tool_response", "function", "ipython",   "observation",
};
constexpr size_t kMostLooks = 1000;  // for the time
constexpr size_t kMostWarnings = 3;
constexpr size_t kAround = 128;  // bytes beside a role in which its token is

// The token that the role and the template's text beside it spell; "" if there is none.
std::string_view token_around(const Tokenizer& tokenizer, std::string_view prompt,
                              const jinja::InputSpans& spans, size_t at) {
  const InputSpan& role = spans[at];
  // Only what touches the role is looked at: other input completes no token either.
  const size_t before = at == 0 ? 0 : spans[at - 1].end;
  const size_t behind = at + 1 == spans.size() ? prompt.size() : spans[at + 1].begin;
  const size_t begin = std::max(before, role.begin - std::min<size_t>(role.begin, kAround));
  const std::string_view seen =
      prompt.substr(begin, std::min<size_t>(behind, role.end + kAround) - begin);
  for (const TextSpan& token : tokenizer.find_control(seen)) {
    const size_t from = begin + token.begin, to = begin + token.end;
    if (from < role.end && to > role.begin && (from < role.begin || to > role.end))
      return seen.substr(token.begin, token.end - token.begin);
  }
  return {};
}

}  // namespace

bool is_known_role(std::string_view role) {
  return std::ranges::find(kRoles, role) != std::end(kRoles);
}

void check_roles(const Tokenizer& tokenizer, const ChatInput& input, std::string_view prompt,
                 const jinja::InputSpans& spans, Notes& warnings) {
  std::vector<std::pair<uint32_t, size_t>> unknown;  // fields of roles, and their messages
  for (size_t i = 0; i < input.messages().size(); ++i) {
    const Value& role = role_of(input.messages()[i]);
    if (role.from_input()) unknown.emplace_back(first_field(role), i);
  }
  if (unknown.empty()) return;
  std::vector<std::string_view> said;
  size_t looks = 0;
  for (size_t at = 0; at < spans.size() && looks < kMostLooks; ++at) {
    const auto found =
        std::ranges::lower_bound(unknown, std::pair<uint32_t, size_t>(spans[at].field, 0));
    if (found == unknown.end() || found->first != spans[at].field) continue;
    const std::string_view role = role_of(input.messages()[found->second]).as_text();
    if (std::ranges::find(said, role) != said.end()) continue;
    ++looks;
    const std::string_view token = token_around(tokenizer, prompt, spans, at);
    if (token.empty()) continue;
    const std::string place = concat("messages[", found->second, "].role");
    warnings.push_back(
        {NoteCode::unknown_role,
         concat(place, " is '", printable(role, 40),
                "', which is no role that Sluice knows: ", printable(token, 60), " stays text"),
         {{"role", std::string(role)}, {"token", std::string(token)}}});
    said.push_back(role);
    if (said.size() == kMostWarnings) return;
  }
}

}  // namespace sluice
