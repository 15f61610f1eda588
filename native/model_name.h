// What MODEL means: the path of a file, a name in the cache, or an address, in this order.
#pragma once

#include <string>
#include <string_view>

#include "engine.h"

namespace sluice::cli {

struct Meaning {
  std::string address;     // with its scheme; "": it is the path of a file outside the cache
  bool kept_only = false;  // it is the path of a file in the cache, which has this address
};

// The address that a text is, with its scheme: of owner/repo hf:owner/repo, of hf.co/.. and
// huggingface.co/.. https://.. . "" if it is none.
std::string as_address(std::string_view text);
// Of a text that isn't empty. Fails with bad_file, which says what was tried, or with
// invalid_argument if several models have that name. With `may_be_prompt` it also says how to give
// a prompt.
Result<Meaning> meaning_of(const std::string& given, bool may_be_prompt);
// The address of a model that is to be downloaded: an address, or the name of one in the cache.
// Fails with invalid_argument.
Result<std::string> address_of(const std::string& given);

}  // namespace sluice::cli
