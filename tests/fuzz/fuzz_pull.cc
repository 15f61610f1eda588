// Fuzzes what native/pull reads from users, servers and the disk: addresses, a hub's list, headers
// of answers, indexes of weights, journals. What is accepted keeps its promises; nothing throws.
#include <cstdlib>
#include <string>
#include <vector>

#include "pull/address.h"
#include "pull/http.h"
#include "pull/hub.h"
#include "pull/journal.h"
#include "pull/repository.h"
#include "pull/retry.h"

namespace {

using namespace sluice;
using namespace sluice::pull;

constexpr char kHub[] = "https://huggingface.co";

void require(bool condition) {
  if (!condition) std::abort();
}

void read_address(std::string_view text) {
  const auto address = parse_address(text, kHub);
  if (!address) {
    require(address.error().code == Code::invalid_argument);
    return;
  }
  require(address->on_hub() || !address->url.empty());
  require(address->path.find("..") == std::string::npos || address->on_hub());
  if (address->url.empty()) return;
  // A canonical address names itself.
  require(origin_of(address->url).starts_with("http"));
  const auto again = parse_address(address->url, kHub);
  require(again.has_value());
  require(again->url == address->url);
  if (const auto split = split_of(address->url)) {
    require(shard(address->url, split->part) == address->url);
  }
}

void read_answers(std::string_view text) {
  if (const auto files = read_list(text)) {
    Address of;
    of.owner = of.repo = "a";
    of.revision = "main";
    if (const auto file = choose_file(*files, of)) require(!file->path.empty());
    for (const HubFile& file : *files) require(file.sha256.empty() || is_sha256(file.sha256));
    if (const auto sources = choose_sources(*files, of)) require(sources->names.size() >= 2);
  }
  const std::vector<HubFile> shards = {{"a.safetensors", 1, ""}, {"../b.safetensors", 1, ""}};
  if (const auto names = read_index(text, shards)) {
    require(names->size() == 1 && names->front() == "a.safetensors");
  }
  next_page(text);
  if (const auto range = parse_content_range(text)) {
    require(range->first <= range->last && range->last < range->total);
  }
  for (const auto wait : {parse_retry_after(text, 0), parse_rate_limit(text)}) {
    if (wait) require(*wait >= 0);
  }
}

void read_disk(std::span<const uint8_t> bytes) {
  const Journal journal = read_journal(bytes);
  if (!journal.header) return;
  const Meta& meta = journal.header->meta;
  require(meta.block_bytes >= 4096 && journal.table.size() == meta.n_blocks());
  require(meta.n_blocks() * meta.block_bytes >= meta.total_bytes);
  for (const std::string& name : meta.names) shown_source(meta.set, name);
  const auto copy = encode_header(*journal.header);
  if (!copy) return;
  require(
      decode_header({reinterpret_cast<const uint8_t*>(copy->data()), copy->size()}).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_address(text);
  read_answers(text);
  read_disk({data, size});
  return 0;
}
