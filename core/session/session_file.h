// A session as a file: its tokens, the state of every layer, and where its random numbers are. It
// is the same whatever kernels, threads, batches or budgets the session was computed with. All
// numbers are little-endian.
//
//   header    "SLUICESN"
//             u32 version                3
//             u32 bytes of the header    88 in versions 1 to 3
//             u64 bytes of the file
//             u64 identity of the model  (weights/identity.h)
//             u64 XXH64 of what RoPE does: see rope_hash() in session/file_parts.cc. For a few
//                                        models it depends on the size of the context
//             u32 type of the KV cache   0 f32, 1 f16, 2 q8_0
//             u32 state                  1: that of every layer, as below
//             u32 tokens                 all that were read or written
//             u32 computed               of these, from the first on; the rest, at most one, is the
//                                        last token that was written
//             u32 has a seed             0 or 1
//             u32 answer                 where what the last run wrote begins, so many tokens; 0:
//                                        unknown. In version 1 this is 0
//             u64 seed                   of the last run
//             u64 draws                  of the seed's random numbers
//             u64 XXH64 of all before
//   tokens    i32 for each
//   kept      u32 ends of prompts        0 to 2: positions to which the past can be cut
//             u32 each of them, 0 for one that there isn't
//             for each 256 computed positions:
//               u8 for each window that layers have (ascending): 1 if the file has their state in
//                                        those layers, 0 if not
//               u8[32] if there are recurrent layers, whose state is one for all of the past: bit i
//                                        of byte j is 1 if the file has it as it was behind the
//                                        position 8 * j + i of the 256
//                                        Versions 1 and 2 have no such part: they have all keys and
//                                        values, and no recurrent state
//   state     for each 256 computed positions (of the last ones, those that there are):
//               for each layer with a cache of its own that kept them, for each of its KV heads:
//             the keys of each position, then the values of each position. A key or value has its
//             numbers in their order: f32, f16, or int8 and behind them an f32 scale for each 32.
//               for each recurrent state that is there (ascending), for each recurrent layer: its
//             f32 numbers. So the state behind position p is with the 256 that have p.
//   end       u64 XXH64 of all before
//
// In every version the first 16 bytes and the hash at the header's end are as here.
//
// A store that keeps a session while it grows keeps it in pieces of 256 positions, so that it
// writes a whole one only once. A piece is a file of the same form, with the tokens and the state
// of its positions, and with this header:
//
//   header    "SLUICEPC"
//             u32 version               2
//             bytes, tokens, computed   of the piece: at most 256 are computed. Only the last piece
//                                       has fewer, and may have the token behind them
//             u32 0                     in place of "has a seed"
//             u32 first                 position, a multiple of 256; in place of the answer
//             u64 XXH64 of the tokens before the piece (i32 each), in place of the seed
//             u64 0                     in place of the draws
//
// State that a piece doesn't have is zeros in it, so that all whole pieces of a session are as long
// as each other. Of recurrent states a piece has the last one, or zeros for one. Pieces of version
// 1 have no part `kept`.
//
// A piece is only taken behind the tokens that it names, for its state depends on them. So of
// pieces of which some are damaged, lost or of another text, those before them make a session.
//
// The hashes find damage, but they don't make a file honest: each size, count, id and number is
// checked besides, and memory is taken as bytes come.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr char kSessionMagic[] = "SLUICESN";
inline constexpr char kPieceMagic[] = "SLUICEPC";
inline constexpr uint32_t kPiecePositions = 256;
inline constexpr uint32_t kSessionVersion = 3;
inline constexpr uint32_t kPieceVersion = 2;
inline constexpr uint32_t kSessionHeaderBytes = 88;
inline constexpr uint32_t kSessionStateKv = 1;
// The first versions with a part `kept`.
inline constexpr uint32_t kSessionWithKept = 3, kPieceWithKept = 2;
inline constexpr size_t kMostPromptEnds = 2;
inline constexpr size_t kPromptEndBytes = 4 + 4 * kMostPromptEnds;

// The header in all versions, without magic and hash.
struct SessionHeader {
  uint32_t version = kSessionVersion;
  uint32_t header_bytes = kSessionHeaderBytes;
  uint64_t file_bytes = 0;
  uint64_t identity = 0;
  uint64_t rope = 0;
  uint32_t kv_type = 0;
  uint32_t state = kSessionStateKv;
  uint32_t tokens = 0;
  uint32_t computed = 0;
  uint32_t has_seed = 0;
  uint32_t first = 0;  // of a piece; of a session, where the answer begins
  uint64_t seed = 0;   // of a piece: the hash of the tokens before
  uint64_t draws = 0;
};
static_assert(8 + sizeof(SessionHeader) + 8 == kSessionHeaderBytes);

}  // namespace sluice
