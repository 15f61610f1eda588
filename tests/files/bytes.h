// Bytes in memory in place of files.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/format.h"
#include "files/files.h"

namespace sluice {

class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Status read(uint64_t at, std::span<uint8_t> out) override {
    if (at > bytes_.size() || out.size() > bytes_.size() - at)
      return fail(Code::bad_file, "the file has ", bytes_.size(), " bytes");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + at, out.size());
    return {};
  }

 private:
  std::string bytes_;
};

class StringSink final : public ByteSink {
 public:
  std::string bytes;
  Status append(std::span<const uint8_t> more) override {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
    return {};
  }
};

}  // namespace sluice
