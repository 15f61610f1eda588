// Python's formatting: "%s" % values, and "{}".format(values). The format filter uses the first.
#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/interpreter.h"
#include "jinja/number.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

constexpr int64_t kMaxWidth = 100'000;

// How one value is to be written.
struct Spec {
  std::string_view fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';    // or + or a space
  bool alternate = false;
  char grouping = '\0';
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

std::string in_base(uint64_t value, unsigned base, bool large) {
  std::string out;
  do {
    out += (large ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
    value /= base;
  } while (value > 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// "1234567.5" with a sign between each `each` digits before the point.
std::string grouped(const std::string& digits, char sign, size_t each) {
  size_t whole = 0;
  while (whole < digits.size() && std::isalnum(static_cast<unsigned char>(digits[whole])) &&
         digits[whole] != 'e') {
    ++whole;
  }
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % each == 0) out += sign;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string padded(std::string sign, std::string body, const Spec& spec, char align) {
  const size_t chars = count_chars(sign) + count_chars(body);
  const size_t width = static_cast<size_t>(spec.width);
  if (spec.align != '\0') align = spec.align;
  if (chars >= width) return sign + body;
  const size_t missing = width - chars;
  const size_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const auto fill = [&spec](size_t n) {
    std::string out;
    while (n-- > 0) out += spec.fill;
    return out;
  };
  if (align == '=') return sign + fill(missing) + body;
  return fill(left) + sign + body + fill(missing - left);
}

// A number without its sign.
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

std::string write_number(Interpreter& run, const Value& value, const Spec& spec) {
  const char type = spec.type;
  const bool as_float =
      value.is(Kind::number) || std::string_view("eEfFgG%").find(type) != std::string_view::npos;
  std::string digits;
  bool negative = false;
  size_t each = 3;
  if (as_float && type != '\0' &&
      std::string_view("eEfFgGn%").find(type) == std::string_view::npos) {
    run.fail("unknown format code '", std::string_view(&type, 1), "' for a float");
    return {};
  }
  if (as_float) {
    const double number = value.as_double();
    negative = std::signbit(number) && !std::isnan(number);
    digits = float_digits(number, spec);
    if (type >= 'A' && type <= 'Z') digits = change_case(digits, Case::upper);
  } else {
    const int64_t number = value.as_integer();
    negative = number < 0;
    const uint64_t size =
        negative ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    if (type != '\0' && std::string_view("dnxXob").find(type) == std::string_view::npos) {
      run.fail("unknown format code '", std::string_view(&type, 1), "' for an integer");
      return {};
    }
    digits = in_base(size, base, type == 'X');
    if (base != 10) each = 4;
  }
  if (spec.grouping != '\0') digits = grouped(digits, spec.grouping, each);
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.alternate && !as_float && type != 'd' && type != '\0') sign += std::string("0") + type;
  return padded(std::move(sign), std::move(digits), spec, '>');
}

std::string cut(std::string text, int64_t precision) {
  if (precision < 0) return text;
  return std::string(sub_chars(text, count_chars(text), 0, static_cast<size_t>(precision)));
}

// Reads digits. False if the number is too large.
bool read_number(std::string_view& text, int64_t& number) {
  number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    text.remove_prefix(1);
    if (number > kMaxWidth) return false;
  }
  return true;
}

bool begins_number(std::string_view text) { return !text.empty() && is_digit(text[0]); }

// --- % ---

class PercentFormat {
 public:
  PercentFormat(Interpreter& run, const Value& values) : run_(run), values_(values) {}

  Value format(std::string_view rest) {
    while (!rest.empty() && run_.ok() && run_.room(out_.size())) {
      const size_t percent = std::min(rest.find('%'), rest.size());
      out_ += rest.substr(0, percent);
      rest.remove_prefix(percent);
      if (!rest.empty()) field(rest);
    }
    const bool tuple = values_.is(Kind::tuple);
    const bool mapping =
        values_.is(Kind::dict) || values_.is(Kind::list) || values_.is(Kind::undefined);
    if (run_.ok() && !mapping && used_ < (tuple ? values_.items().size() : 1)) {
      return run_.fail("not all arguments converted during string formatting");
    }
    return run_.ok() ? run_.text(std::move(out_)) : Value();
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

  int64_t star_or_number(std::string_view& rest) {
    int64_t number = 0;
    if (rest.starts_with('*')) {
      rest.remove_prefix(1);
      number = run_.integer_of(next_value(), 0);
    } else if (!read_number(rest, number)) {
      number = kMaxWidth + 1;
    }
    if (number > kMaxWidth || number < -kMaxWidth) run_.fail("a width in a format is too large");
    return number;
  }

  void field(std::string_view& rest) {
    rest.remove_prefix(1);
    Value value;
    if (rest.starts_with('(')) {
      const size_t close = rest.find(')');
      if (!values_.is(Kind::dict) || close == std::string_view::npos) {
        run_.fail("format requires a mapping");
        return;
      }
      const Value* found = find(values_.entries(), rest.substr(1, close - 1));
      if (found == nullptr) {
        run_.fail("the format's key '", rest.substr(1, close - 1), "' is missing");
        return;
      }
      value = *found;
      rest.remove_prefix(close + 1);
    }
    Spec spec;
    bool left = false;
    bool zero = false;
    for (; !rest.empty() && std::string_view("-+ #0").find(rest[0]) != std::string_view::npos;
         rest.remove_prefix(1)) {
      left |= rest[0] == '-';
      zero |= rest[0] == '0';
      spec.alternate |= rest[0] == '#';
      if (rest[0] == '+' || (rest[0] == ' ' && spec.sign == '-')) spec.sign = rest[0];
    }
    spec.width = star_or_number(rest);
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      spec.precision = std::max<int64_t>(star_or_number(rest), 0);
    }
    while (!rest.empty() && (rest[0] == 'l' || rest[0] == 'h' || rest[0] == 'L'))
      rest.remove_prefix(1);
    if (rest.empty()) {
      run_.fail("incomplete format");
      return;
    }
    spec.type = rest[0];
    rest.remove_prefix(1);
    spec.align = left ? '<' : '>';
    if (spec.type == '%') {
      out_ += '%';
      return;
    }
    if (value.is_missing()) value = next_value();
    if (!run_.ok()) return;
    write(value, spec, zero && !left);
  }

  void write(const Value& value, Spec& spec, bool zero) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a':
        out_ +=
            padded("", cut(spec.type == 's' ? run_.str(value) : run_.repr(value), spec.precision),
                   spec, '>');
        return;
      case 'c':
        out_ += padded(
            "", value.is_text() && value.as<Text>().chars == 1 ? run_.str(value) : std::string(),
            spec, '>');
        if (!value.is_text() || value.as<Text>().chars != 1) run_.fail("%c requires a character");
        return;
      default:
        break;
    }
    if (std::string_view("diuxXoeEfFgG").find(spec.type) == std::string_view::npos) {
      run_.fail("unsupported format character '", printable(std::string_view(&spec.type, 1)), "'");
      return;
    }
    if (!value.is_number()) {
      if (value.is(Kind::undefined)) {
        run_.refuse(value, "");
      } else {
        run_.fail("%", std::string_view(&spec.type, 1), " format: a number is required, not ",
                  type_name(value));
      }
      return;
    }
    if (zero) {
      spec.fill = "0";
      spec.align = '=';
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const bool whole = std::string_view("dxXo").find(spec.type) != std::string_view::npos;
    if (!whole || value.is_integer()) {
      out_ += write_number(run_, value, spec);
    } else if (spec.type == 'd' && std::fabs(value.as_double()) < 0x1p63) {
      out_ += write_number(run_, Value::integer(static_cast<int64_t>(value.as_double())), spec);
    } else {
      run_.fail("an integer is required, not float");
    }
  }

  Interpreter& run_;
  const Value& values_;
  size_t used_ = 0;
  std::string out_;
};

// --- {} ---

class BraceFormat {
 public:
  BraceFormat(Interpreter& run, const Arguments& arguments) : run_(run), arguments_(arguments) {}

  // `inside`: of a field's specification, which can have fields, but these have none.
  std::string format(std::string_view rest, int inside = 0) {
    std::string out;
    while (!rest.empty() && run_.ok() && run_.room(out.size())) {
      const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
      out += rest.substr(0, brace);
      rest.remove_prefix(brace);
      if (rest.empty()) break;
      if (rest.size() > 1 && rest[1] == rest[0] && inside == 0) {
        out += rest[0];
        rest.remove_prefix(2);
      } else if (rest[0] == '}') {
        run_.fail("Single '}' encountered in format string");
      } else {
        size_t open = 1;
        size_t end = 1;
        for (; end < rest.size() && open > 0; ++end) {
          open += rest[end] == '{' ? 1 : 0;
          open -= rest[end] == '}' ? 1 : 0;
        }
        if (open > 0 || inside > 1) {
          run_.fail(open > 0 ? "expected '}' before end of string"
                             : "Max string recursion exceeded");
          break;
        }
        out += field(rest.substr(1, end - 2), inside);
        rest.remove_prefix(end);
      }
    }
    return out;
  }

 private:
  std::string field(std::string_view text, int inside) {
    size_t name_end = 0;
    for (int brackets = 0; name_end < text.size(); ++name_end) {
      const char c = text[name_end];
      brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (brackets <= 0 && (c == '!' || c == ':')) break;
    }
    Value value = lookup(text.substr(0, name_end));
    text.remove_prefix(name_end);
    if (!run_.ok()) return {};
    if (text.starts_with('!')) {
      if (text.size() < 2 || (text[1] != 'r' && text[1] != 's' && text[1] != 'a') ||
          (text.size() > 2 && text[2] != ':')) {
        run_.fail("unknown conversion in a format");
        return {};
      }
      value = run_.text(text[1] == 's' ? run_.str(value) : run_.repr(value));
      text.remove_prefix(2);
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    return write(value, format(text, inside + 1));
  }

  Value lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, first_end);
    name.remove_prefix(first_end);
    Value value;
    int64_t index = automatic_;
    std::string_view digits = first;
    if (first.empty() || (begins_number(first) && read_number(digits, index) && digits.empty())) {
      if (first.empty()) ++automatic_;
      if (static_cast<size_t>(index) >= arguments_.list.size()) {
        return run_.fail("Replacement index ", index, " out of range for positional args tuple");
      }
      value = arguments_.list[static_cast<size_t>(index)];
    } else {
      const Value* found = find(arguments_.named, first);
      if (found == nullptr) return run_.fail("the format's key '", first, "' is missing");
      value = *found;
    }
    while (!name.empty() && run_.ok()) {
      const bool bracket = name[0] == '[';
      name.remove_prefix(1);
      const size_t end = std::min(bracket ? name.find(']') : name.find_first_of(".["), name.size());
      const std::string_view part = name.substr(0, end);
      name.remove_prefix(std::min(end + (bracket ? 1 : 0), name.size()));
      const auto number = bracket && begins_number(part) ? parse_int(part, 10) : std::nullopt;
      value = !bracket ? run_.attribute(value, run_.text(part))
                       : run_.item(value, number ? Value::integer(*number) : run_.text(part));
    }
    return value;
  }

  std::string write(const Value& value, std::string_view text) {
    if (!run_.ok()) return {};
    if (text.empty()) return run_.str(value);
    Spec spec;
    constexpr std::string_view kAligns = "<>=^";
    const size_t first = char_bytes(text);
    if (text.size() > first && kAligns.find(text[first]) != std::string_view::npos) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      text.remove_prefix(first + 1);
    } else if (kAligns.find(text[0]) != std::string_view::npos) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
    const auto skip = [&text](char c) {
      const bool there = text.starts_with(c);
      if (there) text.remove_prefix(1);
      return there;
    };
    if (skip('+')) {
      spec.sign = '+';
    } else if (skip(' ')) {
      spec.sign = ' ';
    } else {
      skip('-');
    }
    spec.alternate = skip('#');
    if (skip('0') && spec.align == '\0') {
      spec.fill = "0";
      spec.align = value.is_number() ? '=' : '<';
    }
    bool fits = read_number(text, spec.width);
    if (skip(',')) spec.grouping = ',';
    if (skip('_')) spec.grouping = '_';
    if (skip('.')) fits = read_number(text, spec.precision) && fits;
    if (!text.empty()) {
      spec.type = text[0];
      text.remove_prefix(1);
    }
    if (!fits || !text.empty()) {
      run_.fail("Invalid format specifier");
      return {};
    }
    if (value.is_text() && (spec.type == '\0' || spec.type == 's') && spec.align != '=') {
      return padded("", cut(run_.str(value), spec.precision), spec, '<');
    }
    if (!value.is_number()) {
      run_.refuse(value, "unsupported format for a value of the type $");
      return {};
    }
    return write_number(run_, value, spec);
  }

  Interpreter& run_;
  const Arguments& arguments_;
  int64_t automatic_ = 0;
};

}  // namespace

Value format_percent(Interpreter& run, const Value& format, const Value& values) {
  return PercentFormat(run, values).format(format.as_text());
}

Value format_braces(Interpreter& run, const Value& format, const Arguments& arguments) {
  std::string out = BraceFormat(run, arguments).format(format.as_text());
  return run.ok() ? run.text(std::move(out)) : Value();
}

}  // namespace sluice::jinja
