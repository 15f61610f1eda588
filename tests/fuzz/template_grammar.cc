#include "template_grammar.h"

#include <string_view>
#include <utility>

#include "chat_inputs.h"
#include "template_expressions.h"

namespace sluice {
namespace {

class Grammar : Expressions {
 public:
  Grammar(Choices& choices, bool large) : Expressions(choices, large) {}

  MadeTemplate run() {
    MadeTemplate made;
    parts_ = made.parts = choices_.sometimes(1);
    size_t text = 0, number = 0;
    if (!declare("ns.a", Made::text, text) || !declare("ns.n", Made::number, number)) return {};
    source_ = "{% set ns = namespace(a='', n=0) %}";
    const size_t macros = choices_.below(3);
    for (size_t i = 0; i < macros; ++i) macro();
    const size_t count = 1 + choices_.below(4);
    for (size_t i = 0; i < count; ++i) statement(3);
    if (choices_.sometimes(12)) messages_loop(3);
    made.source = std::move(source_);
    made.kept = kept();
    made.ordered = ordered_;
    return made;
  }

 private:
  std::string new_name() {
    std::string name = "v";
    return name += std::to_string(++names_);
  }
  // What is declared inside goes again at the end.
  template <typename Inner>
  void scope(const Inner& inner) {
    const size_t known = variables_.size();
    inner();
    variables_.resize(known);
  }
  void body(size_t depth) {
    const size_t count = 1 + choices_.below(3);
    for (size_t i = 0; i < count; ++i) statement(depth);
  }

  void data() {
    const std::string_view text = piece();
    source_ += text;
    write(origin_of(text));
  }
  void output() {
    const Code code = choices_.below(4) == 0 ? any(3) : text(4);
    source_ += "{{ " + code.text + " }}";
    write(code.from);
  }

  void statement(size_t depth) {
    constexpr size_t kFlat = 8;
    ++size_;
    const bool flat = depth == 0 || size_ > kMaxSize || choices_.ended();
    switch (choices_.below(flat ? kFlat : 20)) {
      case 0:
      case 1:
      case 2:
        return data();
      case 3:
      case 4:
      case 5:
        return output();
      case 6:
        return set();
      case 7:
        return set_space();
      case 8:
      case 9:
      case 10:
        return messages_loop(depth - 1);
      case 11:
        return characters_loop(depth - 1);
      case 12:
        return items_loop(depth - 1);
      case 13:
      case 14:
        return branch(depth - 1);
      case 15:
        return captured(depth - 1);
      case 16:
        return filtered(depth - 1);
      case 17:
        return call_block(depth - 1);
      case 18:
        return with(depth - 1);
      default:
        source_ += "{% generation %}";
        scope([&] { body(depth - 1); });
        source_ += "{% endgeneration %}";
    }
  }

  void set() {
    constexpr Made kMade[] = {Made::text, Made::text, Made::number, Made::list};
    const Made made = choices_.pick(kMade);
    const Code value = expression(made, 3);
    const std::string name = new_name();
    size_t number = 0;
    if (!declare(name, made, number)) return;
    origins_[number].add(value.from);
    source_ += "{% set " + name + " = " + value.text + " %}";
  }
  void set_space() {
    const bool text_part = choices_.below(4) != 3;
    const Code value = text_part ? text(2) : expression(Made::number, 2);
    const Variable& to = variables_[text_part ? 0 : 1];
    origins_[to.number].add(value.from);
    const bool adds = choices_.below(2) == 0;
    source_ += "{% set " + to.name + " = " + (adds ? to.name + (text_part ? " ~ " : " + ") : "") +
               value.text + " %}";
  }

  void loop(std::string_view head, size_t depth) {
    source_ += head;
    const bool outer = std::exchange(in_loop_, true);
    body(depth);
    if (choices_.sometimes(1)) {
      const Code test = expression(Made::truth, 2);
      source_ += "{% if " + test.text + " %}{% break %}{% endif %}";
    }
    in_loop_ = outer;
    if (choices_.sometimes(1)) {
      source_ += "{% else %}";
      data();
    }
    source_ += "{% endfor %}";
  }
  void messages_loop(size_t depth) {
    const bool outer = std::exchange(in_message_, true);
    scope([&] {
      loop(choices_.sometimes(2) ? "{% for m in messages if m.role != 'tool' %}"
                                 : "{% for m in messages %}",
           depth);
    });
    in_message_ = outer;
  }
  void characters_loop(size_t depth) {
    const Code over = choices_.below(2) == 0 ? text(2) : expression(Made::list, 2);
    scope([&] {
      const std::string name = new_name();
      size_t number = 0;
      if (!declare(name, Made::text, number)) return;
      origins_[number].add(over.from);
      loop("{% for " + name + " in " + over.text + " %}", depth);
    });
  }
  void items_loop(size_t depth) {
    const Code over = expression(Made::dict, 2);
    scope([&] {
      const std::string key = new_name(), value = new_name();
      size_t number = 0, value_number = 0;
      if (!declare(key, Made::text, number) || !declare(value, Made::text, value_number)) return;
      origins_[number].add(over.from);
      origins_[value_number].add(over.from);
      origins_[value_number].add(origin_of(made_characters("repr")));
      const bool sorted = choices_.sometimes(4);
      ordered_ |= sorted;
      loop("{% for " + key + ", " + value + " in " + over.text +
               (sorted                   ? "|dictsort %}"
                : choices_.below(2) == 0 ? ".items() %}"
                                         : "|items %}"),
           depth);
    });
  }

  void branch(size_t depth) {
    const Code test = expression(Made::truth, 3);
    source_ += "{% if " + test.text + " %}";
    scope([&] { body(depth); });
    if (choices_.below(2) == 0) {
      source_ += "{% else %}";
      scope([&] { body(depth); });
    }
    source_ += "{% endif %}";
  }

  // The body's output is what `number` has.
  void sink(size_t number, size_t depth) {
    sinks_.push_back(number);
    scope([&] { body(depth); });
    sinks_.pop_back();
  }
  void captured(size_t depth) {
    const std::string name = new_name();
    size_t number = 0;
    if (!declare(name, Made::text, number)) return;
    const Variable made = variables_.back();
    variables_.pop_back();
    constexpr std::string_view kFilters[] = {"", "|upper", "|trim", "|reverse",
                                             "|replace('x', '')"};
    const std::string_view filter = choices_.pick(kFilters);
    source_ += "{% set " + name + std::string(filter) + " %}";
    sink(number, depth);
    source_ += "{% endset %}";
    if (filter == "|upper") origins_[number].add(origin_of(made_characters("case")));
    if (filter.starts_with("|replace")) compare(origin_of_variable(number), origin_of("x"));
    variables_.push_back(made);
  }
  void filtered(size_t depth) {
    constexpr std::string_view kFilters[] = {"lower",     "upper",   "trim",  "replace('x', '')",
                                             "indent(2)", "reverse", "title", "escape"};
    const std::string_view filter = choices_.pick(kFilters);
    if (origins_.size() == kMaxVariables) return;
    const size_t number = origins_.size();
    origins_.emplace_back();
    source_ += "{% filter " + std::string(filter) + " %}";
    sink(number, depth);
    source_ += "{% endfilter %}";
    Origin from = origin_of_variable(number);
    compare(from, origin_of("x"));
    needed_.emplace_back(from, chars_of("-({[<"));
    from.add(origin_of(made_characters(filter == "escape" ? "html" : "case")));
    html_ |= filter == "escape";
    write(from);
  }
  void with(size_t depth) {
    const Code value = text(3);
    scope([&] {
      const std::string name = new_name();
      size_t number = 0;
      if (!declare(name, Made::text, number)) return;
      origins_[number].add(value.from);
      source_ += "{% with " + name + " = " + value.text + " %}";
      body(depth);
      source_ += "{% endwith %}";
    });
  }

  // Macros stand at the beginning and see no variables but the namespace and their parameters.
  void macro() {
    Macro made;
    made.name = "f";
    made.name += std::to_string(macros_.size() + call_macros_.size());
    if (origins_.size() + 4 > kMaxVariables) return;
    bool for_call = false;
    if (caller_ == SIZE_MAX) {
      caller_ = origins_.size();
      origins_.emplace_back();
    }
    made.result = origins_.size();
    origins_.emplace_back();
    scope([&] {
      source_ += "{% macro " + made.name + "(";
      const size_t count = 1 + choices_.below(2);
      for (size_t i = 0; i < count; ++i) {
        const std::string name = new_name();
        size_t number = 0;
        if (!declare(name, Made::text, number)) break;
        made.parameters.push_back(number);
        source_ += i > 0 ? ", " : "";
        source_ += name;
      }
      source_ += ") %}";
      // Half of them are for call blocks only.
      for_call = choices_.below(2) == 1;
      if (for_call) ++macro_depth_;
      sinks_.push_back(made.result);
      body(1);
      if (for_call) {
        source_ += "{{ caller() }}";
        write(origin_of_variable(caller_));
        --macro_depth_;
      }
      sinks_.pop_back();
    });
    source_ += "{% endmacro %}";
    (for_call ? call_macros_ : macros_).push_back(std::move(made));
  }
  void call_block(size_t depth) {
    if (call_macros_.empty()) return output();
    const Macro chosen = call_macros_[choices_.below(call_macros_.size())];
    source_ += "{% call " + chosen.name + "(";
    for (size_t i = 0; i < chosen.parameters.size(); ++i) {
      const Code argument = text(2);
      source_ += (i > 0 ? ", " : "") + argument.text;
      origins_[chosen.parameters[i]].add(argument.from);
    }
    source_ += ") %}";
    sink(caller_, depth);
    source_ += "{% endcall %}";
    write(origin_of_variable(chosen.result));
  }

  std::string source_;
};

}  // namespace

MadeTemplate make_template(Choices& choices, bool large) { return Grammar(choices, large).run(); }

}  // namespace sluice
