// The methods of values besides texts, and the table of all methods.
#include "jinja/methods.h"

#include <algorithm>

namespace sluice::jinja {
namespace {

Value dict_get(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!is_hashable(arguments[0])) {
    return run.refuse(arguments[0], "unhashable type: '$'");
  }
  if (const Value* found = find(self.entries(), arguments[0], run.budget)) return *found;
  return arguments.has(1) ? arguments[1] : Value::none();
}

template <View::What what>
Value dict_view(Interpreter& run, const Value& self, Arguments&) {
  return run.adopt(new View(self, what), sizeof(View));
}

// Lists and dicts never change, so a copy may be the same.
Value copy(Interpreter&, const Value& self, Arguments&) { return self; }

Value index_in(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t length = length_of(self);
  const auto bound = [&](const Value& value, int64_t otherwise) {
    const int64_t at = run.integer_of(value, otherwise);
    return std::clamp<int64_t>(at < 0 ? std::max(at, -length) + length : at, 0, length);
  };
  const int64_t from = arguments.list.size() > 1 ? bound(arguments[1], 0) : 0;
  const int64_t to = arguments.list.size() > 2 ? bound(arguments[2], length) : length;
  ItemCursor cursor{self, static_cast<size_t>(from)};
  Value item;
  for (int64_t at = from; at < to && run.ok() && cursor.next(run, item); ++at) {
    if (run.same(item, arguments[0])) return Value::integer(at);
  }
  return run.fail(run.repr(arguments[0]), " is not in the ", type_name(self));
}

Value count_in(Interpreter& run, const Value& self, Arguments& arguments) {
  ItemCursor cursor{self, 0};
  Value item;
  int64_t count = 0;
  while (run.ok() && cursor.next(run, item)) count += run.same(item, arguments[0]) ? 1 : 0;
  return Value::integer(count);
}

Value loop_cycle(Interpreter& run, const Value& self, Arguments& arguments) {
  if (arguments.list.empty()) return run.fail("no items for cycling given");
  const int64_t at = std::max<int64_t>(self.as<Loop>().index0, 0);
  return arguments.list[static_cast<size_t>(at) % arguments.list.size()];
}

Value loop_changed(Interpreter& run, const Value& self, Arguments& arguments) {
  auto& loop = self.as<Loop>();
  const auto same = [&run](const Value& a, const Value& b) { return run.same(a, b); };
  if (loop.has_changed && std::equal(loop.changed.begin(), loop.changed.end(),
                                     arguments.list.begin(), arguments.list.end(), same)) {
    return Value::boolean(false);
  }
  if (!loop.has_changed) run.keep(self);
  loop.has_changed = true;
  loop.changed = std::move(arguments.list);
  return Value::boolean(true);
}

Value cycler_next(Interpreter&, const Value& self, Arguments&) {
  auto& cycler = self.as<Cycler>();
  const size_t at = cycler.at;
  cycler.at = (at + 1) % cycler.items.size();
  return cycler.items[at];
}

Value cycler_reset(Interpreter&, const Value& self, Arguments&) {
  self.as<Cycler>().at = 0;
  return Value::none();
}

struct Row {
  Kind kind;
  Builtin method;
};
constexpr Row kMethods[] = {
    {Kind::dict, {"get", dict_get, "/key default", 1}},
    {Kind::dict, {"items", dict_view<View::What::items>, "", 0}},
    {Kind::dict, {"keys", dict_view<View::What::keys>, "", 0}},
    {Kind::dict, {"values", dict_view<View::What::values>, "", 0}},
    {Kind::dict, {"copy", copy, "", 0}},
    {Kind::list, {"index", index_in, "/value start stop", 1}},
    {Kind::list, {"count", count_in, "/value", 1}},
    {Kind::list, {"copy", copy, "", 0}},
    {Kind::tuple, {"index", index_in, "/value start stop", 1}},
    {Kind::tuple, {"count", count_in, "/value", 1}},
    {Kind::range, {"index", index_in, "/value", 1}},
    {Kind::range, {"count", count_in, "/value", 1}},
    {Kind::loop, {"cycle", loop_cycle, "*", 0}},
    {Kind::loop, {"changed", loop_changed, "*", 0}},
    {Kind::cycler, {"next", cycler_next, "", 0}},
    {Kind::cycler, {"reset", cycler_reset, "", 0}},
};
constexpr int kFirstOfText = 1000;  // their indices begin here

}  // namespace

int find_method(const Value& self, std::string_view name) {
  if (self.is_text()) {
    const auto methods = text_methods();
    for (size_t i = 0; i < methods.size(); ++i) {
      if (name == methods[i].name) return kFirstOfText + static_cast<int>(i);
    }
    return -1;
  }
  int index = 0;
  for (const Row& row : kMethods) {
    if (self.is(row.kind) && name == row.method.name) return index;
    ++index;
  }
  return -1;
}

const Builtin& method_at(int index) {
  if (index >= kFirstOfText) return text_methods()[static_cast<size_t>(index - kFirstOfText)];
  return kMethods[index].method;
}

bool changes_value(const Value& self, std::string_view name) {
  constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                           "insert", "sort",  "extend", "remove"};
  constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (self.is(Kind::list)) {
    return std::find(std::begin(kOfLists), std::end(kOfLists), name) != std::end(kOfLists);
  }
  return self.is(Kind::dict) &&
         std::find(std::begin(kOfDicts), std::end(kOfDicts), name) != std::end(kOfDicts);
}

}  // namespace sluice::jinja
