// jinja_render FILE: renders the cases of a JSON file, [{"template", "context"}, ...], and prints
// [{"text"} or {"error"}, ...]. tests/jinja/compare.py compares the answers with jinja2's.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "chat/json.h"
#include "jinja/template.h"

namespace {

using namespace sluice;
using Json = nlohmann::ordered_json;

Result<std::string> render(const Json& test) {
  SLUICE_ASSIGN(const auto made, jinja::Template::parse(test["template"].get<std::string>()));
  SLUICE_ASSIGN(const auto context, value_from_json(test["context"].dump()));
  jinja::RenderOptions options;
  options.now = test.value("now", int64_t{0});
  SLUICE_ASSIGN(jinja::Rendered rendered, made.render(context, options));
  return std::move(rendered.text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: jinja_render FILE\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json cases = Json::parse(text, nullptr, false);
  if (!cases.is_array()) {
    std::fprintf(stderr, "%s has no list of cases\n", argv[1]);
    return 2;
  }
  Json answers = Json::array();
  for (const Json& test : cases) {
    const auto made = render(test);
    answers.push_back(made ? Json{{"text", *made}} : Json{{"error", made.error().message}});
  }
  std::puts(answers.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return 0;
}
