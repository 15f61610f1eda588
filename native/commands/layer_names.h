// Names of tensors without their layers, for tables with a row for all layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

// Takes the N of "blk.N.rest" off a name, which is "rest" then. Nothing: it belongs to no layer.
std::optional<uint64_t> take_layer(std::string& name);
// "      in layers 0 to 3, 6" in lines of 80 columns. `layers` ascend.
std::string layers_text(const std::vector<uint64_t>& layers);

}  // namespace sluice::cli
