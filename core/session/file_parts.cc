#include "session/file_parts.h"

#include <bit>
#include <cstring>

#include "base/xxh64.h"

namespace sluice {

static_assert(std::endian::native == std::endian::little);

uint32_t number_of(KvType type) { return type == KvType::f32 ? 0 : type == KvType::f16 ? 1 : 2; }

std::optional<uint64_t> file_bytes_of(const TimelineRows& rows, uint64_t tokens, size_t kept) {
  const std::optional<uint64_t> state = rows.all_bytes();
  uint64_t all = kSessionHeaderBytes + 4 * tokens + kept + kHashBytes;
  if (!state || __builtin_add_overflow(all, *state, &all)) return std::nullopt;
  return all;
}

uint64_t rope_hash(const Model& model) {
  Xxh64 hash;
  const auto add = [&](uint64_t number) {
    uint8_t bytes[8];
    std::memcpy(bytes, &number, sizeof bytes);
    hash.update(bytes);
  };
  for (const RopeShape& rope : model.ropes()) {
    add(static_cast<uint64_t>(rope.dims));
    add(static_cast<uint64_t>(rope.pairs));
    add(std::bit_cast<uint64_t>(rope.freq_base));
    add(std::bit_cast<uint64_t>(rope.scale));
    add(rope.factors >= 0 ? 1 : 0);
  }
  for (const LayerShape& layer : model.layers()) add(static_cast<uint64_t>(layer.rope + 1));
  return hash.value();
}

uint64_t tokens_hash(std::span<const TokenId> tokens) {
  return xxh64({reinterpret_cast<const uint8_t*>(tokens.data()), 4 * tokens.size()});
}

}  // namespace sluice
