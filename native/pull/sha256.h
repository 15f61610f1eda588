// SHA-256 by OpenSSL.
#pragma once  // inside

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace sluice::pull {

class Sha256 {
 public:
  Sha256();
  void add(std::span<const uint8_t> bytes);
  // The hash of all that was added, as 64 hexadecimal digits. Call it once, at the end.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256_of(std::string_view text);

}  // namespace sluice::pull
