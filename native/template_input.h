// What chat templates are given by the commands template and chat.
#pragma once

#include <string>

#include "engine_inside.h"

namespace sluice::cli {

// The time that templates see: the local one, or what SOURCE_DATE_EPOCH says (UTC).
Result<jinja::RenderOptions> template_time();
// The bytes of a file; "-" is standard input. Fails with bad_file.
Result<std::string> contents_of(const std::string& file);

}  // namespace sluice::cli
