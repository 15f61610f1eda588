// Checks that a response is about the file that is meant.
#pragma once  // inside

#include <cstdint>
#include <string>
#include <string_view>

#include "pull/http.h"
#include "pull/journal.h"

namespace sluice::pull {

// True of a commit's name, 40 hexadecimal digits.
bool is_commit(std::string_view text);
// True if a response is about the file that was begun: the size (0: the response doesn't say it),
// the etag, or else the date are the same.
bool is_same_file(const Meta& begun, const Response& response, uint64_t size);
// Why a response can't be the file at this address: it is encoded, or of another commit than the
// one that is named. "": it can.
std::string wrong_answer(const Response& response, const std::string& address,
                         const std::string& hub);

}  // namespace sluice::pull
