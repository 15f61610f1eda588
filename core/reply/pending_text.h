// PendingText: holds generated text back until it is certain that it is no half character and no
// part of a stop text, and tells reasoning from content.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reply/reasoning_split.h"
#include "text/tokenizer.h"

namespace sluice {

// Holds back the texts of tokens while a character is incomplete, or the end may be the beginning
// of a stop text or of a mark around reasoning. The text ends where a stop text begins. Stop texts
// aren't looked for in reasoning.
class PendingText {
 public:
  // `tokenizer` must outlive this. `at_start_of_text`: as for TextStream. `format`: of a reply.
  void start(const Tokenizer* tokenizer, bool at_start_of_text, std::vector<std::string> stop,
             const ReplyFormat& format = {});
  // Takes a token. Appends to `certain` one text for each token whose text is certain now, in
  // order. True: a stop text was found. The text before it is appended, and the tokens after it are
  // dropped.
  bool push(TokenId id, std::vector<ReplyText>& certain);
  // Ends the text: appends the rest. True as in push().
  bool flush(std::vector<ReplyText>& certain);
  // The text so far ends inside of reasoning.
  bool thinking() const { return split_ && split_->thinking(); }

 private:
  bool find_stop_and_release(bool all, std::vector<ReplyText>& certain);

  const Tokenizer* tokenizer_ = nullptr;
  std::optional<TextStream> stream_;
  std::optional<ReasoningSplit> split_;
  std::vector<std::string> stop_;
  std::vector<ReplyText> pieces_;  // by token: text that isn't certain yet
};

}  // namespace sluice
