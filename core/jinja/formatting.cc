// Python's formatting: "%s" % values, and "{}".format(values). The format filter uses the first.
// Not supported, because no chat template uses them: fields in fields, attributes of a field
// ("{0.name}"), the flags "#", "*", "_", "=" and a space, and conversions besides d, i, f, %, r, s.
#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

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

// A number as the format says, but for its width. Empty if its type isn't one for this number.
std::string number_digits(const Value& value, const Spec& spec) {
  const bool percent = spec.type == '%';
  std::string digits;
  if (percent || spec.type == 'f') {
    const auto precision = spec.precision < 0 ? 6 : std::min<int64_t>(spec.precision, 1000);
    const double number = value.as_double();
    digits = write_decimal(percent ? number * 100 : number, 'f', static_cast<int>(precision));
    if (percent) digits += '%';
  } else if (spec.precision >= 0) {
    return {};
  } else if (value.is_integer() && (spec.type == 'd' || spec.type == '\0')) {
    digits = std::to_string(value.as_integer());
  } else if (spec.type == '\0') {
    digits = shortest_decimal(value.as_double());
  } else {
    return {};
  }
  if (spec.plus && digits[0] != '-') digits.insert(0, "+");
  const size_t first = is_one_of(digits[0], "+-") ? 1 : 0;
  size_t at = first;
  while (at < digits.size() && is_digit(digits[at])) ++at;
  for (; spec.commas && at > first + 3; at -= 3) digits.insert(at - 3, ",");
  const auto width = static_cast<size_t>(spec.width);
  if (spec.zeros && digits.size() < width) digits.insert(first, width - digits.size(), '0');
  return digits;
}

// Writes values into a text as a format says. Fields name values, or take them in turn. What is
// written besides texts is from the input if a value or anything of the format is.
struct Formatter {
  Interpreter& run;
  const Value& format;
  const List& list;
  const Entries& named;
  TextWriter out{run.meter};
  std::string_view rest = format.as_text();  // of the format
  size_t taken = 0;

  // Copies the format up to a field, which one of these signs begins. A sign that stands twice is
  // itself. '\0' at the end and after an error.
  char next_field(std::string_view signs) {
    while (!rest.empty() && run.ok()) {
      const size_t n = std::min(rest.find_first_of(signs), rest.size());
      out.copy(format.as<Text>(), rest.substr(0, n));
      rest.remove_prefix(n);
      if (rest.empty()) break;
      const char sign = rest[0];
      rest.remove_prefix(1);
      if (!rest.starts_with(sign)) return sign;
      out.copy(format.as<Text>(), rest.substr(0, 1));
      rest.remove_prefix(1);
    }
    return '\0';
  }

  Value next_value() {
    if (taken < list.size()) return list[taken++];
    return run.fail("not enough arguments for the format");
  }

  Value named_value(std::string_view name) {
    if (const Value* const found = find(named, name, run.meter)) return *found;
    return run.fail("the format's key '$' is missing", name);
  }

  // The value of a field with a number, with a name or without either.
  Value field_value(std::string_view name) {
    if (name.empty()) return next_value();
    if (name.find_first_not_of("0123456789") != std::string_view::npos) return named_value(name);
    const auto index = static_cast<size_t>(digits(name));
    if (index < list.size()) return list[index];
    return run.fail("the format's value $ is missing", static_cast<int64_t>(index));
  }

  void percent_field() {
    Value value;
    if (rest.starts_with('(')) {
      const size_t close = std::min(rest.find(')'), rest.size() - 1);
      value = named_value(rest.substr(1, close - 1));
      rest.remove_prefix(close + 1);
    }
    Spec spec;
    spec.align = '>';
    while (const char flag = take_one(rest, "-+0")) {
      if (flag == '-') spec.align = '<';
      spec.plus |= flag == '+';
      spec.zeros |= flag == '0';
    }
    spec.zeros &= spec.align != '<';
    read_tail(rest, spec);
    if (spec.type == '\0' || spec.commas) run.fail("a field of a format is incomplete");
    if (value.is_missing()) value = next_value();
    char conversion = '\0';
    if (is_one_of(spec.type, "sr")) {
      conversion = std::exchange(spec.type, '\0');
      spec.zeros = spec.plus = false;
    } else if (is_one_of(spec.type, "di")) {
      spec.type = 'd';
      if (value.is(Kind::number) && std::fabs(value.as_double()) < 0x1p63)
        value = Value::integer(static_cast<int64_t>(value.as_double())).marked(value.from_input());
    }
    write(std::move(value), conversion, spec);
  }

  void brace_field(std::string_view field) {
    const size_t end = std::min(field.find_first_of("!:"), field.size());
    Value value = field_value(field.substr(0, end));
    field.remove_prefix(end);
    char conversion = field.empty() ? 's' : '\0';
    if (take_one(field, "!") != '\0') {
      conversion = take_one(field, "rs");
      if (conversion == '\0' || (!field.empty() && field[0] != ':'))
        run.fail("unknown conversion in a format");
    }
    if (take_one(field, ":") != '\0' && field.empty() && conversion == '\0') conversion = 's';
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
    if (!field.empty()) run.fail("Invalid format specifier");
    write(std::move(value), conversion, spec);
  }

  // What follows the flags: width, comma, precision and type.
  void read_tail(std::string_view& from, Spec& spec) {
    spec.width = digits(from);
    spec.commas = !spec.zeros && take_one(from, ",") != '\0';
    if (take_one(from, ".") != '\0') spec.precision = digits(from);
    if (from.empty()) return;
    spec.type = from[0];
    from.remove_prefix(1);
  }

  // Reads digits. An error if the number is too large.
  int64_t digits(std::string_view& from) {
    constexpr int64_t kMost = 100'000;
    int64_t number = 0;
    for (; !from.empty() && is_digit(from[0]); from.remove_prefix(1))
      number = std::min(number * 10 + (from[0] - '0'), kMost + 1);
    if (number > kMost) run.fail("a width in a format is too large");
    return number;
  }

  void write(Value value, char conversion, Spec spec) {
    const bool input = format.from_input();
    if (!run.ok()) return;
    TextWriter shown(run.meter);
    if (conversion != '\0') {
      conversion == 'r' ? run.write_repr(shown, value) : run.write(shown, value);
      value = shown.take();
    } else if (value.is_number()) {
      run.meter.work(decimal_work(value.as_double(), spec.precision));
      const std::string written = number_digits(value, spec);
      if (written.empty())
        run.fail("the format code '$' isn't supported here for the type $",
                 {&spec.type, spec.type == '\0' ? 0u : 1u}, type_name(value));
      shown.add(written, input || value.from_input());
      value = shown.take();
      spec = {
          .fill = spec.fill, .align = spec.align == '\0' ? '>' : spec.align, .width = spec.width};
    }
    if (!run.ok()) return;
    const bool fits = spec.type == '\0' || spec.type == 's';
    if (!value.is_text() || !fits || spec.zeros || spec.plus || spec.commas) {
      run.refuse(value, "the format of a field isn't one for a value of the type $");
      return;
    }
    const Text& text = value.as<Text>();
    const auto most = spec.precision < 0 ? text.chars : static_cast<size_t>(spec.precision);
    run.meter.scan(text.text.size());
    const size_t chars = std::min(text.chars, most);
    const size_t missing = std::max(static_cast<size_t>(spec.width), chars) - chars;
    const size_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
    for (size_t i = 0; i < missing + 1 && run.ok(); ++i) {
      if (i == left) out.copy(text, sub_chars(text.text, text.chars, 0, most));
      if (i < missing) out.add(spec.fill, input);
    }
  }
};

}  // namespace

Value format_percent(Interpreter& run, const Value& format, const Value& values) {
  run.meter.scan(format.as_text().size());
  const List single({values}, &run.meter);
  const Entries none(&run.meter);
  const bool several = values.is(Kind::tuple), by_name = values.is(Kind::dict);
  Formatter formatter{run, format, several ? values.items() : single,
                      by_name ? values.entries() : none};
  while (formatter.next_field("%") != '\0') formatter.percent_field();
  if (formatter.taken < formatter.list.size() && !by_name && !values.is(Kind::list) &&
      !values.is(Kind::undefined)) {
    return run.fail("not all arguments converted during string formatting");
  }
  return formatter.out.take();
}

Value format_braces(Interpreter& run, const Value& format, const Arguments& arguments) {
  run.meter.scan(format.as_text().size());
  Formatter formatter{run, format, arguments.list, arguments.named};
  std::string_view& rest = formatter.rest;
  while (const char sign = formatter.next_field("{}")) {
    const size_t end = std::min(rest.find_first_of("{}"), rest.size());
    if (sign == '}') return run.fail("Single '}' encountered in format string");
    if (!rest.substr(end).starts_with('}'))
      return run.fail("a field in a format has no end: expected '}'");
    formatter.brace_field(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return formatter.out.take();
}

}  // namespace sluice::jinja
