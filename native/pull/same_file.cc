#include "pull/same_file.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"

namespace sluice::pull {
namespace {

// The commit that an address of the hub names; "" if it names a branch or a tag.
std::string named_commit(const std::string& address, const std::string& hub) {
  const size_t at = address.find("/resolve/");
  if (!address.starts_with(hub + "/") || at == std::string::npos) return "";
  const std::string revision = address.substr(at + 9, address.find('/', at + 9) - at - 9);
  return is_commit(revision) ? revision : "";
}

}  // namespace

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::ranges::all_of(text, [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

bool is_same_file(const Meta& begun, const Response& response, uint64_t size) {
  if (size != 0 && size != begun.total_bytes) return false;
  if (!begun.etag.empty() && !response.etag.empty()) return begun.etag == response.etag;
  return begun.last_modified.empty() || response.last_modified.empty() ||
         begun.last_modified == response.last_modified;
}

std::string wrong_answer(const Response& response, const std::string& address,
                         const std::string& hub) {
  if (!response.encoding.empty() && response.encoding != "identity")
    return concat("the server sent the file encoded as ", printable(response.encoding, 20));
  const std::string wanted = named_commit(address, hub);
  if (!wanted.empty() && is_commit(response.commit) && wanted != response.commit)
    return concat("the server sent commit ", response.commit);
  return "";
}

}  // namespace sluice::pull
