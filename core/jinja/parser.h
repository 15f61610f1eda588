// Makes a template's syntax tree.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "jinja/ast.h"
#include "jinja/template.h"

namespace sluice::jinja {

Result<std::shared_ptr<const Program>> parse_program(std::string_view source, const Limits& limits);

}  // namespace sluice::jinja
