#include "text/pretokenize.h"

#include <algorithm>

#include "base/unicode.h"

namespace sluice {
namespace {

struct Alias {
  std::string_view name;
  const PreTokenizer* what;
};

constexpr PreTokenizer kGpt2{"gpt-2", Splitter::gpt2, false, false};
constexpr PreTokenizer kLlama3{"llama-bpe", Splitter::llama3, true, true};
constexpr PreTokenizer kLlama3Plain{"dbrx", Splitter::llama3, false, false};
constexpr PreTokenizer kQwen2{"qwen2", Splitter::qwen2, false, false};
constexpr PreTokenizer kQwen35{"qwen35", Splitter::qwen35, false, false};
constexpr PreTokenizer kGemma4{"gemma4", Splitter::lines, false, true, true};
constexpr PreTokenizer kSmollm{"smollm", Splitter::smollm, false, false};
constexpr PreTokenizer kDefault{"default", Splitter::fallback, false, false};

constexpr Alias kAliases[] = {
    {"default", &kDefault},
    {"gpt-2", &kGpt2},
    {"phi-2", &kGpt2},
    {"mpt", &kGpt2},
    {"olmo", &kGpt2},
    {"exaone4", &kGpt2},
    {"granite-docling", &kGpt2},
    {"a.x-4.0", &kGpt2},
    {"gigachat", &kGpt2},
    {"jais", &kGpt2},
    {"jina-de", &kGpt2},
    {"jina-es", &kGpt2},
    {"jina-v1-en", &kGpt2},
    {"jina-v2-code", &kGpt2},
    {"jina-v2-de", &kGpt2},
    {"jina-v2-es", &kGpt2},
    {"mellum", &kGpt2},
    {"modern-bert", &kGpt2},
    {"roberta-bpe", &kGpt2},
    {"trillion", &kGpt2},
    {"llama-bpe", &kLlama3},
    {"llama3", &kLlama3},
    {"llama-v3", &kLlama3},
    {"falcon3", &kLlama3},
    {"lfm2", &kLlama3},
    {"pixtral", &kLlama3},
    {"falcon-h1", &kLlama3},
    {"jina-v5-nano", &kLlama3},
    {"midm-2.0", &kLlama3},
    {"dbrx", &kLlama3Plain},
    {"smaug-bpe", &kLlama3Plain},
    {"chatglm-bpe", &kLlama3Plain},
    {"glm4", &kLlama3Plain},
    {"glm5", &kLlama3Plain},
    {"qwen2", &kQwen2},
    {"deepseek-r1-qwen", &kQwen2},
    {"megrez", &kQwen2},
    {"stablelm2", &kQwen2},
    {"hunyuan", &kQwen2},
    {"f2llmv2", &kQwen2},
    {"grok-2", &kQwen2},
    {"kormo", &kQwen2},
    {"solar-open", &kQwen2},
    {"qwen35", &kQwen35},
    {"gemma4", &kGemma4},
    {"smollm", &kSmollm},
    {"starcoder", &kSmollm},
    {"refact", &kSmollm},
    {"command-r", &kSmollm},
    {"codeshell", &kSmollm},
    {"exaone", &kSmollm},
    {"mellum2", &kSmollm},
    {"minerva-7b", &kSmollm},
};

ClassifiedChar char_at(std::string_view text, size_t at) { return classify(text.substr(at)); }

// True if not \s, \p{L}, \p{N} or the end.
bool is_sign(CharClass kind) {
  return kind == CharClass::other || kind == CharClass::punctuation || kind == CharClass::mark;
}

// The end of the run of characters from `at` on for which belongs(ClassifiedChar) is true.
template <typename Belongs>
size_t run_end(std::string_view text, size_t at, Belongs belongs) {
  for (;;) {
    const ClassifiedChar c = char_at(text, at);
    if (c.kind == CharClass::end || !belongs(c)) return at;
    at += c.length;
  }
}

size_t class_run_end(std::string_view text, size_t at, CharClass kind) {
  return run_end(text, at, [&](const ClassifiedChar& c) { return c.kind == kind; });
}

size_t sign_run_end(std::string_view text, size_t at) {
  return run_end(text, at, [](const ClassifiedChar& c) { return is_sign(c.kind); });
}

// The length of 's 't 'm 'd 're 've 'll at the start of the text (also in capitals with
// `any_case`), or 0.
size_t contraction(std::string_view text, bool any_case) {
  if (text.empty() || text[0] != '\'') return 0;
  const auto letter = [&](size_t i) {
    if (i >= text.size()) return '\0';
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return letter(2) == 'e' ? 3 : 0;
    case 'l':
      return letter(2) == 'l' ? 3 : 0;
    default:
      return 0;
  }
}

// \s+(?!\S)|\s+ : white space up to the end of the text. If more text follows: white space without
// its last character, which belongs to the next word, or a single one. `text` starts with white
// space.
size_t space_word(std::string_view text) {
  size_t last = 0;
  size_t end = 0;
  for (;;) {
    const ClassifiedChar c = char_at(text, end);
    if (c.kind != CharClass::space) return c.kind == CharClass::end || last == 0 ? end : last;
    last = end;
    end += c.length;
  }
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// The length of the first word of a text that is not empty.
size_t gpt2_word(std::string_view text) {
  if (const size_t length = contraction(text, false)) return length;
  const size_t start = text[0] == ' ' ? 1 : 0;
  const CharClass kind = char_at(text, start).kind;
  if (kind == CharClass::letter || kind == CharClass::number) {
    return class_run_end(text, start, kind);
  }
  if (is_sign(kind)) return sign_run_end(text, start);
  return space_word(text);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max_digits}
// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// With `marks`, characters of \p{M} count as those of \p{L}.
size_t llama3_word(std::string_view text, int max_digits, bool marks) {
  if (const size_t length = contraction(text, true)) return length;
  const ClassifiedChar first = char_at(text, 0);
  const auto is_newline = [](const ClassifiedChar& c) {
    return c.code_point == '\r' || c.code_point == '\n';
  };
  const auto is_letter = [marks](const ClassifiedChar& c) {
    return c.kind == CharClass::letter || (marks && c.kind == CharClass::mark);
  };

  if (first.kind == CharClass::number) {
    size_t end = 0;
    for (int digits = 0; digits < max_digits; ++digits) {
      const ClassifiedChar c = char_at(text, end);
      if (c.kind != CharClass::number) break;
      end += c.length;
    }
    return end;
  }
  if (is_letter(first) || (!is_newline(first) && is_letter(char_at(text, first.length)))) {
    return run_end(text, first.length, is_letter);
  }
  const size_t start = text[0] == ' ' ? 1 : 0;
  const auto belongs = [&](const ClassifiedChar& c) { return is_sign(c.kind) && !is_letter(c); };
  if (belongs(char_at(text, start))) {
    return run_end(text, run_end(text, start, belongs), is_newline);
  }
  size_t after_newline = 0;
  run_end(text, 0, [&, end = size_t{0}](const ClassifiedChar& c) mutable {
    end += c.length;
    if (is_newline(c)) after_newline = end;
    return c.kind == CharClass::space;
  });
  return after_newline > 0 ? after_newline : space_word(text);
}

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return *alias.what;
  }
  return std::nullopt;
}

PreTokenizer default_pre_tokenizer() { return kDefault; }

std::string_view WordSplitter::next() {
  if (at_ >= text_.size()) return {};
  const std::string_view rest = text_.substr(at_);
  size_t length = 0;
  switch (splitter_) {
    case Splitter::gpt2:
      length = gpt2_word(rest);
      break;
    case Splitter::llama3:
      length = llama3_word(rest, 3, false);
      break;
    case Splitter::qwen2:
      length = llama3_word(rest, 1, false);
      break;
    case Splitter::qwen35:
      length = llama3_word(rest, 1, true);
      break;
    case Splitter::lines:
      length =
          std::min(rest[0] == '\n' ? rest.find_first_not_of('\n') : rest.find('\n'), rest.size());
      break;
    case Splitter::smollm:
      length = next_smollm();
      break;
    case Splitter::fallback:
      length = next_fallback();
      break;
  }
  at_ += length;
  return rest.substr(0, length);
}

// First \p{N} (each number character is a word), then gpt-2's pattern on the text between.
size_t WordSplitter::next_smollm() {
  const ClassifiedChar first = char_at(text_, at_);
  if (first.kind == CharClass::number) return first.length;
  if (at_ >= segment_end_) {
    segment_end_ =
        run_end(text_, at_, [](const ClassifiedChar& c) { return c.kind != CharClass::number; });
  }
  return gpt2_word(text_.substr(at_, segment_end_ - at_));
}

// [\p{P}\$\+<=>\^~\|]+, then gpt-2's pattern, then \p{N}+, then [0-9][0-9][0-9]. Each divides the
// pieces that the one before it left.
size_t WordSplitter::next_fallback() {
  const auto belongs = [](const ClassifiedChar& c) {
    return c.kind == CharClass::punctuation ||
           (c.code_point < 128 && c.kind == CharClass::other &&
            std::string_view("$+<=>^~|").find(static_cast<char>(c.code_point)) !=
                std::string_view::npos);
  };
  if (at_ >= segment_end_) {
    const bool signs = belongs(char_at(text_, at_));
    segment_end_ =
        run_end(text_, at_, [&](const ClassifiedChar& c) { return belongs(c) == signs; });
  }
  if (at_ >= word_end_) word_end_ = at_ + gpt2_word(text_.substr(at_, segment_end_ - at_));
  const std::string_view word = text_.substr(0, word_end_);
  if (char_at(word, at_).kind != CharClass::number) {
    return run_end(word, at_, [](const ClassifiedChar& c) { return c.kind != CharClass::number; }) -
           at_;
  }
  if (at_ >= digits_end_) digits_end_ = class_run_end(word, at_, CharClass::number);
  const auto triple_at = [&](size_t at) {
    for (size_t i = at; i < at + 3; ++i) {
      if (i >= digits_end_ || word[i] < '0' || word[i] > '9') return false;
    }
    return true;
  };
  if (triple_at(at_)) return 3;
  size_t end = at_;
  while (end < digits_end_ && !triple_at(end)) ++end;
  return end - at_;
}

}  // namespace sluice
