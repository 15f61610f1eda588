// Whether a model makes what a command wants of it.
#pragma once

#include <string>

#include "app/model.h"
#include "gguf/gguf.h"

namespace sluice::cli {

// Fail with unsupported_model if the model writes no text, or fills in no masked words. The message
// says what it is for, and by which command. A header that can't be run is left to who loads it.
Status require_text(const Gguf& header);
Status require_masks(const Gguf& header);

// The end of a line on a new file, "; try: sluice run FILE", with the command for what its model
// makes. "" if the header can't be run.
std::string try_it(const Gguf& header, const std::string& file);

// As open(), for a model that is to write text: fails as require_text() does, before a download.
Result<Opened> open_for_text(ModelSource& model, const LoadOptions& options);

}  // namespace sluice::cli
