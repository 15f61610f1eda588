#include "state/timeline.h"

#include <algorithm>

namespace sluice {

KvType kv_type_named(std::string_view name) {
  return name == "f32" ? KvType::f32 : name == "q8_0" ? KvType::q8_0 : KvType::f16;
}

int64_t Timeline::reach(int64_t n) const { return std::clamp<int64_t>(n, 0, positions()); }

void Timeline::cut(int64_t n) {
  const int64_t kept = reach(n);
  kv_.truncate(kept);
  tokens_.resize(static_cast<size_t>(kept));
}

Status Timeline::begin(std::span<const TokenId> tokens) {
  SLUICE_TRY(kv_.append(static_cast<int64_t>(tokens.size())));
  pass_.assign(tokens.begin(), tokens.end());
  return {};
}

void Timeline::commit() {
  tokens_.insert(tokens_.end(), pass_.begin(), pass_.end());
  pass_.clear();
}

void Timeline::abandon() {
  kv_.truncate(positions());
  pass_.clear();
}

Timeline Timeline::clone() const {
  Timeline copy({}, KvType::f16);
  copy.kv_ = kv_.clone();
  copy.kv_.truncate(positions());
  copy.tokens_ = tokens_;
  return copy;
}

}  // namespace sluice
