// The template and its input, for the commands template and chat.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/template.h"

namespace sluice::cli {

// The time that templates see: the local one, or what SOURCE_DATE_EPOCH says (UTC).
Result<jinja::RenderOptions> template_time();
// The bytes of a file; "-" is standard input. Fails with bad_file.
Result<std::string> contents_of(const std::string& file);
// A template that `option` names; "": no file was named, and it is "". Fails with bad_file, or with
// invalid_argument if it is no template.
Result<std::string> read_template(const std::string& file,
                                  std::string_view option = "--chat-template");
// Puts the template's name before an error of apply_chat_template() that names a line: `file`, or,
// if that is empty, the model's own template.
Error with_template_name(const std::string& file, Error error);
// Adds to the warning that a model has no template how to give one.
Notes with_template_advice(Notes warnings);

}  // namespace sluice::cli
