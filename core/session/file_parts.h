// What writing and reading a session's file share (session/session_file.h describes the file).
#pragma once  // inside

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/token.h"
#include "pass/model.h"
#include "session/session_file.h"
#include "state/timeline_rows.h"

namespace sluice {

inline constexpr size_t kMagicBytes = 8;
inline constexpr size_t kHashBytes = 8;
inline constexpr size_t kTokensAtOnce = 1024;
inline constexpr std::string_view kNotIdentified =
    "the model isn't identified yet: its weights must have arrived";
static_assert(kPiecePositions == kRowPositions);

// The parts of a file, in their order. `first`: magic, version and the header's size.
enum class FilePart { first, header, tokens, kept, state, end, done };

uint32_t number_of(KvType type);  // in the header
// Bytes of the part `kept` of so many numbers (kept_of).
constexpr size_t kept_bytes(size_t numbers) { return kPromptEndBytes + numbers; }
// The bytes of a file with these rows and tokens and so many of the part `kept`; nothing if that
// doesn't fit 64 bits.
std::optional<uint64_t> file_bytes_of(const TimelineRows& rows, uint64_t tokens, size_t kept);
// Of all that decides how positions are rotated in a context of so many tokens, besides the
// weights.
uint64_t rope_hash(const Model& model, int64_t context);
// Of the tokens before a piece.
uint64_t tokens_hash(std::span<const TokenId> tokens);

}  // namespace sluice
