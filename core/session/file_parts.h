// What writing and reading a session's file share (session/session_file.h describes the file).
#pragma once  // inside

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/token.h"
#include "pass/model.h"
#include "session/session_file.h"
#include "state/kv_cache.h"

namespace sluice {

inline constexpr size_t kMagicBytes = 8;
inline constexpr size_t kHashBytes = 8;
inline constexpr size_t kTokensAtOnce = 1024;
inline constexpr std::string_view kNotIdentified =
    "the model isn't identified yet: its weights must have arrived";
static_assert(kPiecePositions == kKvChunk);

// The parts of a file, in their order. `first`: magic, version and the header's size.
enum class FilePart { first, header, tokens, state, end, done };

// Goes through the rows of a session's state, in their order in the file.
class StateRows {
 public:
  // Of the positions from `begin`, where a chunk begins, to `end`.
  StateRows(const Model& model, const KvCache& cache, int64_t begin, int64_t end);

  bool done() const { return begin_ == end_ || first_ >= end_; }
  int64_t end() const { return end_; }
  size_t bytes() const { return cache_.row_bytes(layer_); }  // of the row that is next
  int64_t layer() const { return layer_; }
  int64_t head() const { return head_; }
  int64_t position() const { return first_ + row_; }
  KvCache::Half half() const { return half_; }
  void next();
  std::optional<uint64_t> all_bytes() const;  // of all rows; nothing if that doesn't fit 64 bits

 private:
  bool own(int64_t layer) const { return model_.layer(layer).cache == layer; }
  void skip_layers();

  const Model& model_;
  const KvCache& cache_;
  int64_t begin_, end_;
  int64_t first_;  // position of the chunk
  int64_t layer_ = 0;
  int64_t head_ = 0;
  KvCache::Half half_ = KvCache::Half::keys;
  int64_t row_ = 0;  // in the chunk
};

uint32_t number_of(KvType type);  // in the header
// The bytes of a file with these rows and tokens; nothing if that doesn't fit 64 bits.
std::optional<uint64_t> file_bytes_of(const StateRows& rows, uint64_t tokens);
// Of all that decides how positions are rotated in a context of so many tokens, besides the
// weights.
uint64_t rope_hash(const Model& model, int64_t context);
// Of the tokens before a piece.
uint64_t tokens_hash(std::span<const TokenId> tokens);

}  // namespace sluice
