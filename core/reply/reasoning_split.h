// ReasoningSplit: tells a reply's reasoning from its content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reply/format.h"

namespace sluice {

// The text of a token.
struct ReplyText {
  std::string text;
  bool reasoning = false;
};

// Labels the text of each token as soon as it is known to be reasoning or content. Marks have the
// text "" and count as reasoning. White space is dropped at the beginning and the end of reasoning,
// and between it and the content.
class ReasoningSplit {
 public:
  explicit ReasoningSplit(const ReplyFormat& format);
  // `text`: valid UTF-8, what the token adds. `name`: of a control token, else "".
  void push(std::string text, std::string_view name, std::vector<ReplyText>& out);
  // Ends the reply: an incomplete mark is none.
  void flush(std::vector<ReplyText>& out);
  // The last token that was pushed is inside of reasoning, as far as is known.
  bool thinking() const { return place_ == Place::reasoning; }

 private:
  enum class Place : uint8_t { start, reasoning, content };
  struct TokenText {
    std::string text;
    std::string name;
    std::string_view matched() const { return name.empty() ? text : name; }
  };

  void work(bool all, std::vector<ReplyText>& out);
  bool take_mark(const std::string& joined, std::vector<ReplyText>& out);
  size_t undecided_from(const std::string& joined) const;
  void give(std::string text, bool reasoning, std::vector<ReplyText>& out);

  ReplyFormat format_;
  Place place_;
  bool skips_space_;               // the next text's white space is dropped
  std::vector<TokenText> pieces_;  // by token: not decided yet
};

}  // namespace sluice
