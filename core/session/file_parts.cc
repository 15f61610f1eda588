#include "session/file_parts.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/xxh64.h"

namespace sluice {

static_assert(std::endian::native == std::endian::little);

StateRows::StateRows(const Model& model, const KvCache& cache, int64_t begin, int64_t end)
    : model_(model), cache_(cache), begin_(begin), end_(end), first_(begin) {
  skip_layers();
}

void StateRows::next() {
  if (++row_ < std::min<int64_t>(kKvChunk, end_ - first_)) return;
  row_ = 0;
  if (half_ == KvCache::Half::keys) {
    half_ = KvCache::Half::values;
    return;
  }
  half_ = KvCache::Half::keys;
  if (++head_ < model_.layer(layer_).n_kv_heads) return;
  head_ = 0;
  ++layer_;
  skip_layers();
}

std::optional<uint64_t> StateRows::all_bytes() const {
  uint64_t position = 0;
  for (int64_t l = 0; l < model_.config().n_layers; ++l) {
    if (!own(l)) continue;
    uint64_t layer = 0;
    if (__builtin_mul_overflow(2 * static_cast<uint64_t>(model_.layer(l).n_kv_heads),
                               cache_.row_bytes(l), &layer) ||
        __builtin_add_overflow(position, layer, &position))
      return std::nullopt;
  }
  uint64_t all = 0;
  if (__builtin_mul_overflow(position, static_cast<uint64_t>(end_ - begin_), &all))
    return std::nullopt;
  return all;
}

void StateRows::skip_layers() {
  const int64_t n = model_.config().n_layers;
  while (layer_ < n && !own(layer_)) ++layer_;
  if (layer_ < n) return;
  layer_ = 0;
  first_ += kKvChunk;
  while (layer_ < n - 1 && !own(layer_)) ++layer_;
}

uint32_t number_of(KvType type) { return type == KvType::f32 ? 0 : type == KvType::f16 ? 1 : 2; }

std::optional<uint64_t> file_bytes_of(const StateRows& rows, uint64_t tokens) {
  const std::optional<uint64_t> state = rows.all_bytes();
  uint64_t all = kSessionHeaderBytes + 4 * tokens + kHashBytes;
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
