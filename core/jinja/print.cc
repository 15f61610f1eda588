// Values as text: Python's str() and repr(), and json.dumps().
#include <cmath>
#include <string>

#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "jinja/interpreter.h"
#include "jinja/number.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

void append_hex(std::string& out, uint32_t code, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[code >> shift & 15];
  }
}

void append_quoted(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_decode(text.substr(at));
    const uint32_t code = c.code_point;
    if (code == static_cast<uint8_t>(quote) || code == '\\') {
      out += '\\';
      out += text[at];
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (is_printable(code)) {
      out += text.substr(at, c.length);
    } else {
      out += code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
      append_hex(out, code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8);
    }
    at += c.length;
  }
  out += quote;
}

class Printer {
 public:
  explicit Printer(Interpreter& run) : run_(run) {}

  // A loop in the value may run the template to count its items, and that may take the value away
  // from where it was: so this holds it.
  void repr(const Value& shown) {
    const Value value = shown;
    run_.work(1);
    if (!run_.ok() || !run_.room(out.size())) return;
    if (level_ > 2 * run_.limits.max_value_depth) {
      run_.fail("a value nests too deeply to be printed");
      return;
    }
    ++level_;
    repr_inner(value);
    --level_;
  }

  std::string out;

 private:
  void repr_inner(const Value& value) {
    switch (value.kind()) {
      case Kind::missing:
      case Kind::none:
        out += "None";
        break;
      case Kind::boolean:
        out += value.as_bool() ? "True" : "False";
        break;
      case Kind::integer:
        out += std::to_string(value.as_integer());
        break;
      case Kind::number:
        out += shortest_decimal(value.as_double());
        break;
      case Kind::text:
        run_.work(value.as_text().size() / 32);
        if (value.as<Text>().escaped) out += "Markup(";
        append_quoted(out, value.as_text());
        if (value.as<Text>().escaped) out += ')';
        break;
      case Kind::list:
        sequence(value.items(), '[', ']');
        break;
      case Kind::tuple:
        sequence(value.items(), '(', ')');
        if (value.items().size() == 1) {
          out.back() = ',';
          out += ')';
        }
        break;
      case Kind::dict:
        entries(value.entries());
        break;
      case Kind::space:
        out += "<Namespace ";
        entries(value.as<Namespace>().entries);
        out += '>';
        break;
      case Kind::range: {
        const auto& range = value.as<Range>();
        out += concat("range(", range.start, ", ", range.stop);
        if (range.step != 1) out += concat(", ", range.step);
        out += ')';
        break;
      }
      case Kind::view:
        view(value);
        break;
      case Kind::macro: {
        const Stmt& stmt = *value.as<Macro>().stmt;
        out += "<Macro ";
        if (stmt.type == Stmt::Type::macro) {
          append_quoted(out, run_.program.names[stmt.symbol].as_text());
        } else {
          out += "anonymous";
        }
        out += '>';
        break;
      }
      case Kind::loop: {
        auto& loop = value.as<Loop>();
        out += concat("<LoopContext ", loop.index0 + 1, "/", loop.count(run_), ">");
        break;
      }
      case Kind::undefined:
        out += "Undefined";
        break;
      default:
        out += concat("<", type_name(value), " object>");
    }
  }

  void sequence(const std::vector<Value>& items, char open, char close) {
    out += open;
    for (size_t i = 0; i < items.size() && run_.ok(); ++i) {
      if (i > 0) out += ", ";
      repr(items[i]);
    }
    out += close;
  }

  void entries(const std::vector<Entry>& list) {
    out += '{';
    for (size_t i = 0; i < list.size() && run_.ok(); ++i) {
      if (i > 0) out += ", ";
      repr(list[i].first);
      out += ": ";
      repr(list[i].second);
    }
    out += '}';
  }

  void view(const Value& value) {
    const auto what = value.as<View>().what;
    out += what == View::What::keys     ? "dict_keys("
           : what == View::What::values ? "dict_values("
                                        : "dict_items(";
    std::vector<Value> items;
    run_.collect(value, items);
    sequence(items, '[', ']');
    out += ')';
  }

  Interpreter& run_;
  size_t level_ = 0;
};

class JsonWriter {
 public:
  JsonWriter(Interpreter& run, const JsonStyle& style) : run_(run), style_(style) {}

  void write(const Value& value) {
    run_.work(1);
    if (!run_.ok() || !run_.room(out.size())) return;
    switch (value.kind()) {
      case Kind::none:
        out += "null";
        break;
      case Kind::boolean:
        out += value.as_bool() ? "true" : "false";
        break;
      case Kind::integer:
        out += std::to_string(value.as_integer());
        break;
      case Kind::number:
        number(value.as_double());
        break;
      case Kind::text:
        quoted(value.as_text());
        break;
      case Kind::list:
      case Kind::tuple:
        list(value.items());
        break;
      case Kind::dict:
        dict(value);
        break;
      default:
        run_.refuse(value, "Object of type $ is not JSON serializable");
    }
  }

  std::string out;

 private:
  void number(double value) {
    if (std::isfinite(value)) {
      out += shortest_decimal(value);
    } else {
      out += std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    }
  }

  void quoted(std::string_view text) {
    run_.work(text.size() / 32);
    append_json_text(out, text, style_.ascii);
  }

  void line() {
    if (!style_.lines || !run_.room(out.size() + level_ * style_.indent.size())) return;
    out += '\n';
    for (size_t i = 0; i < level_; ++i) out += style_.indent;
  }

  void list(const std::vector<Value>& items) {
    out += '[';
    ++level_;
    for (size_t i = 0; i < items.size() && run_.ok(); ++i) {
      if (i > 0) out += style_.item_separator;
      line();
      write(items[i]);
    }
    --level_;
    if (!items.empty()) line();
    out += ']';
  }

  void dict(const Value& value) {
    std::vector<Value> keys;
    for (const Entry& entry : value.entries()) keys.push_back(entry.first);
    if (style_.sorted) run_.sort(keys, keys, false);
    out += '{';
    ++level_;
    for (size_t i = 0; i < keys.size() && run_.ok(); ++i) {
      if (i > 0) out += style_.item_separator;
      line();
      key(keys[i]);
      out += style_.key_separator;
      write(style_.sorted ? *find(value.entries(), keys[i], run_.budget)
                          : value.entries()[i].second);
    }
    --level_;
    if (!keys.empty()) line();
    out += '}';
  }

  void key(const Value& value) {
    if (value.is_text()) {
      quoted(value.as_text());
    } else if (value.is_number() || value.is(Kind::none)) {
      out += '"';
      write(value);
      out += '"';
    } else {
      run_.refuse(value, "keys must be str, int, float, bool or None, not $");
    }
  }

  Interpreter& run_;
  const JsonStyle& style_;
  size_t level_ = 0;
};

}  // namespace

std::string Interpreter::repr(const Value& value) {
  Printer printer(*this);
  printer.repr(value);
  return std::move(printer.out);
}

std::string Interpreter::str(const Value& value) {
  if (value.is_text()) {
    work(value.as_text().size() / 64);
    return std::string(value.as_text());
  }
  if (value.is(Kind::undefined)) return {};
  return repr(value);
}

Value to_json(Interpreter& run, const Value& value, const JsonStyle& style) {
  JsonWriter writer(run, style);
  writer.write(value);
  return run.ok() ? run.text(std::move(writer.out)) : Value();
}

}  // namespace sluice::jinja
