// The text of a generation that is certain: no half characters, nothing of a stop text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sluice {

// Holds back the texts of tokens until it is sure that no character is half and no stop text
// begins. A stop text ends the whole text before it.
class PendingText {
 public:
  // `tokenizer` must stay where it is. `fresh`: nothing or a special token stands before the text
  // (an SPM space is then no part of it).
  void start(const Tokenizer* tokenizer, bool fresh, std::vector<std::string> stop);
  // Takes a token. Appends to `certain` the texts of the tokens that are certain now, one for each
  // in their order. True: a stop text has come; the tokens before it have been appended, the last
  // one cut, and the others are dropped.
  bool push(TokenId id, std::vector<std::string>& certain);
  // The text ends here: appends what is left (the same meaning of true).
  bool flush(std::vector<std::string>& certain);

 private:
  bool release(bool all, std::vector<std::string>& certain);

  std::optional<TextStream> stream_;
  std::vector<std::string> stop_;
  std::vector<std::string> pieces_;  // what tokens added that is not certain yet
};

}  // namespace sluice
