// DRY, "don't repeat yourself" (p-e-w: oobabooga/text-generation-webui, pull request 5677): a token
// that would repeat what stands earlier in the text is made less likely, the more the longer the
// repetition is already. If the last n tokens of the text stand earlier in it, too, n being the
// most, then the token that follows them there loses
//   multiplier * base^(n - allowed_length)  if n >= allowed_length.
// Breakers are texts at which a repetition ends: only the tokens behind the last one in which a
// breaker ends count to n, and a token in which one would end loses nothing. They are found in the
// text, however that is divided into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct DryOptions {
  float multiplier = 0;  // 0: off
  float base = 1.75f;
  int32_t allowed_length = 2;
  int32_t last_n = -1;                     // tokens of the text that it looks at; -1: all
  std::vector<std::string> breakers = {};  // 1 to 255 bytes each
};

// The bytes that a token stands for.
using PieceOf = std::function<std::string_view(int32_t)>;

// Finds a text in a stream of bytes (Knuth, Morris, Pratt).
class Breaker {
 public:
  explicit Breaker(std::string text);
  // `matched`: so many of its bytes stand at the stream's end. True: the text ends with this byte.
  bool push(char byte, size_t& matched) const;

 private:
  std::string text_;
  std::vector<uint8_t> shorter_;  // of the first i + 1 bytes, the longest end that is a beginning
};

class Dry {
 public:
  Dry(DryOptions options, PieceOf piece);
  bool on() const { return options_.multiplier > 0 && options_.last_n != 0; }
  // What each token loses, ids ascending. `tokens` may only have grown since the last call. Takes
  // time in proportion to the tokens that it looks at.
  std::span<const std::pair<int32_t, float>> penalties(std::span<const int32_t> tokens);

 private:
  void read_breakers(std::span<const int32_t> tokens);
  bool would_break(int32_t id) const;
  void find_repeats(std::span<const int32_t> window);

  DryOptions options_;
  PieceOf piece_;
  std::vector<std::pair<Breaker, size_t>> breakers_;  // and what is matched
  size_t read_ = 0;                                   // tokens in which breakers were looked for
  size_t begin_ = 0;                                  // of the tokens behind the last breaker
  // Kept between calls, so that a token needs no allocation.
  std::vector<uint32_t> repeats_;  // see find_repeats()
  std::vector<uint32_t> longest_;  // repeat before a token, by its id; 0 between calls
  std::vector<int32_t> repeated_;  // ids that have one
  std::vector<std::pair<int32_t, float>> penalties_;
};

}  // namespace sluice
