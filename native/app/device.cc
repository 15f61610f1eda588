#include "app/device.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/private_file.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLeastDownload = 8 << 20;  // less shows little of a rate
constexpr double kLeastSeconds = 0.5;
constexpr int64_t kLeastTokens = 16;
constexpr uint64_t kLeastWeights = 64 << 20;  // less may be in a cache

std::string path_in(const std::string& directory) { return directory + "/device.json"; }

void write(const std::string& directory, const DeviceRates& rates) {
  const Json json = {{"downloadBytesPerSecond", rates.download},
                     {"decodeBytesPerSecond", rates.decode}};
  // Without the directory nothing was ever kept there.
  (void)write_private_file(path_in(directory), json.dump() + "\n");
}

}  // namespace

DeviceRates read_device(const std::string& directory) {
  const auto text = read_whole_file(path_in(directory), 4096);
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  const auto rate = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return 0.0;
    const double value = json[key].get<double>();
    return std::isfinite(value) && value > 0 ? value : 0;
  };
  return {rate("downloadBytesPerSecond"), rate("decodeBytesPerSecond")};
}

void learn_download(const std::string& directory, uint64_t bytes, double seconds) {
  if (bytes < kLeastDownload || seconds < kLeastSeconds) return;
  DeviceRates rates = read_device(directory);
  rates.download = static_cast<double>(bytes) / seconds;
  write(directory, rates);
}

void learn_decode(const std::string& directory, const Stats& stats) {
  if (stats.tokens < kLeastTokens || stats.bytes_per_token < kLeastWeights || !(stats.tps > 0) ||
      stats.reread_bytes > 0)
    return;
  DeviceRates rates = read_device(directory);
  rates.decode = stats.tps * static_cast<double>(stats.bytes_per_token);
  write(directory, rates);
}

}  // namespace sluice::cli
