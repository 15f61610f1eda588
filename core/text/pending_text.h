// PendingText: finds the text of a generation that is certain, without half characters and stop
// texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sluice {

// Holds back the texts of tokens while a character is incomplete or the end may be the beginning of
// a stop text. A stop text ends the whole text before it.
class PendingText {
 public:
  // `tokenizer` must outlive this. `at_start_of_text`: as for TextStream.
  void start(const Tokenizer* tokenizer, bool at_start_of_text, std::vector<std::string> stop);
  // Takes a token. Appends to `certain` one text for each token whose text is certain now, in
  // order. True: a stop text was found. The text before it is appended, and the tokens after it are
  // dropped.
  bool push(TokenId id, std::vector<std::string>& certain);
  // Ends the text: appends the rest. True as in push().
  bool flush(std::vector<std::string>& certain);

 private:
  bool release(bool all, std::vector<std::string>& certain);

  std::optional<TextStream> stream_;
  std::vector<std::string> stop_;
  std::vector<std::string> pieces_;  // by token: text that isn't certain yet
};

}  // namespace sluice
