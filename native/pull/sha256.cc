#include "pull/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace sluice::pull {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

void Sha256::add(std::span<const uint8_t> bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<uint8_t, 32> digest{};
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  std::string out;
  for (const uint8_t byte : digest) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

std::string sha256_of(std::string_view text) {
  Sha256 sum;
  sum.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return sum.hex();
}

}  // namespace sluice::pull
