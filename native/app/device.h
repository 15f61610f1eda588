// The rates of this device, from earlier downloads and runs: the file device.json of the cache.
#pragma once

#include <cstdint>
#include <string>

#include "engine.h"

namespace sluice::cli {

// Bytes a second; 0: unknown.
struct DeviceRates {
  double download = 0;  // of the last download
  double decode = 0;    // of weights, in the last text of a model larger than caches
};

DeviceRates read_device(const std::string& directory);
// Both store a rate if enough was measured. Errors of writing are ignored.
void learn_download(const std::string& directory, uint64_t bytes, double seconds);
void learn_decode(const std::string& directory, const Stats& stats);

}  // namespace sluice::cli
