#include "text/pending_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace sluice {

void PendingText::start(const Tokenizer* tokenizer, bool at_start_of_text,
                        std::vector<std::string> stop) {
  stream_.emplace(*tokenizer, at_start_of_text);
  stop_ = std::move(stop);
  pieces_.clear();
}

bool PendingText::push(TokenId id, std::vector<std::string>& certain) {
  pieces_.push_back(stream_->push(id));
  return release(false, certain);
}

bool PendingText::flush(std::vector<std::string>& certain) {
  if (!pieces_.empty()) pieces_.back() += stream_->flush();
  return release(true, certain);
}

bool PendingText::release(bool all, std::vector<std::string>& certain) {
  std::string text;
  for (const std::string& piece : pieces_) text += piece;
  size_t end = std::string::npos;  // of the text that may be shown
  bool uncertain = stream_->incomplete();
  for (const std::string& stop : stop_) {
    end = std::min(end, text.find(stop));
    for (size_t n = std::min(stop.size() - 1, text.size()); n > 0 && !uncertain; --n) {
      uncertain = text.ends_with(std::string_view(stop).substr(0, n));
    }
  }
  if (end == std::string::npos) {
    if (uncertain && !all) return false;
    std::move(pieces_.begin(), pieces_.end(), std::back_inserter(certain));
    pieces_.clear();
    return false;
  }
  for (std::string& piece : pieces_) {
    if (end == 0) break;
    if (piece.size() > end) piece.resize(end);
    end -= piece.size();
    certain.push_back(std::move(piece));
  }
  pieces_.clear();
  return true;
}

}  // namespace sluice
