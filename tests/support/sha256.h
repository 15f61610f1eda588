// SHA-256 (FIPS 180-4), for comparing with hashes that other programs gave.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

// In hexadecimal digits.
std::string sha256_hex(std::span<const uint8_t> bytes);

}  // namespace sluice
