// Python's formatting: "%s" % values, and "{}".format(values). The format filter uses the first.
// Not supported, because no chat template uses them: fields in fields, "#", "*" and "_", and
// attributes of a field ("{0.name}").
#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

constexpr int64_t kMaxWidth = 100'000;
constexpr std::string_view kFloatTypes = "eEfFgG%";

// How one value is to be written.
struct Spec {
  std::string_view fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';    // or + or a space
  bool commas = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
  bool input = false;  // the format's field comes from the input
};

bool is_one_of(char c, std::string_view chars) { return chars.find(c) != std::string_view::npos; }

std::string in_base(uint64_t value, unsigned base, bool large) {
  const char* const digits = large ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out += digits[value % base];
    value /= base;
  } while (value > 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// "1,234,567.5"
std::string with_commas(const std::string& digits) {
  size_t whole = 0;
  while (whole < digits.size() && is_digit(digits[whole])) ++whole;
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(whole);
}

// A float without its sign.
std::string float_digits(double value, const Spec& spec) {
  const double size = std::fabs(value);
  const char type = static_cast<char>(spec.type | 32);
  if (!std::isfinite(size)) return std::isnan(size) ? "nan" : "inf";
  const auto precision =
      static_cast<int>(spec.precision < 0 ? 6 : std::min<int64_t>(spec.precision, 1000));
  if (spec.type == '%') return write_decimal(size * 100, 'f', precision) + "%";
  if (type == 'f' || type == 'e') return write_decimal(size, type, precision);
  if (spec.type == '\0' && spec.precision < 0) return shortest_decimal(size);
  std::string out = write_decimal(size, 'g', std::max(precision, 1));
  if (spec.type == '\0' && out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

// Writes values into a text as a format says.
class Fields {
 public:
  Fields(Interpreter& run, const Text& format) : run_(run), out_(run.meter), format_(format) {
    run.meter.scan(format.text.size());
  }

 protected:
  void fill(const Spec& spec, size_t n) {
    while (n-- > 0 && run_.ok()) out_.add(spec.fill, spec.input);
  }

  void text(const Value& value, const Spec& spec) {
    const Text& all = value.as<Text>();
    const auto most = spec.precision < 0 ? all.chars : static_cast<size_t>(spec.precision);
    const std::string_view part = sub_chars(all.text, all.chars, 0, most);
    const size_t chars = std::min(all.chars, most);
    const size_t missing = std::max(static_cast<size_t>(spec.width), chars) - chars;
    const size_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
    run_.meter.scan(all.text.size());
    fill(spec, left);
    out_.copy(all, part);
    fill(spec, missing - left);
  }

  void number(const Value& value, const Spec& spec) {
    const bool as_float = value.is(Kind::number) || is_one_of(spec.type, kFloatTypes);
    if (spec.type != '\0' && !is_one_of(spec.type, as_float ? kFloatTypes : "dxXob")) {
      run_.fail("unknown format code '$' for $", {&spec.type, 1},
                as_float ? "a float" : "an integer");
      return;
    }
    run_.meter.work(decimal_work(value.as_double(), spec.precision));
    std::string digits;
    bool negative = false;
    if (as_float) {
      const double given = value.as_double();
      negative = std::signbit(given) && !std::isnan(given);
      digits = float_digits(given, spec);
      if (spec.type >= 'A' && spec.type <= 'Z') digits = ascii_case(digits, Case::upper);
    } else {
      const auto given = static_cast<uint64_t>(value.as_integer());
      negative = value.as_integer() < 0;
      const char type = static_cast<char>(spec.type | 32);
      digits = in_base(negative ? 0 - given : given,
                       type == 'x'   ? 16
                       : type == 'o' ? 8
                       : type == 'b' ? 2
                                     : 10,
                       spec.type == 'X');
    }
    if (spec.commas) digits = with_commas(digits);
    const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    const size_t chars = sign.size() + digits.size();
    const size_t missing = std::max(static_cast<size_t>(spec.width), chars) - chars;
    const size_t left = spec.align == '<' ? 0 : spec.align == '^' ? missing / 2 : missing;
    const bool input = spec.input || value.from_input();
    if (spec.align != '=') fill(spec, left);
    out_.add(sign, input);
    if (spec.align == '=') fill(spec, left);
    out_.add(digits, input);
    fill(spec, missing - left);
  }

  // Reads digits. An error if the number is too large.
  int64_t digits(std::string_view& rest) {
    int64_t number = 0;
    while (!rest.empty() && is_digit(rest[0])) {
      number = std::min(number * 10 + (rest[0] - '0'), kMaxWidth + 1);
      rest.remove_prefix(1);
    }
    if (number > kMaxWidth) run_.fail("a width in a format is too large");
    return number;
  }

  // Whether a part of the format comes from the input.
  bool from_input(std::string_view part) const {
    const auto begin = static_cast<size_t>(part.data() - format_.text.data());
    const auto behind = std::partition_point(format_.input.begin(), format_.input.end(),
                                             [&](const InputSpan& s) { return s.end <= begin; });
    return behind != format_.input.end() && behind->begin < begin + part.size();
  }

  Value repr(const Value& value) {
    TextWriter writer(run_.meter);
    run_.write_repr(writer, value);
    return writer.take();
  }

  Interpreter& run_;
  TextWriter out_;
  const Text& format_;
};

class PercentFormat : Fields {
 public:
  PercentFormat(Interpreter& run, const Text& format, const Value& values)
      : Fields(run, format), values_(values) {}

  Value format() {
    std::string_view rest = format_.text;
    while (!rest.empty() && run_.ok()) {
      const size_t percent = std::min(rest.find('%'), rest.size());
      out_.copy(format_, rest.substr(0, percent));
      rest.remove_prefix(percent);
      if (!rest.empty()) field(rest);
    }
    const bool mapping =
        values_.is(Kind::dict) || values_.is(Kind::list) || values_.is(Kind::undefined);
    const size_t given = values_.is(Kind::tuple) ? values_.items().size() : 1;
    if (run_.ok() && !mapping && used_ < given) {
      return run_.fail("not all arguments converted during string formatting");
    }
    return run_.ok() ? out_.take() : Value();
  }

 private:
  Value next_value() {
    if (values_.is(Kind::tuple)) {
      if (used_ < values_.items().size()) return values_.items()[used_++];
    } else if (used_++ == 0) {
      return values_;
    }
    return run_.fail("not enough arguments for format string");
  }

  Value named_value(std::string_view& rest) {
    const size_t close = rest.find(')');
    if (!values_.is(Kind::dict) || close == std::string_view::npos)
      return run_.fail("format requires a mapping");
    const std::string_view key = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    const Value* found = find(values_.entries(), key, run_.meter);
    if (found == nullptr) return run_.fail("the format's key '$' is missing", key);
    return *found;
  }

  void field(std::string_view& rest) {
    const std::string_view all = rest;
    rest.remove_prefix(1);
    Value value;
    if (rest.starts_with('(')) value = named_value(rest);
    Spec spec;
    spec.align = '>';
    bool zero = false;
    for (; !rest.empty() && is_one_of(rest[0], "-+ 0"); rest.remove_prefix(1)) {
      if (rest[0] == '-') spec.align = '<';
      zero |= rest[0] == '0';
      if (rest[0] == '+' || (rest[0] == ' ' && spec.sign == '-')) spec.sign = rest[0];
    }
    spec.width = digits(rest);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      spec.precision = digits(rest);
    }
    if (rest.empty()) {
      run_.fail("incomplete format");
      return;
    }
    spec.type = rest[0];
    rest.remove_prefix(1);
    if (spec.type == '%') return out_.copy(format_, all.substr(all.size() - rest.size() - 1, 1));
    if (value.is_missing() && run_.ok()) value = next_value();
    if (!run_.ok()) return;
    spec.input = from_input(all.substr(0, all.size() - rest.size()));
    if (spec.type == 's' || spec.type == 'r') {
      value = spec.type == 's' ? run_.str(value) : repr(value);
      if (!value.is_missing()) text(value, spec);
      return;
    }
    if (!is_one_of(spec.type, "diuxXoeEfFgG")) {
      run_.fail("unsupported format character '$'", {&spec.type, 1});
      return;
    }
    if (!value.is_number()) {
      run_.refuse(value, "a number is required, not $");
      return;
    }
    if (is_one_of(spec.type, "iu")) spec.type = 'd';
    if (spec.type == 'd' && value.is(Kind::number) && std::fabs(value.as_double()) < 0x1p63) {
      value = Value::integer(static_cast<int64_t>(value.as_double())).marked(value.from_input());
    }
    if (zero && spec.align != '<') {
      spec.fill = "0";
      spec.align = '=';
    }
    number(value, spec);
  }

  const Value& values_;
  size_t used_ = 0;
};

class BraceFormat : Fields {
 public:
  BraceFormat(Interpreter& run, const Text& format, const Arguments& arguments)
      : Fields(run, format), arguments_(arguments) {}

  Value format() {
    std::string_view rest = format_.text;
    while (!rest.empty() && run_.ok()) {
      const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
      out_.copy(format_, rest.substr(0, brace));
      rest.remove_prefix(brace);
      if (rest.empty()) break;
      if (rest.size() > 1 && rest[1] == rest[0]) {
        out_.copy(format_, rest.substr(0, 1));
        rest.remove_prefix(2);
        continue;
      }
      const size_t end = rest.find_first_of("{}", 1);
      if (rest[0] == '}') return run_.fail("Single '}' encountered in format string");
      if (end == std::string_view::npos || rest[end] == '{')
        return run_.fail("a field in a format has no end: expected '}'");
      field(rest.substr(1, end - 1));
      rest.remove_prefix(end + 1);
    }
    return run_.ok() ? out_.take() : Value();
  }

 private:
  void field(std::string_view all) {
    const size_t name_end = std::min(all.find_first_of("!:"), all.size());
    Value value = named_value(all.substr(0, name_end));
    if (value.is_missing()) return;
    std::string_view rest = all.substr(name_end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || !is_one_of(rest[1], "rs") || (rest.size() > 2 && rest[2] != ':')) {
        run_.fail("unknown conversion in a format");
        return;
      }
      value = rest[1] == 's' ? run_.str(value) : repr(value);
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    write(value, rest);
  }

  Value named_value(std::string_view name) {
    const size_t digit_count = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digit_count < name.size()) {
      const Value* found = find(arguments_.named, name, run_.meter);
      if (found != nullptr) return *found;
      return run_.fail("the format's key '$' is missing", name);
    }
    const bool automatic = name.empty();
    const auto index = static_cast<size_t>(automatic ? automatic_++ : digits(name));
    if (!run_.ok() || index < arguments_.list.size())
      return run_.ok() ? arguments_.list[index] : Value();
    return run_.fail("Replacement index $ out of range for positional args tuple",
                     static_cast<int64_t>(index));
  }

  void write(const Value& given, std::string_view rest) {
    Spec spec;
    spec.input = !rest.empty() && from_input(rest);
    Value value = rest.empty() ? run_.str(given) : given;
    if (value.is_missing()) return;
    const size_t first = char_bytes(rest);
    if (rest.size() > first && is_one_of(rest[first], "<>=^")) {
      spec.fill = rest.substr(0, first);
      spec.align = rest[first];
      rest.remove_prefix(first + 1);
    } else if (!rest.empty() && is_one_of(rest[0], "<>=^")) {
      spec.align = rest[0];
      rest.remove_prefix(1);
    }
    if (!rest.empty() && is_one_of(rest[0], "+- ")) {
      spec.sign = rest[0];
      rest.remove_prefix(1);
    }
    if (rest.starts_with('0') && spec.align == '\0') {
      spec.fill = "0";
      spec.align = value.is_number() ? '=' : '<';
    }
    spec.width = digits(rest);
    spec.commas = rest.starts_with(',');
    if (spec.commas) rest.remove_prefix(1);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      spec.precision = digits(rest);
    }
    if (!rest.empty()) {
      spec.type = rest[0];
      rest.remove_prefix(1);
    }
    if (!rest.empty()) {
      run_.fail("Invalid format specifier");
    } else if (value.is_text() && (spec.type == '\0' || spec.type == 's') && spec.align != '=') {
      text(value, spec);
    } else if (value.is_number()) {
      number(value, spec);
    } else {
      run_.refuse(value, "unsupported format for a value of the type $");
    }
  }

  const Arguments& arguments_;
  int64_t automatic_ = 0;
};

}  // namespace

Value format_percent(Interpreter& run, const Value& format, const Value& values) {
  return PercentFormat(run, format.as<Text>(), values).format();
}

Value format_braces(Interpreter& run, const Value& format, const Arguments& arguments) {
  return BraceFormat(run, format.as<Text>(), arguments).format();
}

}  // namespace sluice::jinja
