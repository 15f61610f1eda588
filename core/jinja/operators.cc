// Python's operators, orders and containment.
#include <algorithm>
#include <cmath>

#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

const char* sign_of(LexemeType op) {
  switch (op) {
    case LexemeType::add:
      return "+";
    case LexemeType::sub:
      return "-";
    case LexemeType::mul:
      return "*";
    case LexemeType::div:
      return "/";
    case LexemeType::floordiv:
      return "//";
    case LexemeType::mod:
      return "%";
    case LexemeType::pow:
      return "**";
    case LexemeType::lt:
      return "<";
    case LexemeType::le:
      return "<=";
    case LexemeType::gt:
      return ">";
    default:
      return ">=";
  }
}

// False if the result doesn't fit.
bool power(int64_t base, int64_t exponent, int64_t& result) {
  result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return false;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
  }
  return true;
}

Value integers(Interpreter& run, LexemeType op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool too_large = false;
  switch (op) {
    case LexemeType::add:
      too_large = __builtin_add_overflow(a, b, &result);
      break;
    case LexemeType::sub:
      too_large = __builtin_sub_overflow(a, b, &result);
      break;
    case LexemeType::mul:
      too_large = __builtin_mul_overflow(a, b, &result);
      break;
    case LexemeType::pow:
      too_large = !power(a, b, result);
      break;
    default: {
      if (b == 0) return run.fail("integer division or modulo by zero");
      if (b == -1) {  // the least number has no opposite
        too_large = op == LexemeType::floordiv && __builtin_sub_overflow(int64_t{0}, a, &result);
        break;
      }
      const int64_t rest = a % b;
      const bool down = rest != 0 && (rest < 0) != (b < 0);  // Python rounds down
      result = op == LexemeType::mod ? rest + (down ? b : 0) : a / b - (down ? 1 : 0);
    }
  }
  if (too_large) return run.fail("the result of $ does not fit into 64 bits", sign_of(op));
  return Value::integer(result);
}

Value numbers(Interpreter& run, LexemeType op, double a, double b) {
  switch (op) {
    case LexemeType::add:
      return Value::number(a + b);
    case LexemeType::sub:
      return Value::number(a - b);
    case LexemeType::mul:
      return Value::number(a * b);
    case LexemeType::pow: {
      if (a == 0 && b < 0) return run.fail("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
        return run.fail("complex numbers are not supported");
      }
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
        return run.fail("the result of ** is too large");
      }
      return Value::number(result);
    }
    default:
      break;
  }
  if (b == 0) return run.fail("float division by zero");
  if (op == LexemeType::div) return Value::number(a / b);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (op == LexemeType::mod) return Value::number(rest == 0 ? std::copysign(0.0, b) : rest);
  if (quotient == 0) return Value::number(std::copysign(0.0, a / b));
  const double whole = std::floor(quotient);
  return Value::number(quotient - whole > 0.5 ? whole + 1 : whole);
}

Value repeat(Interpreter& run, const Value& value, int64_t times) {
  const uint64_t n = times > 0 ? static_cast<uint64_t>(times) : 0;
  if (value.is_text()) {
    const Text& text = value.as<Text>();
    const size_t most = run.limits.max_memory;
    if (!text.text.empty() && n > most / text.text.size()) return run.fail("a text is too long");
    TextWriter out(run.meter);
    for (uint64_t i = 0; i < n && !text.text.empty() && run.ok(); ++i) out.copy(text);
    return out.take();
  }
  const List& items = value.items();
  if (!items.empty() && n > run.limits.max_items / items.size()) {
    return run.too_many();
  }
  List out = run.new_list();
  for (uint64_t i = 0; i < n && !items.empty(); ++i) append(out, items, 0, items.size());
  return value.is(Kind::list) ? run.list(std::move(out)) : run.tuple(std::move(out));
}

Value join_texts(Interpreter& run, const Value& a, const Value& b) {
  const bool escaped = a.as<Text>().escaped || b.as<Text>().escaped;
  TextWriter joined(run.meter);
  for (const Value* each : {&a, &b}) {
    const Text& text = each->as<Text>();
    if (escaped && !text.escaped) {
      escape_html(joined, text);
    } else {
      joined.copy(text);
    }
  }
  Value result = joined.take();
  if (!result.is_missing()) result.as<Text>().escaped = escaped;
  return result;
}

}  // namespace

Value Interpreter::binary(LexemeType op, const Value& a, const Value& b) {
  if (a.is_text() && op == LexemeType::mod) return format_percent(*this, a, b);
  if (a.is(Kind::undefined)) return refuse(a, "");
  if (b.is(Kind::undefined)) return refuse(b, "");
  if (a.is_number() && b.is_number()) {
    const bool whole = a.is_integer() && b.is_integer() && op != LexemeType::div &&
                       !(op == LexemeType::pow && b.as_integer() < 0);
    const Value result = whole ? integers(*this, op, a.as_integer(), b.as_integer())
                               : numbers(*this, op, a.as_double(), b.as_double());
    return result.marked(a.from_input() || b.from_input());
  }
  if (op == LexemeType::add && a.is_text() && b.is_text()) return join_texts(*this, a, b);
  if (op == LexemeType::add && a.is_sequence() && a.kind() == b.kind()) {
    List joined = new_list();
    joined.reserve(a.items().size() + b.items().size());
    append(joined, a.items(), 0, a.items().size());
    append(joined, b.items(), 0, b.items().size());
    return a.is(Kind::list) ? list(std::move(joined)) : tuple(std::move(joined));
  }
  if (op == LexemeType::mul) {
    const auto repeats = [](const Value& v) { return v.is_text() || v.is_sequence(); };
    if (repeats(a) && b.is_integer()) return repeat(*this, a, b.as_integer());
    if (repeats(b) && a.is_integer()) return repeat(*this, b, a.as_integer());
  }
  if (op == LexemeType::add && a.is_text()) {
    return refuse(b, "can only concatenate str (not \"$\") to str");
  }
  return fail("unsupported operand type(s): '$' and '$'", type_name(a), type_name(b));
}

Value Interpreter::negative(const Value& value) {
  const bool input = value.from_input();
  if (value.is(Kind::number)) return Value::number(-value.as_double()).marked(input);
  if (value.is_integer())
    return integers(*this, LexemeType::sub, 0, value.as_integer()).marked(input);
  return refuse(value, "bad operand type for unary -: '$'");
}

int Interpreter::order(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  meter.work(2);
  if (!ok()) return 0;
  if (a.is_integer() && b.is_integer()) return sign(a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return sign(a.as_double(), b.as_double());
  if (a.is_text() && b.is_text()) {  // UTF-8 has the order of code points
    meter.pass(std::min(a.as_text().size(), b.as_text().size()));
    const int compared = a.as_text().compare(b.as_text());
    return sign(compared, 0);
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()) && !meter.spent(); ++i) {
      if (!same(x[i], y[i])) return order(x[i], y[i]);
    }
    return sign(x.size(), y.size());
  }
  if (a.is(Kind::undefined)) {
    refuse(a, "");
  } else if (b.is(Kind::undefined)) {
    refuse(b, "");
  } else {
    fail("'<' not supported between instances of '$' and '$'", type_name(a), type_name(b));
  }
  return 0;
}

bool Interpreter::compare(LexemeType op, const Value& a, const Value& b) {
  if (op == LexemeType::eq || op == LexemeType::ne) return same(a, b) == (op == LexemeType::eq);
  if (op == LexemeType::pipe || op == LexemeType::tilde)
    return contains(b, a) == (op == LexemeType::pipe);
  const bool not_numbers =
      a.is_number() && b.is_number() && (std::isnan(a.as_double()) || std::isnan(b.as_double()));
  const int compared = order(a, b);
  if (failed_ || not_numbers) return false;
  switch (op) {
    case LexemeType::lt:
      return compared < 0;
    case LexemeType::le:
      return compared <= 0;
    case LexemeType::gt:
      return compared > 0;
    default:
      return compared >= 0;
  }
}

bool Interpreter::contains(const Value& container, const Value& wanted) {
  if (container.is_text()) {
    if (!wanted.is_text()) {
      refuse(wanted, "'in <string>' requires string as left operand, not $");
      return false;
    }
    return find_part(meter, container.as_text(), wanted.as_text()) != std::string_view::npos;
  }
  if (container.is(Kind::dict) || container.is(Kind::keys)) {
    if (!is_hashable(wanted)) {
      refuse(wanted, "unhashable type: '$'");
      return false;
    }
    if (container.is(Kind::dict)) return find(container.entries(), wanted, meter) != nullptr;
  }
  const Value all = iterate(container);
  if (all.is_missing()) return false;
  for (const Value& item : all.items()) {
    if (!ok()) break;
    if (same(item, wanted)) return true;
  }
  return false;
}

void Interpreter::sort(List& items, const List& keys, bool reverse) {
  // Merges runs of 1, 2, 4, ... items. An order that fails in between does no harm.
  const size_t n = items.size();
  Vector<uint32_t> from(n, 0, &meter), to(n, 0, &meter);
  for (size_t i = 0; i < n; ++i) from[i] = static_cast<uint32_t>(i);
  for (size_t width = 1; width < n && ok(); width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const size_t middle = std::min(begin + width, n);
      const size_t end = std::min(begin + 2 * width, n);
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
          const Value& a = keys[from[left]];
          const Value& b = keys[from[right]];
          take_right = reverse ? order(a, b) < 0 : order(b, a) < 0;
        }
        to[out] = from[take_right ? right++ : left++];
      }
    }
    std::swap(from, to);
  }
  meter.work(n);
  List sorted = new_list();
  sorted.reserve(n);
  for (const uint32_t i : from) sorted.push_back(items[i]);
  items = std::move(sorted);
}

}  // namespace sluice::jinja
