// Chat templates: the Jinja language as Hugging Face's transformers sets it up (jinja2's
// ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop controls, {% generation %},
// and its own tojson, raise_exception and strftime_now). A template comes with a model, so it is
// hostile input: all that it can use is limited.
#pragma once  // face

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice::jinja {

struct Program;

struct Limits {
  size_t max_source_bytes = 1 << 20;
  size_t max_depth = 160;           // of nested tags and expressions in the template
  size_t max_calls = 400;           // of nested evaluations while it runs
  size_t max_value_depth = 100;     // of lists in lists
  uint64_t max_steps = 50'000'000;  // about one for each node of the template that is evaluated
  size_t max_bytes = 256 << 20;     // of values and text that exist at a time
  size_t max_output_bytes = 64 << 20;
  size_t max_items = 1'000'000;  // of one list
};

struct RenderOptions {
  // The time of strftime_now: seconds since 1970, and how far the local time is ahead of UTC.
  int64_t now = 0;
  int32_t utc_offset_seconds = 0;
  // Asked now and then; true ends the rendering with Code::aborted.
  std::function<bool()> stopped = nullptr;
};

// Immutable; several threads may render at the same time.
class Template {
 public:
  // Errors have Code::invalid_argument and say the line: "line 7 of the template: ...".
  static Result<Template> parse(std::string_view source, const Limits& limits = {});

  // `context` is a dict: messages, tools, add_generation_prompt, bos_token, ... If the template
  // calls raise_exception, its message follows "line 7 of the template: raise_exception: ".
  Result<std::string> render(const Value& context, const RenderOptions& options = {}) const;

 private:
  Template(std::shared_ptr<const Program> program, const Limits& limits);
  std::shared_ptr<const Program> program_;
  Limits limits_;
};

}  // namespace sluice::jinja
