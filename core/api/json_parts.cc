#include "api/json_parts.h"

#include <cmath>
#include <cstdio>
#include <utility>
#include <variant>

#include "base/decimal.h"

namespace sluice {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append(Json& object, std::string_view key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::string(key), std::move(value));
}

void append_whole(Json& object, std::string_view key, int64_t value) { append(object, key, value); }

void append_real(Json& object, std::string_view key, double value) { append(object, key, value); }

void append_counts(Json& object, std::span<const Count> counts) {
  for (const auto& [name, value] : counts) append(object, name, value);
}

namespace {

Json facts_object(const Facts& facts) {
  Json out = Json::object();
  for (const auto& [name, value] : facts) {
    const auto* number = std::get_if<uint64_t>(&value);
    append(out, name, number != nullptr ? Json(*number) : Json(std::get<1>(value)));
  }
  return out;
}

}  // namespace

void append_facts(Json& out, const Facts& facts) {
  if (!facts.empty()) append(out, "facts", facts_object(facts));
}

Json notes_list(const Notes& notes) {
  Json list = Json::array();
  for (const Note& note : notes) {
    Json one = Json::object();
    append(one, "code", note_code_name(note.code));
    append(one, "message", note.message);
    append(one, "audience", note_audience(note.code));
    append_facts(one, note.facts);
    list.push_back(std::move(one));
  }
  return list;
}

double shortest(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);  // written as null
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (static_cast<float>(read_decimal(text)) == value) break;
  }
  return read_decimal(text);
}

}  // namespace sluice
