#include "reply/pending_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace sluice {

void PendingText::start(const Tokenizer* tokenizer, bool at_start_of_text,
                        std::vector<std::string> stop, const ReplyFormat& format) {
  tokenizer_ = tokenizer;
  stream_.emplace(*tokenizer, at_start_of_text);
  split_.reset();
  if (format.has_reasoning()) split_.emplace(format);
  stop_ = std::move(stop);
  pieces_.clear();
}

bool PendingText::push(TokenId id, std::vector<ReplyText>& certain) {
  std::string text = stream_->push(id);
  if (!split_) {
    pieces_.push_back({std::move(text)});
  } else {
    const bool control = tokenizer_->is_special(id) && tokenizer_->piece(id).empty();
    split_->push(std::move(text), control ? tokenizer_->raw_token(id) : "", pieces_);
  }
  return find_stop_and_release(false, certain);
}

bool PendingText::flush(std::vector<ReplyText>& certain) {
  if (split_) split_->flush(pieces_);
  if (!pieces_.empty()) pieces_.back().text += stream_->flush();
  return find_stop_and_release(true, certain);
}

bool PendingText::find_stop_and_release(bool all, std::vector<ReplyText>& certain) {
  std::string text;
  for (const ReplyText& piece : pieces_)
    if (!piece.reasoning) text += piece.text;
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
  for (ReplyText& piece : pieces_) {
    if (end == 0) break;
    if (!piece.reasoning) {
      if (piece.text.size() > end) piece.text.resize(end);
      end -= piece.text.size();
    }
    certain.push_back(std::move(piece));
  }
  pieces_.clear();
  return true;
}

}  // namespace sluice
