#include "chat/json.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/parse_json.h"

namespace sluice {
namespace {

using jinja::Entry;
using jinja::Value;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxValues = 1'000'000;  // names of members among them

// Builds the value while the parser reads. So no tree of the JSON is made, which would be searched
// for every member of an object.
class Builder : public JsonReceiver {
 public:
  explicit Builder(uint32_t& fields) : fields_(fields) {}

  bool null() override { return add(Value::none().marked(true)); }
  bool boolean(bool value) override { return add(Value::boolean(value).marked(true)); }
  bool negative_integer(int64_t value) override { return add(Value::integer(value).marked(true)); }
  bool integer(uint64_t value) override {
    if (value > INT64_MAX) return number(static_cast<double>(value));
    return add(Value::integer(static_cast<int64_t>(value)).marked(true));
  }
  bool number(double value) override { return add(Value::number(value).marked(true)); }
  bool string(std::string value) override {
    return add(Value::input_text(std::move(value), ++fields_));
  }
  bool start_object() override { return open(); }
  bool start_array() override { return open(); }
  bool key(std::string value) override {
    if (++values_ > kMaxValues) return false;
    open_.back().key = Value::input_text(std::move(value), ++fields_);
    return true;
  }
  bool end_object() override {
    Level level = std::move(open_.back());
    open_.pop_back();
    return add(Value::dict(std::move(level.entries)).marked(true));
  }
  bool end_array() override {
    Level level = std::move(open_.back());
    open_.pop_back();
    return add(Value::list(std::move(level.items)).marked(true));
  }

  Value result;
  bool too_deep = false;
  bool too_many() const { return values_ > kMaxValues; }

 private:
  // An object or an array that is not complete.
  struct Level {
    Value key;
    jinja::Entries entries{nullptr};
    jinja::List items{nullptr};
  };

  bool open() {
    too_deep = open_.size() >= kMaxDepth;
    if (!too_deep) open_.emplace_back();
    return !too_deep;
  }

  bool add(Value value) {
    if (++values_ > kMaxValues) return false;
    if (open_.empty()) {
      result = std::move(value);
      return true;
    }
    Level& level = open_.back();
    if (level.key.is_missing()) {
      level.items.push_back(std::move(value));
      return true;
    }
    // Few members have the same name, and those of long objects are not looked for.
    constexpr size_t kSearched = 256;
    if (level.entries.size() < kSearched) {
      for (Entry& entry : level.entries) {
        if (entry.first.as_text() != level.key.as_text()) continue;
        entry.second = std::move(value);
        level.key = Value();
        return true;
      }
    }
    level.entries.emplace_back(std::exchange(level.key, Value()), std::move(value));
    return true;
  }

  uint32_t& fields_;
  std::vector<Level> open_;
  size_t values_ = 0;
};

}  // namespace

Result<Value> value_from_json(std::string_view json, uint32_t& fields) {
  Builder builder(fields);
  size_t error_at = 0;
  if (parse_json(json, builder, &error_at)) return std::move(builder.result);
  if (builder.too_deep) {
    return fail(Code::invalid_argument, "the JSON nests deeper than ", kMaxDepth, " levels");
  }
  if (builder.too_many())
    return fail(Code::invalid_argument, "the JSON has more than ", kMaxValues, " values and names");
  return fail(Code::invalid_argument, "this is not valid JSON, at byte ", error_at);
}

}  // namespace sluice
