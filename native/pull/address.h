// What MODEL may be besides a path: the address of a file, a hub's page, or hf:owner/repo.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::pull {

struct Address {
  // The file's canonical address, which names it in the cache; "" until the hub's list is read.
  std::string url;
  // Of a hub's model; else "".
  std::string owner, repo, revision;
  std::string path;    // the file in the repo; "" if it is to be chosen
  std::string folder;  // choose among the files in it, "a/b/"; "": all
  std::string type;    // choose this type: Q4_0, UD-Q4_K_XL, ...; "": the usual ones

  bool on_hub() const { return !repo.empty(); }
};

// True if the text is an address, right or wrong, and not a path.
inline bool is_address(std::string_view text) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  for (const std::string_view start : {"hf:", "http://", "https://"}) {
    if (std::ranges::equal(text.substr(0, start.size()), start, same)) return true;
  }
  return false;
}
// True of the OWNER or the REPO of a hub.
inline bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 200 && text != "." && text != ".." &&
         std::ranges::all_of(text, fits);
}
// The origin of the hub: `endpoint` (HF_ENDPOINT; null or "": huggingface.co) without a slash at
// the end. Fails with invalid_argument.
Result<std::string> hub_origin(const char* endpoint);
// Reads an address. Fails with invalid_argument.
Result<Address> parse_address(std::string_view text, const std::string& hub);
// The address of a hub's file.
std::string hub_file(const std::string& hub, const Address& of, std::string_view path);
// The name under which the cache finds what the hub chose: HUB/OWNER/REPO@REVISION:SELECTOR, a type
// in capital letters. The web library has the same.
std::string hub_name(const std::string& hub, const Address& of);
// The last part of the address's path, decoded: "model.gguf".
std::string file_name(std::string_view url);
// "https://host:port" of an http address, in lower case; "" of anything else.
std::string origin_of(const std::string& url);

// The number of a file in a split model: NAME-00001-of-00003.gguf.
struct Split {
  int part = 1;
  int parts = 1;  // 1 to 999
};
// Nothing if it isn't a part. `name` is a path, or an address without a query.
std::optional<Split> split_of(std::string_view name);
// The same with another part.
std::string shard(std::string name, int part);

}  // namespace sluice::pull
