#include "pull/header_check.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "gguf/check.h"
#include "pull/http.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

constexpr std::string_view kModelMagic = "GGUF";
constexpr size_t kBeginning = 24;  // bytes that tell what a file is

// Why a file that a conversion reads can't begin with these bytes; "": it can.
std::string_view wrong_beginning(std::string_view url, std::string_view bytes) {
  const std::string text = lower(trimmed(bytes));
  if (text.starts_with("<!doctype") || text.starts_with("<html"))
    return "the server sent a web page";
  if (text.starts_with("version https://git")) {
    return "the server sent the pointer that Git LFS keeps in place of the file";
  }
  // The first character of a JSON text; many blanks may be before it.
  const auto begins = [](std::string_view json, std::string_view with) {
    json = trimmed(json);
    return json.empty() || with.find(json[0]) != std::string_view::npos;
  };
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  const std::string_view unmarked = bytes.substr(bytes.starts_with(kMark) ? kMark.size() : 0);
  if (url.ends_with(".json") && !begins(unmarked, "{["))
    return "the server sent something else than JSON";
  // The length of the header, then the header.
  if (url.ends_with(".safetensors") && (bytes.size() < 8 || !begins(bytes.substr(8), "{")))
    return "the server sent something else than safetensors";
  return "";
}

}  // namespace

Status FirstBytes::take(uint64_t at, std::span<const uint8_t> bytes) {
  if (at >= kBeginning) return {};
  bytes_.resize(static_cast<size_t>(at));
  const size_t n = std::min(bytes.size(), kBeginning - bytes_.size());
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), n);
  return bytes_.size() < (is_source_ ? kBeginning : kModelMagic.size()) ? Status() : end();
}

Status FirstBytes::end() const {
  const std::string url = url_.substr(0, url_.find('?'));
  const std::string_view wrong = is_source_ ? wrong_beginning(url, bytes_) : "";
  if (is_source_ ? wrong.empty() : bytes_.starts_with(kModelMagic)) return {};
  Error error = is_source_ ? Error{Code::bad_file, concat(wrong, "; try again later")}
                           : not_gguf(bytes_).error();
  error.message = concat(printable(url, 300), ": ", error.message, "; nothing of it is kept");
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
