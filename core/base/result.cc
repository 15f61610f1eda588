#include "base/result.h"

namespace sluice {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::bad_file:
      return "bad_file";
    case Code::unsupported_model:
      return "unsupported_model";
    case Code::unsupported_type:
      return "unsupported_type";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::budget_too_small:
      return "budget_too_small";
    case Code::context_full:
      return "context_full";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::busy:
      return "busy";
    case Code::aborted:
      return "aborted";
    case Code::download_failed:
      return "download_failed";
    case Code::download_corrupt:
      return "download_corrupt";
    case Code::offline:
      return "offline";
    case Code::storage_full:
      return "storage_full";
  }
  return "invalid_argument";
}

}  // namespace sluice
