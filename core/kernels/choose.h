#pragma once  // face

#include <string_view>

#include "base/result.h"

namespace sluice {

// Fails with invalid_argument if the kernels called `name`, or with "" those that the environment
// variable SLUICE_KERNELS names, don't run here.
Status check_kernels(std::string_view name = {});

}  // namespace sluice
