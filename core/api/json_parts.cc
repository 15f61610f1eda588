#include "api/json_parts.h"

#include <cmath>
#include <utility>
#include <variant>

#include "base/decimal.h"
#include "base/format.h"

namespace sluice {
namespace {

constexpr int kLargeNumber = 15;  // numbers from 10^15 on are written with an exponent

void append_text(std::string& out, const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      const char* before = "{";
      for (const auto& [name, value] : json.get_ref<const Json::object_t&>()) {
        out += before;
        append_json_text(out, name);
        out += ':';
        append_text(out, value);
        before = ",";
      }
      out += json.empty() ? "{}" : "}";
      break;
    }
    case Json::value_t::array: {
      const char* before = "[";
      for (const Json& value : json.get_ref<const Json::array_t&>()) {
        out += before;
        append_text(out, value);
        before = ",";
      }
      out += json.empty() ? "[]" : "]";
      break;
    }
    case Json::value_t::string:
      append_json_text(out, json.get_ref<const std::string&>());
      break;
    case Json::value_t::boolean:
      out += json.get<bool>() ? "true" : "false";
      break;
    case Json::value_t::number_integer:
      out += concat(json.get<int64_t>());
      break;
    case Json::value_t::number_unsigned:
      out += concat(json.get<uint64_t>());
      break;
    case Json::value_t::number_float:
      if (const double value = json.get<double>(); std::isfinite(value)) {
        out += shortest_decimal(value, kLargeNumber);
        break;
      }
      [[fallthrough]];
    default:
      out += "null";
  }
}

}  // namespace

std::string dump(const Json& json) {
  std::string out;
  append_text(out, json);
  return out;
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
  double read = 0;
  for (int digits = 6; digits <= 9; ++digits) {
    read = read_decimal(write_decimal(static_cast<double>(value), 'g', digits).c_str());
    if (static_cast<float>(read) == value) break;
  }
  return read;
}

void append_float(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  if (std::signbit(value)) out += '-';
  const auto size = static_cast<double>(std::fabs(value));
  if (size == 0) {
    out += "0.0";
    return;
  }
  if (!(size >= 1e-12 && size < 1e6)) {
    out += shortest_decimal(shortest(std::fabs(value)), kLargeNumber);
    return;
  }
  // Six digits, or as many more as it takes; nine suffice for every float. Up to 10^22, powers of
  // ten are exact, so that the quotient is the double nearest to the number that is written.
  double scale = 1;
  int places = 0;
  for (; size * scale < 1e5; ++places) scale *= 10;
  uint64_t digits = 0;
  for (;; scale *= 10, ++places) {
    digits = static_cast<uint64_t>(size * scale + 0.5);
    if (static_cast<float>(static_cast<double>(digits) / scale) == std::fabs(value)) break;
  }
  for (; places > 1 && digits % 10 == 0; --places) digits /= 10;
  if (size < 1e-3) {
    out += concat(digits, "e-", places);
    return;
  }
  uint64_t unit = 1;
  for (int i = 0; i < places; ++i) unit *= 10;
  out += concat(digits / unit, ".");
  while (unit > 1) {
    unit /= 10;
    out += static_cast<char>('0' + digits / unit % 10);
  }
  if (places == 0) out += '0';
}

}  // namespace sluice
