// The filters that apply others to each item: map, select and their like. jinja2 does so when the
// next item is wanted, which nobody sees.
#include "jinja/filters.h"

namespace sluice::jinja {
namespace {

// Takes the first argument away.
Value take_first(Arguments& arguments) {
  if (arguments.list.empty()) return {};
  Value first = arguments.list[0];
  arguments.list.erase(arguments.list.begin());
  return first;
}

// A filter or a test of an item. They change their arguments.
Value apply_to(Interpreter& run, bool test, const Value& name, const Value& item,
               const Arguments& arguments) {
  run.meter.work(1 + arguments.list.size() + arguments.named.size());
  Arguments copy = arguments;
  return run.apply(test, name.as_text(), item, copy);
}

// map(attribute=..., default=...) or map(filter, arguments...).
Value map_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!is_true(self)) return run.generator(run.new_list());
  Value name, attribute, fallback;
  if (arguments.list.empty()) {
    attribute = arguments.take("attribute", run.meter);
    fallback = arguments.take("default", run.meter);
    if (!run.all_taken(arguments, "map", 0)) return {};
  } else {
    name = take_first(arguments);
  }
  if (attribute.is_missing() && !name.is_text()) return run.fail("map requires a filter argument");
  const Value all = run.iterate(self);
  if (all.is_missing()) return {};
  List made = run.new_list();
  for (const Value& item : all.items()) {
    made.push_back(name.is_missing() ? run.path(item, attribute, fallback)
                                     : apply_to(run, false, name, item, arguments));
    if (!run.ok()) return {};
  }
  return run.generator(std::move(made));
}

enum Choice : uint8_t { kSelect = 0, kReject = 1, kByAttribute = 2 };

Value select_filter(Interpreter& run, const Value& self, Arguments& arguments, int choice) {
  if (!is_true(self)) return run.generator(run.new_list());
  Value attribute;
  if ((choice & kByAttribute) != 0) {
    attribute = take_first(arguments);
    if (attribute.is_missing()) return run.fail("Missing parameter for attribute name");
  }
  const Value name = take_first(arguments);
  if (!name.is_missing() && !name.is_text()) return run.fail("the name of a test must be a text");
  const Value all = run.iterate(self);
  if (all.is_missing()) return {};
  List chosen = run.new_list();
  for (const Value& item : all.items()) {
    Value tested = run.path(item, attribute);
    if (run.ok() && !name.is_missing()) tested = apply_to(run, true, name, tested, arguments);
    if (!run.ok()) return {};
    if (is_true(tested) != ((choice & kReject) != 0)) chosen.push_back(item);
  }
  return run.generator(std::move(chosen));
}

constexpr Builtin kChoiceFilters[] = {
    {"map", map_filter, "*", 0},
    {"select", variant<select_filter, kSelect>, "*", 0},
    {"reject", variant<select_filter, kReject>, "*", 0},
    {"selectattr", variant<select_filter, kByAttribute>, "*", 0},
    {"rejectattr", variant<select_filter, kReject | kByAttribute>, "*", 0},
};

}  // namespace

std::span<const Builtin> choice_filters() { return kChoiceFilters; }

}  // namespace sluice::jinja
