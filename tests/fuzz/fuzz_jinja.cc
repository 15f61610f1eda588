// Fuzzes chat templates. Any template is rendered or refused with an error that can be shown,
// within small limits, and twice with the same result.
#include <cstdlib>
#include <string>

#include "base/format.h"
#include "base/utf8.h"
#include "chat/json.h"
#include "jinja/template.h"

namespace {

using namespace sluice;

void require(bool condition) {
  if (!condition) std::abort();
}

// The names are those of tests/jinja, from which the seeds come.
const jinja::Value& context() {
  static const jinja::Value value = *value_from_json(R"({
    "n": 5, "neg": -7, "f": 2.5, "t": true, "no": false, "nothing": null, "s": "Hello, World",
    "uni": "Gr\u00fc\u00dfe \u65e5\u672c \ud83c\udf89", "lines": "one\n  two\n", "html": "<b>a & 'b'</b>",
    "list": [3, 1, 2], "mixed": [1, "a", null, true, 1.5, [1], {"k": "v"}], "words": ["pear", "Apple"],
    "dict": {"b": 1, "a": 2, "C": 3}, "nested": {"x": {"y": [{"z": "deep"}]}, "items": "mine"},
    "people": [{"name": "Ann", "age": 31}, {"name": "bob", "age": 25, "tags": ["x"]}],
    "tree": [{"n": "a", "c": [{"n": "b", "c": []}]}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
      {"role": "assistant", "content": "<think>t</think>A", "tool_calls": [{"id": "1", "function":
        {"name": "f", "arguments": {"a": 1}}}]}, {"role": "tool", "content": "r"}],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters":
      {"type": "object", "properties": {"a": {"type": "integer"}}}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"})");
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  jinja::Limits limits;
  limits.max_source_bytes = 1 << 16;
  limits.max_work = 400'000;
  limits.max_memory = 8 << 20;
  limits.max_items = 100'000;
  const auto check_error = [](const Error& error) {
    require(error.code == Code::invalid_argument && !error.message.empty());
    require(printable(error.message, 100'000) == error.message);
  };
  const auto made = jinja::Template::parse(source, limits);
  if (!made) {
    check_error(made.error());
    return 0;
  }
  const auto shown = made->render(context());
  if (!shown) {
    check_error(shown.error());
  } else {
    require(shown->text.size() <= limits.max_memory && utf8_sanitize(shown->text) == shown->text);
    uint32_t end = 0;
    for (const jinja::InputSpan& span : shown->input) {
      require(span.begin >= end && span.begin < span.end && span.end <= shown->text.size());
      end = span.end;
    }
  }
  const auto again = made->render(context());
  require(again.has_value() == shown.has_value());
  require(!shown || again->text == shown->text);
  return 0;
}
