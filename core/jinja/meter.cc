#include "jinja/meter.h"

#include <cstring>

namespace sluice::jinja {
namespace {

constexpr uint64_t kEachPlace = 4;  // what a place costs besides the bytes that are compared

// How many bytes of `part` the text has at this place.
size_t matching(const char* text, std::string_view part) {
  size_t n = 0;
  while (n < part.size() && text[n] == part[n]) ++n;
  return n;
}

}  // namespace

size_t find_part(Meter& meter, std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || part.size() > text.size() - from) return std::string_view::npos;
  if (part.empty()) return from;
  size_t at = from;
  const size_t end = text.size() - part.size() + 1;
  while (at < end && !meter.spent()) {
    const void* const hit = std::memchr(text.data() + at, part[0], end - at);
    const size_t place =
        hit == nullptr ? end : static_cast<size_t>(static_cast<const char*>(hit) - text.data());
    meter.work((place - at) / 16);
    at = place;
    if (at == end) break;
    const size_t n = matching(text.data() + at, part);
    meter.work((kEachPlace + n) / 4);
    if (n == part.size()) return at;
    ++at;
  }
  return std::string_view::npos;
}

size_t find_last_part(Meter& meter, std::string_view text, std::string_view part) {
  if (part.size() > text.size()) return std::string_view::npos;
  for (size_t at = text.size() - part.size() + 1; at-- > 0 && !meter.spent();) {
    const size_t n = matching(text.data() + at, part);
    meter.work((kEachPlace + n) / 4);
    if (n == part.size()) return at;
  }
  return std::string_view::npos;
}

}  // namespace sluice::jinja
