// Python's operators, orders and containment.
#include <algorithm>
#include <cmath>

#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

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
  bool fits = true;
  switch (op) {
    case LexemeType::add:
      fits = !__builtin_add_overflow(a, b, &result);
      break;
    case LexemeType::sub:
      fits = !__builtin_sub_overflow(a, b, &result);
      break;
    case LexemeType::mul:
      fits = !__builtin_mul_overflow(a, b, &result);
      break;
    case LexemeType::pow:
      fits = power(a, b, result);
      break;
    default: {
      if (b == 0) return run.fail("integer division or modulo by zero");
      // The least number has no opposite, and what divides by -1 leaves no rest.
      if (b == -1)
        return op == LexemeType::mod ? Value::integer(0) : integers(run, LexemeType::sub, 0, a);
      const int64_t rest = a % b;
      const bool down = rest != 0 && (rest < 0) != (b < 0);  // Python rounds down
      result = op == LexemeType::mod ? rest + (down ? b : 0) : a / b - (down ? 1 : 0);
    }
  }
  return fits ? Value::integer(result) : run.fail("the result does not fit into 64 bits");
}

Value numbers(Interpreter& run, LexemeType op, double a, double b) {
  if (op == LexemeType::add) return Value::number(a + b);
  if (op == LexemeType::sub) return Value::number(a - b);
  if (op == LexemeType::mul) return Value::number(a * b);
  if (op == LexemeType::pow) {
    const double result = std::pow(a, b);
    if (!std::isfinite(result) && std::isfinite(a) && std::isfinite(b)) {
      return run.fail("the result of ** is too large, or no real number");
    }
    return Value::number(result);
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

Value sequence_of(Interpreter& run, Kind kind, List items) {
  return kind == Kind::list ? run.list(std::move(items)) : run.tuple(std::move(items));
}

Value repeat(Interpreter& run, const Value& value, int64_t times) {
  const size_t size = value.is_text() ? value.as_text().size() : value.items().size();
  const uint64_t n = times > 0 && size > 0 ? static_cast<uint64_t>(times) : 0;
  const size_t most = value.is_text() ? run.limits.max_memory : run.limits.max_items;
  if (n > 0 && n > most / size) {
    return value.is_text() ? run.fail("a text is too long") : run.too_many();
  }
  TextWriter text(run.meter);
  List items = run.new_list();
  for (uint64_t i = 0; i < n && run.ok(); ++i) {
    if (value.is_text()) {
      text.copy(value.as<Text>());
    } else {
      append(items, value.items(), 0, size);
    }
  }
  return value.is_text() ? text.take() : sequence_of(run, value.kind(), std::move(items));
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

// An undefined value fails with its own message.
Value refuse_both(Interpreter& run, const char* pattern, const Value& a, const Value& b) {
  for (const Value* each : {&a, &b}) {
    if (each->is(Kind::undefined)) return run.refuse(*each, "");
  }
  return run.fail(pattern, type_name(a), type_name(b));
}

}  // namespace

Value Interpreter::binary(LexemeType op, const Value& a, const Value& b) {
  if (a.is_text() && op == LexemeType::mod) return format_percent(*this, a, b);
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
    for (const Value* each : {&a, &b}) append(joined, each->items(), 0, each->items().size());
    return sequence_of(*this, a.kind(), std::move(joined));
  }
  if (op == LexemeType::mul) {
    const auto repeats = [](const Value& v) { return v.is_text() || v.is_sequence(); };
    if (repeats(a) && b.is_integer()) return repeat(*this, a, b.as_integer());
    if (repeats(b) && a.is_integer()) return repeat(*this, b, a.as_integer());
  }
  if (op == LexemeType::add && a.is_text()) {
    return refuse(b, "can only concatenate str (not \"$\") to str");
  }
  return refuse_both(*this, "unsupported operand type(s): '$' and '$'", a, b);
}

Value Interpreter::negative(const Value& value) {
  if (!value.is_number()) return refuse(value, "bad operand type for unary -: '$'");
  const Value result = value.is_integer() ? integers(*this, LexemeType::sub, 0, value.as_integer())
                                          : Value::number(-value.as_double());
  return result.marked(value.from_input());
}

std::partial_ordering Interpreter::order(const Value& a, const Value& b) {
  meter.work(2);
  if (!ok()) return std::partial_ordering::unordered;
  if (a.is_integer() && b.is_integer()) return a.as_integer() <=> b.as_integer();
  if (a.is_number() && b.is_number()) return a.as_double() <=> b.as_double();
  if (a.is_text() && b.is_text()) {  // UTF-8 has the order of code points
    meter.pass(std::min(a.as_text().size(), b.as_text().size()));
    return a.as_text() <=> b.as_text();
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()) && !meter.spent(); ++i) {
      if (!same(x[i], y[i])) return order(x[i], y[i]);
    }
    return x.size() <=> y.size();
  }
  refuse_both(*this, "'<' not supported between instances of '$' and '$'", a, b);
  return std::partial_ordering::unordered;
}

bool Interpreter::compare(LexemeType op, const Value& a, const Value& b) {
  if (op == LexemeType::eq || op == LexemeType::ne) return same(a, b) == (op == LexemeType::eq);
  if (op == LexemeType::pipe || op == LexemeType::tilde)
    return contains(b, a) == (op == LexemeType::pipe);
  const std::partial_ordering compared = order(a, b);
  if (op == LexemeType::lt) return compared < 0;
  if (op == LexemeType::le) return compared <= 0;
  return op == LexemeType::gt ? compared > 0 : compared >= 0;
}

bool Interpreter::contains(const Value& container, const Value& wanted) {
  if (container.is_text()) {
    if (wanted.is_text()) {
      return find_part(meter, container.as_text(), wanted.as_text()) != std::string_view::npos;
    }
    refuse(wanted, "'in <string>' requires string as left operand, not $");
    return false;
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
  const auto before = [&](uint32_t a, uint32_t b) {
    return reverse ? order(keys[b], keys[a]) < 0 : order(keys[a], keys[b]) < 0;
  };
  for (size_t width = 1; width < n && ok(); width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const uint32_t* const left = from.begin() + begin;
      const uint32_t* const right = from.begin() + std::min(begin + width, n);
      const uint32_t* const end = from.begin() + std::min(begin + 2 * width, n);
      std::merge(left, right, right, end, to.begin() + begin, before);
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
