// Shared by the fuzz targets that take files.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/format.h"
#include "engine.h"
#include "support/drive.h"
#include "text/tokenizer.h"

namespace sluice {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_error(const Error& error) {
  require(!error.message.empty() && printable(error.message, 100000) == error.message);
}

// Computes a few tokens. Returns the hash of the logits.
inline Result<std::string> run_tokens(Engine& engine) {
  engine.tokenizer().decode(engine.tokenizer().encode("The quick <s> \xff fox", true));
  const TokenId prompt[] = {0, 0};
  SLUICE_TRY(engine.session().start_logits(prompt, 0));
  SLUICE_TRY(drive(engine.session(), [](const Event&) {}));
  for (const float logit : engine.session().logits()) require(std::isfinite(logit));
  return logits_hash(engine.session().logits());
}

}  // namespace sluice
