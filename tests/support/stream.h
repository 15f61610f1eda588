// A source of weights for tests: brings a file's bytes in order, in pieces of any size.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "gguf/gguf.h"
#include "weights/want.h"

namespace sluice {

class Stream {
 public:
  explicit Stream(Engine& engine) : engine_(engine) {}

  // Brings the file's next bytes. Fails as Engine::filled does.
  Status push(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const bool header = !engine_.has_tokenizer();
      if (header || places_.empty()) {
        places_ = engine_.wants(UINT64_MAX);
        std::ranges::sort(places_, {}, &Want::offset);
        next_ = 0;
      }
      const size_t n = header ? std::min(bytes.size(), places_[0].place.size()) : bytes.size();
      while (next_ < places_.size() && end_of(places_[next_]) <= at_) ++next_;
      for (size_t i = next_; i < places_.size() && places_[i].offset < at_ + n; ++i) {
        const Want& want = places_[i];
        const uint64_t begin = std::max(want.offset, at_);
        const uint64_t end = std::min<uint64_t>(end_of(want), at_ + n);
        std::memcpy(want.place.data() + (begin - want.offset), bytes.data() + (begin - at_),
                    static_cast<size_t>(end - begin));
      }
      SLUICE_TRY(engine_.filled(at_, n));
      if (header && engine_.has_layout()) SLUICE_TRY(engine_.build_tokenizer());
      if (header) places_.clear();
      at_ += n;
      bytes = bytes.subspan(n);
    }
    return {};
  }
  Status end() { return engine_.end_of_file(at_); }
  uint64_t at() const { return at_; }

 private:
  static uint64_t end_of(const Want& want) { return want.offset + want.place.size(); }

  Engine& engine_;
  std::vector<Want> places_;  // in the file's order
  size_t next_ = 0;           // the first place that may have room
  uint64_t at_ = 0;
};

}  // namespace sluice
