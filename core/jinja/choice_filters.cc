// The filters that go through a sequence item by item, when the next item is wanted: map, select
// and their like.
#include <algorithm>

#include "jinja/filters.h"

namespace sluice::jinja {
namespace {

// map(attribute=..., default=...) or map(filter, arguments...).
struct MapIterator : Iterator {
  explicit MapIterator(Meter& meter) : Iterator(List(&meter)), arguments(meter) {}
  bool next(Interpreter& run, Value& item) override {
    Value input;
    if (!source.next(run, input)) return false;
    run.meter.work(1 + arguments.list.size() + arguments.named.size());
    if (name.is_missing()) {
      item = run.path(input, attribute, fallback);
    } else {
      Arguments copy = arguments;
      item = run.call_filter(name.as_text(), input, copy);
    }
    return run.ok();
  }
  ItemCursor source;
  Value name, attribute, fallback;
  Arguments arguments;
};

// select, reject, selectattr, rejectattr.
struct SelectIterator : Iterator {
  explicit SelectIterator(Meter& meter) : Iterator(List(&meter)), arguments(meter) {}
  bool next(Interpreter& run, Value& item) override {
    while (run.ok() && source.next(run, item)) {
      run.meter.work(1 + arguments.list.size() + arguments.named.size());
      const Value tested = attribute.is_missing() ? item : run.path(item, attribute);
      if (!run.ok()) return false;
      bool holds = false;
      if (name.is_missing()) {
        holds = is_true(tested);
      } else {
        Arguments copy = arguments;
        holds = is_true(run.call_test(name.as_text(), tested, copy));
      }
      if (holds != reject) return run.ok();
    }
    return false;
  }
  ItemCursor source;
  Value name, attribute;
  Arguments arguments;
  bool reject = false;
};

size_t depth_of(const Value& source, const Arguments& arguments) {
  size_t depth = source.depth();
  for (const Value& value : arguments.list) depth = std::max(depth, value.depth());
  for (const Entry& entry : arguments.named) depth = std::max(depth, entry.second.depth());
  return depth;
}

// Takes the first argument away.
Value take_first(Arguments& arguments) {
  if (arguments.list.empty()) return {};
  Value first = arguments.list[0];
  arguments.list.erase(arguments.list.begin());
  return first;
}

Value map_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!is_true(self)) return run.iterator(run.new_list());
  auto* const made = new MapIterator(run.meter);
  const Value holder = run.adopt(made, sizeof(MapIterator), depth_of(self, arguments));
  if (holder.is_missing()) return {};
  made->source.source = self;  // whether it can be iterated shows later, as in Python
  const Value* attribute = find(arguments.named, "attribute", run.meter);
  if (arguments.list.empty() && attribute != nullptr) {
    made->attribute = *attribute;
    if (const Value* fallback = find(arguments.named, "default", run.meter))
      made->fallback = *fallback;
    if (arguments.named.size() > (made->fallback.is_missing() ? 1u : 2u)) {
      return run.fail("map() got an unexpected keyword argument");
    }
    return holder;
  }
  made->name = take_first(arguments);
  if (!made->name.is_text()) return run.fail("map requires a filter argument");
  made->arguments = std::move(arguments);
  return holder;
}

enum Choice : uint8_t { kSelect = 0, kReject = 1, kByAttribute = 2 };

Value select_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int choice = arguments.which;
  if (!is_true(self)) return run.iterator(run.new_list());
  auto* const made = new SelectIterator(run.meter);
  const Value holder = run.adopt(made, sizeof(SelectIterator), depth_of(self, arguments));
  if (holder.is_missing()) return {};
  made->source.source = self;  // whether it can be iterated shows later, as in Python
  made->reject = (choice & kReject) != 0;
  if ((choice & kByAttribute) != 0) {
    made->attribute = take_first(arguments);
    if (made->attribute.is_missing()) return run.fail("Missing parameter for attribute name");
  }
  made->name = take_first(arguments);
  if (!made->name.is_missing() && !made->name.is_text())
    return run.fail("the name of a test must be a text");
  made->arguments = std::move(arguments);
  return holder;
}

constexpr Builtin kChoiceFilters[] = {
    {"map", map_filter, "*", 0},
    {"select", select_filter, "*", 0, kSelect},
    {"reject", select_filter, "*", 0, kReject},
    {"selectattr", select_filter, "*", 0, kByAttribute},
    {"rejectattr", select_filter, "*", 0, kReject | kByAttribute},
};

}  // namespace

std::span<const Builtin> choice_filters() { return kChoiceFilters; }

}  // namespace sluice::jinja
