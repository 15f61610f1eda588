#include "app/overflow.h"

#include <algorithm>

#include "base/format.h"

namespace sluice::cli {
namespace {

uint64_t tokens_of(const Error& error) {
  for (const Fact& fact : error.facts) {
    const auto* value = std::get_if<uint64_t>(&fact.value);
    if (fact.name == "tokens" && value != nullptr) return *value;
  }
  return 0;
}

}  // namespace

Error with_context_advice(const Engine& engine, std::string_view advice, Error error) {
  if (error.code != Code::context_full) return error;
  const uint64_t trained = engine.trained_context();
  const bool larger_helps =
      trained == 0 || trained > std::max<uint64_t>(tokens_of(error), engine.context_size());
  // The text after the semicolon is advice for users of the library.
  error.message = concat(
      error.message.substr(0, error.message.find("; ")), "; ", advice,
      larger_helps ? " or give a larger context with -c N" : "",
      trained == 0
          ? ""
          : concat(larger_helps ? " (this model was trained for up to "
                                : " (a larger context doesn't help: this model was trained for ",
                   trained, ")"));
  return error;
}

}  // namespace sluice::cli
