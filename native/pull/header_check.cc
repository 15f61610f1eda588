#include "pull/header_check.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "gguf/check.h"
#include "pull/http.h"

namespace sluice::pull {
namespace {

constexpr std::string_view kModelMagic = "GGUF";
constexpr size_t kBeginning = 24;  // bytes that tell what a file is

}  // namespace

Status FirstBytes::take(uint64_t at, std::span<const uint8_t> bytes) {
  if (at >= kBeginning) return {};
  bytes_.resize(static_cast<size_t>(at));
  const size_t n = std::min(bytes.size(), kBeginning - bytes_.size());
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), n);
  return bytes_.size() < kModelMagic.size() ? Status() : end();
}

Status FirstBytes::end() const {
  if (bytes_.starts_with(kModelMagic)) return {};
  Error error = not_gguf(bytes_).error();
  error.message = concat(printable(url_.substr(0, url_.find('?')), 300), ": ", error.message,
                         "; nothing of it is kept");
  error.facts = facts_of(url_, {});
  return std::unexpected(std::move(error));
}

Status HeaderCheck::refuse(Error error) {
  done_ = refused_ = true;
  const std::string url = printable(url_.substr(0, url_.find('?')), 300);
  error.message = concat(url, ": ", error.message);
  if (error.code == Code::bad_file) error.facts.push_back({"url", url});
  return std::unexpected(std::move(error));
}

Status HeaderCheck::check_size(uint64_t total) {
  if (total == 0 || promised_ <= total) return {};
  return refuse(
      {Code::bad_file,
       concat("the server has ", counted(total, "byte"), " of a file whose header promises ",
              promised_, ": it is incomplete there; use another address, or upload it again")});
}

Status HeaderCheck::take(uint64_t at, std::span<const uint8_t> bytes, uint64_t total) {
  if (done_ || at > position_ || position_ - at >= bytes.size()) return {};
  const auto fresh = bytes.subspan(static_cast<size_t>(position_ - at));
  const auto taken = parser_.push(fresh);
  if (!taken) return refuse(taken.error());
  position_ += *taken;
  if (!parser_.done()) return {};
  done_ = true;
  const Gguf header = parser_.take();
  promised_ = header.file_bytes();
  SLUICE_TRY(check_size(total));
  if (accept_) {
    Status fine = accept_(header);
    refused_ = !fine;
    return fine;
  }
  return {};
}

Status HeaderCheck::end(uint64_t total) {
  if (done_) return check_size(total);
  if (Status whole = parser_.finish(); !whole) return refuse(std::move(whole).error());
  return {};
}

}  // namespace sluice::pull
