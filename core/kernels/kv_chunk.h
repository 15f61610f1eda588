#pragma once  // face

namespace sluice {

inline constexpr int kKvChunk = 256;  // positions of a chunk of the KV cache

}  // namespace sluice
