#include "pull/journal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/parse_json.h"
#include "base/xxh64.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kJournalMagic = "SLUICEJ\n";
constexpr size_t kMetaOffset = 32;
constexpr size_t kMaxMeta = kHeaderBytes - kMetaOffset;
constexpr uint64_t kLeastBlock = 4096;
constexpr uint64_t kMostBlock = 64 << 20;
constexpr uint64_t kMaxTotal = uint64_t{1} << 53;
constexpr size_t kMaxNames = 16;

static_assert(std::endian::native == std::endian::little, "journals are little-endian");

template <typename T>
T number_at(std::span<const uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void put(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

uint64_t header_hash(const uint8_t* copy, size_t meta_bytes) {
  // Bytes 0 to 23, then the meta, without the hash between them.
  Xxh64 hash;
  hash.update({copy, 24});
  hash.update({copy + kMetaOffset, meta_bytes});
  return hash.value();
}

// Reads the fields of an object, each of which must have its type, and takes them out of it.
class Fields {
 public:
  explicit Fields(Json object) : object_(std::move(object)) {}
  bool good = true;

  void take(const char* key, std::string& to) {
    if (const Json* v = find(key, &Json::is_string)) to = v->get<std::string>();
    object_.erase(key);
  }
  void take(const char* key, bool& to) {
    if (const Json* v = find(key, &Json::is_boolean)) to = v->get<bool>();
    object_.erase(key);
  }
  void take_if_there(const char* key, bool& to) {
    if (object_.contains(key)) take(key, to);
  }
  // A whole number from `least` to `most`.
  template <typename T>
  void take(const char* key, T& to, uint64_t least, uint64_t most) {
    if (const Json* v = find(key, &Json::is_number)) {
      // The library may write 1e3 for 1000.
      const double number = v->get<double>();
      const bool whole = number >= 0 && number <= 0x1p53 &&
                         number == static_cast<double>(static_cast<uint64_t>(number));
      const uint64_t value = whole ? static_cast<uint64_t>(number) : 0;
      good = good && whole && value >= least && value <= most;
      to = static_cast<T>(value);
    }
    object_.erase(key);
  }
  void take(const char* key, std::vector<std::string>& to) {
    if (const Json* list = find(key, &Json::is_array)) {
      for (const Json& each : *list) {
        good = good && each.is_string();
        if (each.is_string()) to.push_back(each.get<std::string>());
      }
    }
    object_.erase(key);
  }
  std::string rest() const { return object_.empty() ? "" : object_.dump(); }

 private:
  const Json* find(const char* key, bool (Json::*is_type)() const noexcept) {
    const auto found = object_.find(key);
    if (found == object_.end() || !((*found).*is_type)()) {
      good = false;
      return nullptr;
    }
    return &*found;
  }
  Json object_;
};

std::optional<Meta> read_meta(Json json) {
  Meta meta;
  Fields fields(std::move(json));
  fields.take("address", meta.address);
  fields.take("names", meta.names);
  fields.take("blockBytes", meta.block_bytes, kLeastBlock, kMostBlock);
  fields.take("totalBytes", meta.total_bytes, 0, kMaxTotal);
  fields.take("etag", meta.etag);
  fields.take("lastModified", meta.last_modified);
  fields.take("commit", meta.commit);
  fields.take("sha256", meta.sha256);
  fields.take("verified", meta.verified);
  fields.take("created", meta.created, 0, kMaxTotal);
  fields.take("used", meta.used, 0, kMaxTotal);
  fields.take("pinned", meta.pinned);
  fields.take("set", meta.set);
  fields.take("part", meta.part, 0, kMaxParts);
  fields.take("parts", meta.parts, 1, kMaxParts);
  fields.take_if_there("source", meta.source);
  meta.other = fields.rest();
  const bool good = fields.good && std::has_single_bit(meta.block_bytes) &&
                    meta.n_blocks() <= kMaxBlocks && meta.part <= meta.parts;
  return good ? std::optional(std::move(meta)) : std::nullopt;
}

std::string write_meta(const Meta& meta) {
  Json json = meta.other.empty() ? Json::object() : Json::parse(meta.other, nullptr, false);
  if (!json.is_object()) json = Json::object();
  json["address"] = meta.address;
  json["names"] = meta.names;
  json["blockBytes"] = meta.block_bytes;
  json["totalBytes"] = meta.total_bytes;
  json["etag"] = meta.etag;
  json["lastModified"] = meta.last_modified;
  json["commit"] = meta.commit;
  json["sha256"] = meta.sha256;
  json["verified"] = meta.verified;
  json["created"] = meta.created;
  json["used"] = meta.used;
  json["pinned"] = meta.pinned;
  json["set"] = meta.set;
  json["part"] = meta.part;
  json["parts"] = meta.parts;
  if (meta.source) json["source"] = true;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Migrates the meta of an older version. A version that changes the meta adds a step:
// `if (version == 1) { change json; version = 2; }`. False: there has been no such version.
bool migrate(uint32_t version, Json&) { return version == kJournalVersion; }

}  // namespace

uint64_t block_bytes_for(uint64_t total) {
  if (total == 0) return 1 << 20;
  uint64_t bytes = 256 << 10;
  while (bytes < total / 64 + (total % 64 != 0 ? 1 : 0) && bytes < (4 << 20)) bytes *= 2;
  return bytes;
}

Result<std::string> encode_header(const Header& header) {
  Meta meta = header.meta;
  const size_t most = std::min(meta.names.size(), kMaxNames);
  meta.names.erase(meta.names.begin(), meta.names.end() - static_cast<ptrdiff_t>(most));
  std::string text = write_meta(meta);
  while (text.size() > kMaxMeta && !meta.names.empty()) {
    meta.names.erase(meta.names.begin());
    text = write_meta(meta);
  }
  if (text.size() > kMaxMeta) {
    return fail(Code::invalid_argument, "the address is too long for the cache (", text.size(),
                " bytes with what is known of the file; at most ", kMaxMeta, ")");
  }
  std::string copy(kHeaderBytes, '\0');
  kJournalMagic.copy(copy.data(), kJournalMagic.size());
  put(copy, 8, kJournalVersion);
  put(copy, 12, static_cast<uint32_t>(text.size()));
  put(copy, 16, header.sequence);
  text.copy(copy.data() + kMetaOffset, text.size());
  put(copy, 24, header_hash(reinterpret_cast<const uint8_t*>(copy.data()), text.size()));
  return copy;
}

uint32_t header_version(std::span<const uint8_t> copy) {
  if (copy.size() < kMetaOffset ||
      std::memcmp(copy.data(), kJournalMagic.data(), kJournalMagic.size()) != 0)
    return 0;
  return number_at<uint32_t>(copy, 8);
}

std::optional<Header> decode_header(std::span<const uint8_t> copy) {
  const uint32_t version = header_version(copy);
  if (version == 0 || version > kJournalVersion) return std::nullopt;
  const auto meta_bytes = number_at<uint32_t>(copy, 12);
  if (meta_bytes > kMaxMeta || kMetaOffset + meta_bytes > copy.size()) return std::nullopt;
  if (number_at<uint64_t>(copy, 24) != header_hash(copy.data(), meta_bytes)) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(copy.data()) + kMetaOffset, meta_bytes);
  if (!check_json(text)) return std::nullopt;
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !migrate(version, json)) return std::nullopt;
  auto meta = read_meta(std::move(json));
  if (!meta) return std::nullopt;
  return Header{number_at<uint64_t>(copy, 16), std::move(*meta)};
}

Journal read_journal(std::span<const uint8_t> bytes) {
  Journal journal;
  for (const uint64_t at : {uint64_t{0}, kHeaderBytes}) {
    if (bytes.size() <= at) break;
    const auto copy = bytes.subspan(at, std::min<size_t>(kHeaderBytes, bytes.size() - at));
    if (header_version(copy) > kJournalVersion) journal.newer = true;
    auto header = decode_header(copy);
    if (header && (!journal.header || header->sequence > journal.header->sequence))
      journal.header = std::move(header);
  }
  if (!journal.header) return journal;
  journal.table.resize(journal.header->meta.n_blocks());
  if (bytes.size() > kTableOffset) {
    const size_t n = std::min(journal.table.size(), (bytes.size() - kTableOffset) / 8);
    std::memcpy(journal.table.data(), bytes.data() + kTableOffset, n * 8);
  }
  return journal;
}

}  // namespace sluice::pull
