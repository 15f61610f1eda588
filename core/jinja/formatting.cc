// Python's formatting: "%s" % values, and "{}".format(values). The format filter uses the first.
// Not supported, because no chat template uses them: fields in fields, "#", "*", "_", "=" and a
// space as flags, the conversions a, b, c, n and o and large letters, and attributes of a field
// ("{0.name}").
#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "base/format.h"
#include "jinja/interpreter.h"
#include "jinja/number.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

constexpr int64_t kMaxWidth = 100'000;
constexpr std::string_view kFloatTypes = "efg%";

// How one value is to be written.
struct Spec {
  std::string_view fill = " ";
  char align = '\0';  // < > ^
  bool plus = false, zeros = false, commas = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

bool is_one_of(char c, std::string_view chars) { return chars.find(c) != std::string_view::npos; }

// Takes the character in front away if it is one of these; else '\0'.
char take_one(std::string_view& rest, std::string_view chars) {
  if (rest.empty() || !is_one_of(rest[0], chars)) return '\0';
  const char c = rest[0];
  rest.remove_prefix(1);
  return c;
}

std::string float_digits(double value, const Spec& spec) {
  if (spec.type == '\0' && spec.precision < 0) return shortest_decimal(value);
  const auto precision =
      static_cast<int>(spec.precision < 0 ? 6 : std::min<int64_t>(spec.precision, 1000));
  const bool percent = spec.type == '%';
  const char style = percent ? 'f' : spec.type == '\0' ? 'g' : spec.type;
  std::string out = write_decimal(percent ? value * 100 : value, style, precision);
  if (percent) out += '%';
  if (spec.type == '\0' && out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string integer_digits(int64_t value, char type) {
  if (type != 'x' && type != 'X') return std::to_string(value);
  const std::string digits =
      hexadecimal(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  return (value < 0 ? "-" : "") +
         digits.substr(std::min(digits.find_first_not_of('0'), size_t{15}));
}

// "1,234,567.5"
std::string with_commas(std::string digits) {
  size_t at = 0;
  while (at < digits.size() && is_digit(digits[at])) ++at;
  for (; at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// Writes values into a text as a format says. Fields name values, or take them in turn. What is
// written besides texts is from the input if a value or any of the format is.
class Formatter {
 public:
  Formatter(Interpreter& run, const Value& format, const List& list, const Entries& named)
      : run_(run),
        out_(run.meter),
        format_(format.as<Text>()),
        rest_(format_.text),
        input_(format.from_input()),
        list_(list),
        named_(named) {
    run.meter.scan(format_.text.size());
  }

  Value percent() {
    while (copy_until("%")) {
      rest_.remove_prefix(1);
      if (rest_.starts_with('%')) {
        out_.copy(format_, rest_.substr(0, 1));
        rest_.remove_prefix(1);
      } else {
        percent_field();
      }
    }
    return out_.take();
  }

  Value braces() {
    while (copy_until("{}")) {
      const std::string_view brace = rest_.substr(0, 1);
      rest_.remove_prefix(1);
      if (rest_.starts_with(brace)) {
        rest_.remove_prefix(1);
        out_.copy(format_, brace);
        continue;
      }
      const size_t end = rest_.find_first_of("{}");
      if (brace == "}") return run_.fail("Single '}' encountered in format string");
      if (end == std::string_view::npos || rest_[end] == '{')
        return run_.fail("a field in a format has no end: expected '}'");
      brace_field(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
    }
    return out_.take();
  }

  // Whether each value of the list was taken.
  bool all_taken() const { return taken_ >= list_.size(); }

 private:
  // Copies the format up to one of these characters. False if there is none, and after an error.
  bool copy_until(std::string_view signs) {
    const size_t n = std::min(rest_.find_first_of(signs), rest_.size());
    out_.copy(format_, rest_.substr(0, n));
    rest_.remove_prefix(n);
    return !rest_.empty() && run_.ok();
  }

  Value next_value() {
    if (taken_ < list_.size()) return list_[taken_++];
    return run_.fail("not enough arguments for the format");
  }

  Value named_value(std::string_view name) {
    if (const Value* const found = find(named_, name, run_.meter)) return *found;
    return run_.fail("the format's key '$' is missing", name);
  }

  void percent_field() {
    Value value;
    if (rest_.starts_with('(')) {
      const size_t close = std::min(rest_.find(')'), rest_.size() - 1);
      value = named_value(rest_.substr(1, close - 1));
      rest_.remove_prefix(close + 1);
    }
    Spec spec;
    spec.align = '>';
    while (const char flag = take_one(rest_, "-+0")) {
      if (flag == '-') spec.align = '<';
      spec.plus |= flag == '+';
      spec.zeros |= flag == '0';
    }
    read_tail(rest_, spec);
    if (value.is_missing()) value = next_value();
    if (!run_.ok()) return;
    if (is_one_of(spec.type, "sr")) {
      value = spec.type == 's' ? run_.str(value) : repr(value);
      if (!value.is_missing()) text(value, spec);
    } else if (spec.commas || !is_one_of(spec.type, "diuxXefg")) {
      run_.fail("unsupported format character '$'", {&spec.type, spec.type == '\0' ? 0u : 1u});
    } else if (!value.is_number()) {
      run_.refuse(value, "a number is required, not $");
    } else {
      if (is_one_of(spec.type, "iu")) spec.type = 'd';
      if (spec.type == 'd' && value.is(Kind::number) && std::fabs(value.as_double()) < 0x1p63)
        value = Value::integer(static_cast<int64_t>(value.as_double())).marked(value.from_input());
      spec.zeros &= spec.align != '<';
      number(value, spec);
    }
  }

  void brace_field(std::string_view field) {
    const size_t end = std::min(field.find_first_of("!:"), field.size());
    const std::string_view name = field.substr(0, end);
    field.remove_prefix(end);
    Value value = field_value(name);
    if (take_one(field, "!") != '\0') {
      const char conversion = take_one(field, "rs");
      if (conversion == '\0' || (!field.empty() && field[0] != ':'))
        run_.fail("unknown conversion in a format");
      if (run_.ok()) value = conversion == 's' ? run_.str(value) : repr(value);
    }
    take_one(field, ":");
    if (run_.ok() && field.empty()) return run_.write(out_, value);
    Spec spec;
    const size_t first = char_bytes(field);
    if (field.size() > first && is_one_of(field[first], "<>^")) {
      spec.fill = field.substr(0, first);
      field.remove_prefix(first);
    }
    spec.align = take_one(field, "<>^");
    spec.plus = take_one(field, "+") != '\0';
    spec.zeros = take_one(field, "0") != '\0' && spec.align == '\0';
    read_tail(field, spec);
    if (!run_.ok()) return;
    if (!field.empty()) {
      run_.fail("Invalid format specifier");
    } else if (value.is_text() && !spec.zeros && (spec.type == '\0' || spec.type == 's')) {
      text(value, spec);
    } else if (value.is_number()) {
      if (spec.align == '\0') spec.align = '>';
      number(value, spec);
    } else {
      run_.refuse(value, "unsupported format for a value of the type $");
    }
  }

  // The value of a field without a name, with a number or with a name.
  Value field_value(std::string_view name) {
    if (name.empty()) return next_value();
    if (name.find_first_not_of("0123456789") != std::string_view::npos) return named_value(name);
    const auto index = static_cast<size_t>(digits(name));
    if (index < list_.size()) return list_[index];
    return run_.fail("the format has no value $", static_cast<int64_t>(index));
  }

  // What flags are followed by: width, comma, precision and type.
  void read_tail(std::string_view& rest, Spec& spec) {
    spec.width = digits(rest);
    spec.commas = take_one(rest, ",") != '\0';
    if (take_one(rest, ".") != '\0') spec.precision = digits(rest);
    if (rest.empty()) return;
    spec.type = rest[0];
    rest.remove_prefix(1);
  }

  // Reads digits. An error if the number is too large.
  int64_t digits(std::string_view& rest) {
    int64_t number = 0;
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1))
      number = std::min(number * 10 + (rest[0] - '0'), kMaxWidth + 1);
    if (number > kMaxWidth) run_.fail("a width in a format is too large");
    return number;
  }

  Value repr(const Value& value) {
    TextWriter writer(run_.meter);
    run_.write_repr(writer, value);
    return writer.take();
  }

  void fill(const Spec& spec, size_t n) {
    while (n-- > 0 && run_.ok()) out_.add(spec.fill, input_);
  }

  // How many characters of filling a field gets, and how many of them in front.
  static std::pair<size_t, size_t> filling(const Spec& spec, size_t chars) {
    const size_t all = std::max(static_cast<size_t>(spec.width), chars) - chars;
    return {all, spec.align == '>' ? all : spec.align == '^' ? all / 2 : 0};
  }

  void text(const Value& value, const Spec& spec) {
    const Text& all = value.as<Text>();
    const auto most = spec.precision < 0 ? all.chars : static_cast<size_t>(spec.precision);
    const auto [missing, left] = filling(spec, std::min(all.chars, most));
    run_.meter.scan(all.text.size());
    fill(spec, left);
    out_.copy(all, sub_chars(all.text, all.chars, 0, most));
    fill(spec, missing - left);
  }

  void number(const Value& value, Spec spec) {
    const bool as_float = value.is(Kind::number) || is_one_of(spec.type, kFloatTypes);
    if (spec.type != '\0' && !is_one_of(spec.type, as_float ? kFloatTypes : "dxX")) {
      run_.fail("unknown format code '$' for $", {&spec.type, 1},
                as_float ? "a float" : "an integer");
      return;
    }
    run_.meter.work(decimal_work(value.as_double(), spec.precision));
    std::string digits = as_float ? float_digits(value.as_double(), spec)
                                  : integer_digits(value.as_integer(), spec.type);
    const bool negative = digits.starts_with('-');
    if (negative) digits.erase(0, 1);
    if (spec.type == 'X') digits = ascii_case(digits, Case::upper);
    if (spec.commas) digits = with_commas(std::move(digits));
    const std::string_view sign = negative ? "-" : spec.plus ? "+" : "";
    const auto [missing, left] = filling(spec, sign.size() + digits.size());
    const bool input = input_ || value.from_input();
    if (!spec.zeros) fill(spec, left);
    out_.add(sign, input);
    if (spec.zeros) {
      spec.fill = "0";
      fill(spec, missing);
    }
    out_.add(digits, input);
    if (!spec.zeros) fill(spec, missing - left);
  }

  Interpreter& run_;
  TextWriter out_;
  const Text& format_;
  std::string_view rest_;  // of the format
  const bool input_;
  const List& list_;
  const Entries& named_;
  size_t taken_ = 0;
};

}  // namespace

Value format_percent(Interpreter& run, const Value& format, const Value& values) {
  const List single({values}, &run.meter);
  const Entries none(&run.meter);
  Formatter formatter(run, format, values.is(Kind::tuple) ? values.items() : single,
                      values.is(Kind::dict) ? values.entries() : none);
  const Value text = formatter.percent();
  const bool by_name = values.is(Kind::dict) || values.is(Kind::list) || values.is(Kind::undefined);
  if (!by_name && !formatter.all_taken())
    return run.fail("not all arguments converted during string formatting");
  return text;
}

Value format_braces(Interpreter& run, const Value& format, const Arguments& arguments) {
  return Formatter(run, format, arguments.list, arguments.named).braces();
}

}  // namespace sluice::jinja
