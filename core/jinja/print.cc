// Values as text: Python's str() and repr(), and json.dumps().
#include <cmath>
#include <string>

#include "base/decimal.h"
#include "base/format.h"
#include "jinja/interpreter.h"
#include "jinja/number.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

std::string hex(uint32_t code, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[code >> shift & 15];
  return out;
}

// Writes a text between quotes. `escaped` says what stands for a character: "" for itself.
template <typename Escaped>
void write_between(std::string_view quote, TextWriter& to, const Text& text,
                   const Escaped& escaped) {
  const std::string_view all = text.text;
  to.meter().scan(all.size());  // besides the reading, the choice of what stands for it
  to.own(quote);
  Chars chars(to.meter(), all);
  size_t done = 0;
  while (chars.next() && !to.meter().spent()) {
    const std::string changed = escaped(chars.code());
    if (changed.empty()) continue;
    to.meter().work(1);
    to.copy(text, all.substr(done, chars.at() - done));
    to.change(changed, text, chars.at());
    done = chars.at() + chars.bytes().size();
  }
  to.copy(text, all.substr(done));
  to.own(quote);
}

void write_quoted(TextWriter& to, const Text& text) {
  const bool has_single = text.text.find('\'') != std::string::npos;
  const char quote = has_single && text.text.find('"') == std::string::npos ? '"' : '\'';
  write_between({&quote, 1}, to, text, [quote](uint32_t c) -> std::string {
    if (c == static_cast<uint8_t>(quote) || c == '\\') return {'\\', static_cast<char>(c)};
    if (c == '\n' || c == '\r' || c == '\t') return c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    if (is_printable(c)) return {};
    return c < 0x100 ? "\\x" + hex(c, 2) : c < 0x10000 ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8);
  });
}

void write_json_text(TextWriter& to, const Text& text, bool ascii) {
  write_between("\"", to, text, [ascii](uint32_t c) -> std::string {
    constexpr std::string_view kSigns = "\"\\\b\f\n\r\t";
    const size_t sign = c < 0x80 ? kSigns.find(static_cast<char>(c)) : std::string_view::npos;
    if (sign != std::string_view::npos) return {'\\', "\"\\bfnrt"[sign]};
    if (c >= 0x20 && (c < 0x80 || !ascii)) return {};
    if (c < 0x10000) return "\\u" + hex(c, 4);
    return "\\u" + hex(0xd800 + ((c - 0x10000) >> 10), 4) + "\\u" + hex(0xdc00 + (c & 0x3ff), 4);
  });
}

class Printer {
 public:
  Printer(Interpreter& run, TextWriter& to) : run_(run), to_(to) {}

  // A loop in the value may run the template to count its items, and that may take the value away
  // from where it was: so this holds it.
  void repr(const Value& shown) {
    const Value value = shown;
    input_ |= value.from_input();
    run_.meter.work(2);
    if (!run_.ok()) return;
    if (level_ > 2 * run_.limits.max_value_depth) {
      run_.fail("a value nests too deeply to be printed");
      return;
    }
    ++level_;
    repr_inner(value);
    --level_;
  }
  // Whether anything of what was printed comes from the input.
  bool input() const { return input_; }

 private:
  void repr_inner(const Value& value) {
    const bool input = value.from_input();
    switch (value.kind()) {
      case Kind::missing:
      case Kind::none:
        return to_.add("None", input);
      case Kind::boolean:
        return to_.add(value.as_bool() ? "True" : "False", input);
      case Kind::integer:
        return to_.add(std::to_string(value.as_integer()), input);
      case Kind::number:
        run_.meter.work(decimal_work(value.as_double()));
        return to_.add(shortest_decimal(value.as_double()), input);
      case Kind::text:
        if (value.as<Text>().escaped) to_.own("Markup(");
        write_quoted(to_, value.as<Text>());
        if (value.as<Text>().escaped) to_.own(")");
        return;
      case Kind::list:
        return sequence(value.items(), "[", "]");
      case Kind::tuple:
        return sequence(value.items(), "(", value.items().size() == 1 ? ",)" : ")");
      case Kind::dict:
        return entries(value.entries(), "{", "}");
      case Kind::space:
        return entries(value.as<Namespace>().entries, "<Namespace {", "}>");
      case Kind::range: {
        const auto& range = value.as<Range>();
        const size_t begin = to_.size();
        to_.own(concat("range(", range.start, ", ", range.stop));
        if (range.step != 1) to_.own(concat(", ", range.step));
        to_.own(")");
        if (range.from_input) to_.mark_input(begin);
        return;
      }
      case Kind::keys:
      case Kind::values:
      case Kind::pairs:
        return sequence(value.items(), concat(type_name(value), "(["), "])");
      case Kind::macro: {
        const Stmt& stmt = *value.as<Macro>().stmt;
        to_.own("<Macro ");
        if (stmt.type == Stmt::Type::macro) {
          write_quoted(to_, run_.program.names[stmt.symbol].as<Text>());
        } else {
          to_.own("anonymous");
        }
        return to_.own(">");
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
      if (i > 0) to_.own(", ");
      repr(items[i]);
    }
    to_.own(close);
  }

  // A loop that is printed may change a namespace.
  void entries(const Entries& list, std::string_view open, std::string_view close) {
    to_.own(open);
    for (size_t i = 0; i < list.size() && run_.ok(); ++i) {
      if (i > 0) to_.own(", ");
      const Entry entry = list[i];
      repr(entry.first);
      to_.own(": ");
      repr(entry.second);
    }
    to_.own(close);
  }

  Interpreter& run_;
  TextWriter& to_;
  size_t level_ = 0;
  bool input_ = false;
};

class JsonWriter {
 public:
  JsonWriter(Interpreter& run, TextWriter& to, const JsonStyle& style)
      : run_(run), to_(to), style_(style) {}

  void write(const Value& value) {
    run_.meter.work(2);
    if (!run_.ok()) return;
    const bool input = value.from_input();
    input_ |= input;
    switch (value.kind()) {
      case Kind::none:
        return to_.add("null", input);
      case Kind::boolean:
        return to_.add(value.as_bool() ? "true" : "false", input);
      case Kind::integer:
        return to_.add(std::to_string(value.as_integer()), input);
      case Kind::number: {
        run_.meter.work(decimal_work(value.as_double()));
        const double number = value.as_double();
        return to_.add(std::isfinite(number) ? shortest_decimal(number)
                       : std::isnan(number)  ? "NaN"
                       : number < 0          ? "-Infinity"
                                             : "Infinity",
                       input);
      }
      case Kind::text:
        return write_json_text(to_, value.as<Text>(), style_.ascii);
      case Kind::list:
      case Kind::tuple:
        return list(value.items());
      case Kind::dict:
        return dict(value);
      default:
        run_.refuse(value, "Object of type $ is not JSON serializable");
    }
  }

  bool input() const { return input_; }

 private:
  void line() {
    if (!style_.lines) return;
    to_.own("\n");
    for (size_t i = 0; i < level_ && !to_.meter().spent(); ++i) to_.own(style_.indent);
  }

  void list(const List& items) {
    to_.own("[");
    ++level_;
    for (size_t i = 0; i < items.size() && run_.ok(); ++i) {
      if (i > 0) to_.own(style_.item_separator);
      line();
      write(items[i]);
    }
    --level_;
    if (!items.empty()) line();
    to_.own("]");
  }

  void dict(const Value& value) {
    List keys = run_.new_list();
    for (const Entry& entry : value.entries()) keys.push_back(entry.first);
    if (style_.sorted) run_.sort(keys, keys, false);
    to_.own("{");
    ++level_;
    for (size_t i = 0; i < keys.size() && run_.ok(); ++i) {
      if (i > 0) to_.own(style_.item_separator);
      line();
      key(keys[i]);
      to_.own(style_.key_separator);
      const Value* const found =
          style_.sorted ? find(value.entries(), keys[i], run_.meter) : &value.entries()[i].second;
      if (found != nullptr) write(*found);
    }
    --level_;
    if (!keys.empty()) line();
    to_.own("}");
  }

  void key(const Value& value) {
    if (value.is_text()) {
      input_ |= value.from_input();
      write_json_text(to_, value.as<Text>(), style_.ascii);
    } else if (value.is_number() || value.is(Kind::none)) {
      to_.own("\"");
      write(value);
      to_.own("\"");
    } else {
      run_.refuse(value, "keys must be str, int, float, bool or None, not $");
    }
  }

  Interpreter& run_;
  TextWriter& to_;
  const JsonStyle& style_;
  size_t level_ = 0;
  bool input_ = false;
};

}  // namespace

void Interpreter::write_repr(TextWriter& to, const Value& value) {
  const size_t begin = to.size();
  Printer printer(*this, to);
  printer.repr(value);
  if (value.get() != nullptr && printer.input()) to.mark_input(begin);
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
  const bool simple = value.is_number() || value.is(Kind::none);
  // Either is missing when the meter is spent.
  const Value part_of = value.is_text() ? part(value, value.as_text().substr(0, 200))
                        : simple        ? str(value)
                                        : Value();
  if (part_of.is_missing()) return concat("a ", type_name(value));
  if (simple) return std::string(part_of.as_text());
  TextWriter to(meter);
  write_quoted(to, part_of.as<Text>());
  return std::string(to.view());
}

Value to_json(Interpreter& run, const Value& value, const JsonStyle& style) {
  TextWriter to(run.meter);
  JsonWriter writer(run, to, style);
  writer.write(value);
  if (style.input || writer.input()) to.mark_input(0);
  return run.ok() ? to.take() : Value();
}

}  // namespace sluice::jinja
