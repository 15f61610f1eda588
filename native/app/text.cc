#include "app/text.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/format.h"
#include "text/tokenizer.h"

namespace sluice::cli {
std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char* text = nullptr;
  const int size = vasprintf(&text, pattern, arguments);
  va_end(arguments);
  if (size < 0) return {};
  std::string out(text, static_cast<size_t>(size));
  std::free(text);
  return out;
}

namespace {

constexpr size_t kMaxQuoted = 80;

}  // namespace

std::string text_in_quotes(std::string_view text) {
  using nlohmann::json;
  std::string_view shown = text.substr(0, kMaxQuoted);
  if (shown.size() < text.size()) {
    while (!shown.empty() && (text[shown.size()] & 0xc0) == 0x80) shown.remove_suffix(1);
  }
  std::string out;
  try {
    out = safe_json(json(shown).dump());
    // No-break spaces look like spaces.
    for (size_t at = 0; (at = out.find("\u00a0", at)) != std::string::npos;)
      out.replace(at, 2, "\\u00a0");
  } catch (const json::exception&) {  // not UTF-8
    out = "\"";
    for (const char c : shown) {
      const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
      out += plain ? std::string(1, c) : format("\\x%02x", static_cast<unsigned char>(c));
    }
    out += "\"";
  }
  return shown.size() < text.size() ? out + "..." : out;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "%+,-./:=@_";
  const auto is_plain = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0 ||
           kPlain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string readable(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view piece = tokenizer.piece(id);
  return piece.empty() ? printable(tokenizer.raw_token(id)) : text_in_quotes(piece);
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines = {""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace sluice::cli
