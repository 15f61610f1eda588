// A hub's list of a model's files, and the choice among them.
#pragma once  // inside

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pull/address.h"

namespace sluice::pull {

struct HubFile {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;  // 64 hex digits, "" unknown
};

// The address of the list's first page.
std::string list_url(const std::string& hub, const Address& of);
// Reads a page of the list. Entries that aren't files are left out. Fails with download_failed if
// it is something else.
Result<std::vector<HubFile>> read_list(std::string_view json);
// The address of the next page in a Link header; "" if there is none.
std::string next_page(std::string_view link);
// The file that the address means. Fails with invalid_argument, which names the files that there
// are.
Result<HubFile> choose_file(const std::vector<HubFile>& files, const Address& of);
// Which of the files that the address could mean was chosen, and which others there are:
// "takes m-Q4_0.gguf (2.58 MB); others: m-Q8_0.gguf".
std::string choice_text(const std::vector<HubFile>& files, const Address& of,
                        const HubFile& chosen);
// True for 64 hexadecimal digits.
bool is_sha256(std::string_view text);

}  // namespace sluice::pull
