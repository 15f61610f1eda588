// Renders for tests: a text, or the message of the error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "chat/json.h"
#include "jinja/template.h"

namespace sluice::jinja {

inline Result<std::string> render_text(std::string_view source, std::string_view context = "{}",
                                       const Limits& limits = {},
                                       const RenderOptions& options = {}) {
  SLUICE_ASSIGN(const Template made, Template::parse(source, limits));
  SLUICE_ASSIGN(const Value values, value_from_json(context));
  SLUICE_ASSIGN(Rendered rendered, made.render(values, options));
  return std::move(rendered.text);
}

inline std::string shown(std::string_view source, std::string_view context = "{}") {
  const auto text = render_text(source, context);
  return text ? *text : "error: " + text.error().message;
}

// The message of an error, which must be one.
inline std::string error_of(std::string_view source, const Limits& limits = {}) {
  const auto text =
      render_text(source, R"({"s": "text", "list": [1, 2], "dict": {"a": 1}})", limits);
  if (text) return "no error: " + *text;
  EXPECT_EQ(text.error().code, Code::invalid_argument);
  return text.error().message;
}

// An error whose message has this part.
inline void expect_refused(std::string_view source, std::string_view part) {
  EXPECT_NE(error_of(source).find(part), std::string::npos) << source.substr(0, 200);
}

inline std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

}  // namespace sluice::jinja
