#include "api/json_parts.h"

#include <cmath>
#include <utility>
#include <variant>

#include "base/decimal.h"
#include "base/format.h"

namespace sluice {
namespace {

constexpr int kLargeNumber = 15;  // numbers from 10^15 on are written with an exponent

}  // namespace

// A comma before all but what is first, or has a name.
void JsonText::begin() {
  if (!out_.empty() && std::string_view("{[:").find(out_.back()) == std::string_view::npos)
    out_ += ',';
}

void JsonText::raw(std::string_view json) {
  begin();
  out_ += json;
}

void JsonText::open(char bracket) { raw({&bracket, 1}); }

void JsonText::close(char bracket) { out_ += bracket; }

void JsonText::null() { raw("null"); }

void JsonText::flag(bool value) { raw(value ? "true" : "false"); }

void JsonText::whole(int64_t value) { raw(concat(value)); }

void JsonText::count(uint64_t value) { raw(concat(value)); }

void JsonText::real(double value) {
  raw(std::isfinite(value) ? shortest_decimal(value, kLargeNumber) : "null");
}

void JsonText::exact(float value) {
  begin();
  append_float(out_, value);
}

void JsonText::text(std::string_view value) {
  begin();
  append_json_text(out_, value);
}

void JsonText::key(std::string_view name) {
  text(name);
  out_ += ':';
}

void JsonText::open(std::string_view name, char bracket) {
  key(name);
  open(bracket);
}

void JsonText::null(std::string_view name) {
  key(name);
  null();
}

void JsonText::flag(std::string_view name, bool value) {
  key(name);
  flag(value);
}

void JsonText::whole(std::string_view name, int64_t value) {
  key(name);
  whole(value);
}

void JsonText::count(std::string_view name, uint64_t value) {
  key(name);
  count(value);
}

void JsonText::real(std::string_view name, double value) {
  key(name);
  real(value);
}

void JsonText::exact(std::string_view name, float value) {
  key(name);
  exact(value);
}

void JsonText::text(std::string_view name, std::string_view value) {
  key(name);
  text(value);
}

void JsonText::facts(const Facts& facts) {
  if (facts.empty()) return;
  open("facts", '{');
  for (const auto& [name, value] : facts) {
    if (const auto* number = std::get_if<uint64_t>(&value)) {
      count(name, *number);
    } else {
      text(name, std::get<1>(value));
    }
  }
  close('}');
}

void JsonText::error(const Error& error) {
  text("code", code_name(error.code));
  text("message", error.message);
  facts(error.facts);
}

void JsonText::notes(const Notes& notes) {
  open('[');
  for (const Note& note : notes) {
    open('{');
    text("code", note_code_name(note.code));
    text("message", note.message);
    text("audience", note_audience(note.code));
    facts(note.facts);
    close('}');
  }
  close(']');
}

std::string JsonText::take() { return std::move(out_); }

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
