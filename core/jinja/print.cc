// Values as text: Python's str() and repr(), and json.dumps().
#include <cmath>
#include <string>

#include "base/decimal.h"
#include "base/format.h"
#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

std::string hex(char sign, uint32_t code, int digits) {
  std::string out = {'\\', sign};
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[code >> shift & 15];
  return out;
}

// Writes a value as repr() does, or as JSON. Both have the same form, but for some names.
class Printer {
 public:
  Printer(Interpreter& run, TextWriter& to, const JsonStyle& style, bool json)
      : run_(run), to_(to), style_(style), json_(json) {}

  // What is made of anything from the input is all from the input.
  void print(const Value& value) {
    const size_t begin = to_.size();
    write(value);
    if (input_) to_.mark_input(begin);
  }

 private:
  // A loop in the value may run the template to count its items, and that may take the value away
  // from where it was: so this holds it.
  void write(const Value& shown) {
    const Value value = shown;
    input_ |= value.from_input();
    run_.meter.work(2);
    if (!run_.ok()) return;
    if (level_ > 2 * run_.limits.max_value_depth) {
      run_.fail("a value nests too deeply to be printed");
      return;
    }
    ++level_;
    write_inner(value);
    --level_;
  }

  void write_inner(const Value& value) {
    switch (value.kind()) {
      case Kind::missing:
      case Kind::none:
        return to_.own(json_ ? "null" : "None");
      case Kind::boolean:
        if (json_) return to_.own(value.as_bool() ? "true" : "false");
        return to_.own(value.as_bool() ? "True" : "False");
      case Kind::integer:
        return to_.own(concat(value.as_integer()));
      case Kind::number:
        return number(value.as_double());
      case Kind::text:
        return text(value.as<Text>());
      case Kind::list:
        return sequence(value.items(), "[", "]");
      case Kind::tuple:
        if (json_) return sequence(value.items(), "[", "]");
        return sequence(value.items(), "(", value.items().size() == 1 ? ",)" : ")");
      case Kind::dict:
        return entries(value.entries(), "{", "}");
      default:
        if (!json_) return other(value);
        run_.refuse(value, "Object of type $ is not JSON serializable");
    }
  }

  void number(double value) {
    run_.meter.work(decimal_work(value));
    if (!json_ || std::isfinite(value)) return to_.own(shortest_decimal(value));
    to_.own(std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
  }

  void text(const Text& text) {
    const auto has = [&text](char c) { return text.text.find(c) != std::string::npos; };
    const bool markup = text.escaped && !json_;
    const char quote = json_ || (has('\'') && !has('"')) ? '"' : '\'';
    if (markup) to_.own("Markup(");
    to_.own({&quote, 1});
    write_changed(to_, text, [&](uint32_t c) { return escaped(c, quote); });
    to_.own({&quote, 1});
    if (markup) to_.own(")");
  }

  // What stands for a character between quotes: "" for itself.
  std::string escaped(uint32_t c, char quote) const {
    const std::string_view signs = json_ ? "\n\r\t\b\f" : "\n\r\t";
    if (c == static_cast<uint8_t>(quote) || c == '\\') return {'\\', static_cast<char>(c)};
    const size_t sign = c < 0x80 ? signs.find(static_cast<char>(c)) : std::string_view::npos;
    if (sign != std::string_view::npos) return {'\\', "nrtbf"[sign]};
    if (json_ ? c >= 0x20 && (c < 0x80 || !style_.ascii) : is_printable(c)) return {};
    if (c < 0x100 && !json_) return hex('x', c, 2);
    if (c < 0x10000) return hex('u', c, 4);
    if (!json_) return hex('U', c, 8);
    return hex('u', 0xd800 + ((c - 0x10000) >> 10), 4) + hex('u', 0xdc00 + (c & 0x3ff), 4);
  }

  // What JSON doesn't have.
  void other(const Value& value) {
    switch (value.kind()) {
      case Kind::space:
        return entries(value.as<Namespace>().entries, "<Namespace {", "}>");
      case Kind::range: {
        const auto& range = value.as<Range>();
        to_.own(concat("range(", range.start, ", ", range.stop));
        if (range.step != 1) to_.own(concat(", ", range.step));
        return to_.own(")");
      }
      case Kind::keys:
      case Kind::values:
      case Kind::pairs:
        return sequence(value.items(), concat(type_name(value), "(["), "])");
      case Kind::macro: {
        const Stmt& stmt = *value.as<Macro>().stmt;
        const bool named = stmt.type == Stmt::Type::macro;
        const std::string_view name = named ? run_.program.names[stmt.symbol].as_text() : "";
        return to_.own(named ? concat("<Macro '", name, "'>") : "<Macro anonymous>");
      }
      case Kind::loop: {
        auto& loop = value.as<Loop>();
        return to_.own(concat("<LoopContext ", loop.index0 + 1, "/", loop.count(run_), ">"));
      }
      case Kind::undefined:
        return to_.own("Undefined");
      default:
        to_.own(concat("<", type_name(value), " object>"));
    }
  }

  void sequence(const List& items, std::string_view open, std::string_view close) {
    to_.own(open);
    for (size_t i = 0; i < items.size() && run_.ok(); ++i) {
      begin_item(i);
      write(items[i]);
    }
    if (!items.empty()) line(level_ - 1);
    to_.own(close);
  }

  // Of a namespace, a loop that is printed may change values and add some.
  void entries(const Entries& all, std::string_view open, std::string_view close) {
    List keys = run_.new_list();
    for (const Entry& entry : all) keys.push_back(entry.first);
    if (style_.sorted) run_.sort(keys, keys, false);
    to_.own(open);
    for (size_t i = 0; i < keys.size() && run_.ok(); ++i) {
      begin_item(i);
      const bool number = keys[i].is_number() || keys[i].is(Kind::none);
      if (json_ && !number && !keys[i].is_text()) {
        run_.refuse(keys[i], "keys must be str, int, float, bool or None, not $");
        return;
      }
      if (json_ && number) to_.own("\"");
      write(keys[i]);
      if (json_ && number) to_.own("\"");
      to_.own(style_.key_separator);
      const Value* const value = style_.sorted ? find(all, keys[i], run_.meter) : &all[i].second;
      if (value != nullptr) write(*value);
    }
    if (!keys.empty()) line(level_ - 1);
    to_.own(close);
  }

  void begin_item(size_t i) {
    if (i > 0) to_.own(style_.item_separator);
    line(level_);
  }

  void line(size_t indent) {
    if (!style_.lines) return;
    to_.own("\n");
    for (size_t i = 0; i < indent && !to_.meter().spent(); ++i) to_.own(style_.indent);
  }

  Interpreter& run_;
  TextWriter& to_;
  const JsonStyle& style_;
  const bool json_;
  size_t level_ = 0;  // how many values are around
  bool input_ = false;
};

}  // namespace

void Interpreter::write_repr(TextWriter& to, const Value& value) {
  Printer(*this, to, JsonStyle(), false).print(value);
}

void Interpreter::write(TextWriter& to, const Value& value) {
  if (value.is_text()) {
    to.copy(value.as<Text>());
  } else if (!value.is(Kind::undefined)) {
    write_repr(to, value);
  }
}

Value Interpreter::str(const Value& value) {
  if (value.is_text()) return value;
  TextWriter to(meter);
  write(to, value);
  return ok() ? to.take() : Value();
}

std::string Interpreter::shown(const Value& value) {
  const bool simple = value.is_number() || value.is_text() || value.is(Kind::none);
  const Value cut = value.is_text() ? part(value, value.as_text().substr(0, 200)) : value;
  if (!simple || cut.is_missing()) return concat("a ", type_name(value));
  TextWriter to(meter);
  write_repr(to, cut);
  return std::string(to.view());
}

Value to_json(Interpreter& run, const Value& value, const JsonStyle& style) {
  TextWriter to(run.meter);
  Printer(run, to, style, true).print(value);
  if (style.input) to.mark_input(0);
  return run.ok() ? to.take() : Value();
}

}  // namespace sluice::jinja
