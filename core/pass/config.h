// The numbers that every family has in its header.
#pragma once

#include <cstdint>
#include <string>

#include "base/makes.h"

namespace sluice {

struct Config {
  std::string architecture;  // general.architecture, also the prefix of its keys
  std::string name;          // general.name, may be empty
  int64_t n_layers = 0;
  // Blocks of the file: the layers, then those that only draft tokens, which aren't computed.
  int64_t n_blocks = 0;
  int64_t n_embd = 0;  // width of the residual stream
  int64_t n_vocab = 0;
  int64_t context_length = 0;       // that the model was trained for
  Pooling pooling = Pooling::none;  // that the file names
};

}  // namespace sluice
