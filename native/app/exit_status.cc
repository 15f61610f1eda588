#include "app/exit_status.h"

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

}  // namespace sluice::cli
