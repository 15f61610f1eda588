// What MODEL means: the path of a file, a name in the cache or on the shelf, or an address, in this
// order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/shelf.h"
#include "base/result.h"

namespace sluice::cli {

struct Meaning {
  std::string address;     // with its scheme; "": it is the path of a file outside the cache
  bool kept_only = false;  // it is the path of a file in the cache, which has this address
  std::optional<OnShelf> offered = std::nullopt;  // it is a name on the shelf
};

// The address that a text is, with its scheme: of owner/repo hf:owner/repo, of hf.co/.. and
// huggingface.co/.. https://.. . White space around it and a slash at its end are ignored. "" if
// it is none.
std::string as_address(std::string_view text);
// Of a text that isn't empty. Fails with bad_file, which says what was tried, or with
// invalid_argument if several models have that name. With `may_be_prompt` it also says how to give
// a prompt.
Result<Meaning> meaning_of(const std::string& given, bool may_be_prompt);
// The same of a model that is to be downloaded, which is no path. Fails with invalid_argument.
Result<Meaning> download_of(const std::string& given);

}  // namespace sluice::cli
