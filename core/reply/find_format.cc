#include "reply/find_format.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice {
namespace {

using jinja::Value;

struct Marks {
  std::string_view begin, end, close;
};

// The marks that families use, and how they end reasoning.
constexpr Marks kMarks[] = {
    {"<think>", "</think>", "\n</think>\n\n"},              // Qwen3, DeepSeek, SmolLM3, ...
    {"<|channel>thought\n", "<channel|>", "\n<channel|>"},  // Gemma 4
    {"[THINK]", "[/THINK]", "[/THINK]"},                    // Magistral
    {"<|START_THINKING|>", "<|END_THINKING|>", "<|END_THINKING|>"},  // Command
    {"<seed:think>", "</seed:think>", "</seed:think>"},              // Seed
    {"<thought>", "</thought>", "\n</thought>\n\n"},                 // EXAONE
};

constexpr std::string_view kAnswer = "Marco2718";
constexpr std::string_view kBlanks = " \t\r\n";

bool knows(const Tokenizer& tokenizer, std::string_view raw) {
  return tokenizer.find_raw(raw) != kNoToken;
}

const Marks* find_marks(const Tokenizer& tokenizer, std::string_view text) {
  for (const Marks& marks : kMarks)
    if (text.find(marks.end) != std::string_view::npos) return &marks;
  // Some templates leave them to the model.
  for (const Marks& marks : kMarks)
    if (knows(tokenizer, marks.begin) && knows(tokenizer, marks.end)) return &marks;
  return nullptr;
}

// Whether the prompt's end is reasoning. What users write about marks doesn't count: only white
// space, or the text that the model goes on with, may be behind the mark.
bool ends_in_reasoning(std::string_view prompt, const Marks& marks, const ChatInput& input) {
  const size_t begin = prompt.rfind(marks.begin);
  if (begin == std::string_view::npos) return false;
  const std::string_view behind = prompt.substr(begin + marks.begin.size());
  if (behind.find_first_not_of(kBlanks) == std::string_view::npos) return true;
  const auto text = input.continues ? final_text(input) : Result<std::string_view>("");
  return text && behind.size() <= text->size() && behind.find(marks.end) == std::string_view::npos;
}

// What the template writes behind an answer; "" if it shows none.
std::string behind_answer(const jinja::Template& made, const jinja::RenderOptions& time,
                          const ChatInput& input, bool parts) {
  const auto text = [](std::string_view s) { return Value::text(std::string(s)); };
  const auto message = [&](std::string_view role, std::string_view content) {
    Value shown = text(content);
    if (parts) {
      shown = Value::list(
          {Value::dict({{text("type"), text("text")}, {text("text"), std::move(shown)}})});
    }
    return Value::dict({{text("role"), text(role)}, {text("content"), std::move(shown)}});
  };
  ChatInput trial = input;
  trial.set("messages", Value::list({message("user", "Hi"), message("assistant", kAnswer)}));
  trial.set("tools", Value::none());
  trial.set("add_generation_prompt", Value::boolean(false));
  const auto shown = made.render(Value::dict(std::move(trial.context)), time);
  const size_t at = shown ? shown->rfind(kAnswer) : std::string::npos;
  return at == std::string::npos ? "" : shown->substr(at + kAnswer.size());
}

// The token right behind an answer, if it is a special one.
TokenId end_token(const Tokenizer& tokenizer, std::string_view behind) {
  behind.remove_prefix(std::min(behind.find_first_not_of(kBlanks), behind.size()));
  const std::vector<TokenId> ids = tokenizer.encode(behind.substr(0, 200), true);
  return !ids.empty() && tokenizer.is_special(ids.front()) ? ids.front() : kNoToken;
}

}  // namespace

ReplyFormat find_reply_format(const Tokenizer& tokenizer, const RenderedChat& chat,
                              const jinja::RenderOptions& time) {
  ReplyFormat format;
  std::string behind = behind_answer(chat.made, time, chat.input, false);
  if (behind.empty()) behind = behind_answer(chat.made, time, chat.input, true);
  if (const TokenId end = end_token(tokenizer, behind); end != kNoToken)
    format.end_tokens.push_back(end);
  if (!chat.chosen.stop.empty()) format.stop = {std::string(chat.chosen.stop)};

  const Marks* marks = find_marks(tokenizer, chat.chosen.text);
  if (marks == nullptr) return format;
  format.think_begin = marks->begin;
  format.think_end = marks->end;
  format.think_close = marks->close;
  const std::vector<TokenId> ids = tokenizer.encode(marks->begin, true);
  format.begins_anywhere =
      !ids.empty() && tokenizer.is_special(ids.front()) && tokenizer.piece(ids.front()).empty();
  format.begins_thinking = ends_in_reasoning(chat.prompt.text, *marks, chat.input);
  return format;
}

}  // namespace sluice
