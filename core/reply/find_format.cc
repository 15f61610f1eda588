#include "reply/find_format.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice {
namespace {

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
// space, and then the text that the model goes on with, may be behind the mark.
bool ends_in_reasoning(const RenderedChat& chat, const Marks& marks) {
  const std::string_view prompt = chat.prompt.text;
  const size_t begin = prompt.rfind(marks.begin);
  if (begin == std::string_view::npos) return false;
  const size_t behind = begin + marks.begin.size();
  const std::string_view between =
      prompt.substr(0, chat.final_begin).substr(std::min(behind, chat.final_begin));
  return between.find_first_not_of(kBlanks) == std::string_view::npos &&
         prompt.find(marks.end, behind) == std::string_view::npos;
}

// The token right behind an answer, if it is a special one.
TokenId end_token(const Tokenizer& tokenizer, std::string_view behind) {
  behind.remove_prefix(std::min(behind.find_first_not_of(kBlanks), behind.size()));
  const std::vector<TokenId> ids = tokenizer.encode(behind.substr(0, 200), true);
  return !ids.empty() && tokenizer.is_special(ids.front()) ? ids.front() : kNoToken;
}

}  // namespace

Result<ReplyFormat> find_reply_format(const Tokenizer& tokenizer, RenderedChat& chat) {
  ReplyFormat format;
  SLUICE_ASSIGN(const std::string behind, chat.used.behind_answer());
  chat.prompt.renderings = chat.used.renderings();
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
  format.begins_thinking = ends_in_reasoning(chat, *marks);
  return format;
}

}  // namespace sluice
