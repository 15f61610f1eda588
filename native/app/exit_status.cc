#include "app/exit_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::cli {
int exit_status(Code code) {
  switch (code) {
    case Code::bad_file:
    case Code::unsupported_model:
    case Code::unsupported_type:
    case Code::download_corrupt:
      return kBadFile;
    case Code::out_of_memory:
    case Code::budget_too_small:
      return kNoMemory;
    case Code::invalid_argument:
    case Code::not_found:
      return kUsage;
    case Code::context_full:
    case Code::busy:
    case Code::aborted:
    case Code::download_failed:
    case Code::offline:
    case Code::storage_full:
      return kFailed;
  }
  return kFailed;
}

namespace {
constexpr std::string_view kDirectory = "directory";
}

int exit_status(const Error& error) {
  const bool marked =
      std::ranges::any_of(error.facts, [](const Fact& fact) { return fact.name == kDirectory; });
  return marked ? kFailed : exit_status(error.code);
}

std::unexpected<Error> unwritable(Error error, const std::string& directory) {
  error.facts.push_back({kDirectory, directory});
  return std::unexpected(std::move(error));
}

}  // namespace sluice::cli
