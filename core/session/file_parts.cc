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

uint64_t rope_hash(const Model& model, int64_t context) {
  Xxh64 hash;
  const auto add = [&](uint64_t number) {
    uint8_t bytes[8];
    std::memcpy(bytes, &number, sizeof bytes);
    hash.update(bytes);
  };
  for (const RopeShape& rope : model.ropes()) {
    const RopeNumbers& numbers = rope.numbers;
    add(static_cast<uint64_t>(numbers.dims));
    add(static_cast<uint64_t>(rope.pairs));
    add(std::bit_cast<uint64_t>(numbers.freq_base));
    add(std::bit_cast<uint64_t>(numbers.scale));
    add(rope.factors >= 0 ? 1 : 0);
    // What follows came later. It adds nothing to the hash of a model without it.
    if (numbers.magnitude != 1) add(std::bit_cast<uint64_t>(numbers.magnitude));
    if (numbers.yarn) {
      const Yarn& yarn = *numbers.yarn;
      for (const double number :
           {yarn.original_context, yarn.beta_fast, yarn.beta_slow, yarn.magnitude})
        add(std::bit_cast<uint64_t>(number));
    }
    if (rope.long_factors >= 0) add(rope.is_long(context) ? 3 : 2);
  }
  for (const LayerShape& layer : model.layers()) add(static_cast<uint64_t>(layer.rope + 1));
  return hash.value();
}

uint64_t tokens_hash(std::span<const TokenId> tokens) {
  return xxh64({reinterpret_cast<const uint8_t*>(tokens.data()), 4 * tokens.size()});
}

}  // namespace sluice
