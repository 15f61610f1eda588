#include "app/shelf.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "pull/text.h"

namespace sluice::cli {

extern const std::string_view kShelfText;

namespace {

using Json = nlohmann::ordered_json;

// A value that may be null.
template <typename T>
T value_at(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_null() ? T() : value.get<T>();
}

ShelfModel model_of(const Json& json) {
  ShelfModel model;
  model.id = json.at("id");
  model.name = json.at("name");
  model.good_for = json.at("good_for").at("en");
  model.parameters = value_at<std::string>(json, "parameters");
  model.family = json.at("family");
  model.embedding = json.at("kind") == "embedding";
  model.context = value_at<uint64_t>(json, "context");
  if (const Json& thinking = json.at("thinking"); !thinking.is_null())
    model.thinking = thinking.get<bool>();
  model.licence = value_at<std::string>(json, "licence");
  if (const Json& terms = json.at("terms"); !terms.is_null())
    model.terms = Terms{terms.at("address"), terms.at("short").at("en")};
  for (const Json& file : json.at("files")) {
    model.files.push_back({file.at("type"), file.at("address"), value_at<uint64_t>(file, "bytes"),
                           value_at<std::string>(file, "sha256"), file.at("verified")});
  }
  return model;
}

}  // namespace

const std::vector<ShelfModel>& shelf() {
  // The text is this program's own, and the tests read it: it doesn't fail.
  static const std::vector<ShelfModel> models = [] {
    std::vector<ShelfModel> all;
    const Json whole = Json::parse(kShelfText);
    for (const Json& json : whole.at("models")) all.push_back(model_of(json));
    return all;
  }();
  return models;
}

Result<std::optional<OnShelf>> find_on_shelf(std::string_view word) {
  const size_t colon = word.find(':');
  const std::string id = pull::lower(word.substr(0, colon));
  for (const ShelfModel& model : shelf()) {
    if (model.id != id) continue;
    if (colon == std::string_view::npos) return OnShelf{&model, &model.files.front()};
    const std::string type = pull::lower(word.substr(colon + 1));
    std::string types;
    for (const ShelfFile& file : model.files) {
      if (pull::lower(file.type) == type) return OnShelf{&model, &file};
      if (types.find(file.type) == std::string::npos)
        types += concat(types.empty() ? "" : ", ", file.type);
    }
    return fail(Code::invalid_argument, model.id, " has no file of type ",
                printable(word.substr(colon + 1)), "; there are ", types);
  }
  return std::nullopt;
}

}  // namespace sluice::cli
