#include "chat/template_use.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/xxh64.h"

namespace sluice {

struct LearnedTemplate {
  uint64_t options;  // the hash of what the trials are given
  std::string source;
  jinja::Template made;
  std::optional<bool> shows_text, shows_parts;
  std::optional<std::string> behind_answer;
};

namespace {

using jinja::Kind;
using jinja::Value;

constexpr size_t kRemembered = 2;
constexpr std::string_view kProbe = "Marco2718";

void hash_number(Xxh64& hash, uint64_t number) {
  hash.update({reinterpret_cast<const uint8_t*>(&number), sizeof number});
}

// Values of JSON; they are not nested deeper than that may be.
void hash_value(Xxh64& hash, const Value& value) {
  hash_number(hash, static_cast<uint64_t>(value.kind()));
  if (value.is_text()) {
    const std::string_view text = value.as_text();
    hash_number(hash, text.size());
    hash.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  } else if (value.is(Kind::list)) {
    hash_number(hash, value.items().size());
    for (const Value& item : value.items()) hash_value(hash, item);
  } else if (value.is(Kind::dict)) {
    hash_number(hash, value.entries().size());
    for (const auto& [key, item] : value.entries()) {
      hash_value(hash, key);
      hash_value(hash, item);
    }
  } else if (value.is(Kind::number)) {
    hash_number(hash, std::bit_cast<uint64_t>(value.as_double()));
  } else if (value.is_integer()) {
    hash_number(hash, static_cast<uint64_t>(value.as_integer()));
  }
}

Value own(std::string_view text) { return Value::text(std::string(text)); }

Value message(std::string_view role, Value content) {
  return dict_of({{own("role"), own(role)}, {own("content"), std::move(content)}});
}

}  // namespace

TemplateUse::TemplateUse(std::shared_ptr<LearnedTemplate> learned, ChatInput options,
                         jinja::RenderOptions time)
    : learned_(std::move(learned)), options_(std::move(options)), time_(std::move(time)) {}

Result<TemplateUse> TemplateUse::begin(TemplateCache* cache, std::string_view source,
                                       const ChatInput& input, const jinja::RenderOptions& time) {
  ChatInput options = input;
  for (const char* name : {"messages", "tools", "documents"}) options.set(name, Value::none());
  uint64_t sum = 0;  // whatever their order
  for (const auto& [key, value] : options.context) {
    Xxh64 hash;
    hash_value(hash, key);
    hash_value(hash, value);
    sum += hash.value();
  }
  if (cache != nullptr) {
    for (const auto& each : cache->last_) {
      if (each->options == sum && each->source == source)
        return TemplateUse(each, std::move(options), time);
    }
  }
  SLUICE_ASSIGN(jinja::Template made, jinja::Template::parse(source));
  auto learned = std::make_shared<LearnedTemplate>(
      LearnedTemplate{sum, std::string(source), std::move(made), {}, {}, {}});
  if (cache != nullptr) {
    cache->last_.insert(cache->last_.begin(), learned);
    if (cache->last_.size() > kRemembered) cache->last_.pop_back();
  }
  return TemplateUse(std::move(learned), std::move(options), time);
}

Result<jinja::Rendered> TemplateUse::render(const ChatInput& input) {
  ++renderings_;
  return learned_->made.render(Value::dict(input.context), time_);
}

// What the template makes of the messages; "" if it fails. `asks`: for an answer, as the request.
Result<std::string> TemplateUse::try_out(Value messages, bool asks) {
  ChatInput trial = options_;
  trial.set("messages", std::move(messages));
  if (!asks) trial.set("add_generation_prompt", Value::boolean(false));
  auto shown = render(trial);
  if (shown) return std::move(shown->text);
  if (shown.error().code == Code::aborted) return std::unexpected(std::move(shown).error());
  return "";
}

// Whether the template shows a user's message with this content, and not only how Python would
// write the list down.
Result<bool> TemplateUse::shows(Value content) {
  SLUICE_ASSIGN(const std::string shown,
                try_out(list_of({message("user", std::move(content))}), true));
  const size_t at = shown.find(kProbe);
  if (at == std::string::npos) return false;
  const char before = at == 0 ? ' ' : shown[at - 1];
  return before != '\'' && before != '"';
}

Result<bool> TemplateUse::shows_text() {
  auto& known = learned_->shows_text;
  if (!known) {
    SLUICE_ASSIGN(known, shows(own(kProbe)));
  }
  return *known;
}

Result<bool> TemplateUse::shows_parts() {
  auto& known = learned_->shows_parts;
  if (!known) {
    SLUICE_ASSIGN(known, shows(list_of({text_part(own(kProbe))})));
  }
  return *known;
}

Result<std::string> TemplateUse::behind(bool parts) {
  const auto content = [parts](std::string_view text) {
    return parts ? list_of({text_part(own(text))}) : own(text);
  };
  SLUICE_ASSIGN(
      const std::string shown,
      try_out(list_of({message("user", content("Hi")), message("assistant", content(kProbe))}),
              false));
  const size_t at = shown.rfind(kProbe);
  return at == std::string::npos ? "" : shown.substr(at + kProbe.size());
}

Result<std::string> TemplateUse::behind_answer() {
  auto& known = learned_->behind_answer;
  if (!known) {
    SLUICE_ASSIGN(std::string text, behind(false));
    if (text.empty()) {
      SLUICE_ASSIGN(text, behind(true));
    }
    known = std::move(text);
  }
  return *known;
}

}  // namespace sluice
