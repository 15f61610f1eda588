#include "sample/penalties.h"

#include <algorithm>

namespace sluice {
namespace {

bool has_less(const std::pair<int32_t, uint32_t>& entry, int32_t id) { return entry.first < id; }

}  // namespace

void TokenCounts::move_to(std::span<const int32_t> tokens, size_t begin, size_t end) {
  if (begin >= end_) {
    recount(tokens.subspan(begin, end - begin));
  } else {
    for (const int32_t id : tokens.subspan(end_, end - end_)) {
      const auto place = std::lower_bound(counts_.begin(), counts_.end(), id, has_less);
      if (place != counts_.end() && place->first == id) {
        ++place->second;
      } else {
        counts_.insert(place, {id, 1});
      }
    }
    for (const int32_t id : tokens.subspan(begin_, begin - begin_)) {
      const auto place = std::lower_bound(counts_.begin(), counts_.end(), id, has_less);
      if (--place->second == 0) counts_.erase(place);
    }
  }
  begin_ = begin;
  end_ = end;
}

void TokenCounts::recount(std::span<const int32_t> window) {
  std::vector<int32_t> sorted(window.begin(), window.end());
  std::sort(sorted.begin(), sorted.end());
  counts_.clear();
  for (const int32_t id : sorted) {
    if (counts_.empty() || counts_.back().first != id) counts_.emplace_back(id, 0);
    ++counts_.back().second;
  }
}

}  // namespace sluice
