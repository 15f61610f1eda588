// strftime_now: those of C's codes for dates and times that templates use, with English names. C
// libraries differ in some of them, and theirs would bring printf and time zones into a page's
// modules.
#include <algorithm>
#include <chrono>

#include "jinja/interpreter.h"

namespace sluice::jinja {
namespace {

using std::chrono::sys_days, std::chrono::sys_seconds;

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

// A code for a number: which, and how many characters it has at least.
enum Number { kYear, kYear2, kMonth, kDay, kHour, kHour12, kMinute, kSecond };
struct NumberCode {
  char code;
  Number number;
  size_t width;
  char fill;
};
constexpr NumberCode kNumbers[] = {
    {'d', kDay, 2, '0'},    {'e', kDay, 2, ' '},   {'H', kHour, 2, '0'},
    {'I', kHour12, 2, '0'}, {'m', kMonth, 2, '0'}, {'M', kMinute, 2, '0'},
    {'S', kSecond, 2, '0'}, {'y', kYear2, 2, '0'}, {'Y', kYear, 1, '0'},
};

// What a code stands for. It fails for one that isn't known.
std::string text_of(Interpreter& run, char code, sys_seconds time) {
  const sys_days today = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(today);
  const int year{date.year()};
  const auto month = static_cast<int>(unsigned{date.month()});
  const auto day = static_cast<int>(unsigned{date.day()});
  const auto second = static_cast<int>((time - today).count()), hour = second / 3600;
  const int numbers[] = {
      year, year % 100, month, day, hour, (hour + 11) % 12 + 1, second / 60 % 60, second % 60};
  for (const NumberCode& each : kNumbers) {
    if (each.code != code) continue;
    const std::string digits = std::to_string(numbers[each.number]);
    return std::string(each.width - std::min(each.width, digits.size()), each.fill) + digits;
  }
  const std::string_view weekday = kDays[std::chrono::weekday(today).c_encoding()];
  const std::string_view name = kMonths[month - 1];
  // Python's datetime.now() has no zone.
  const std::pair<char, std::string_view> texts[] = {{'a', weekday.substr(0, 3)},
                                                     {'A', weekday},
                                                     {'b', name.substr(0, 3)},
                                                     {'B', name},
                                                     {'p', hour < 12 ? "AM" : "PM"},
                                                     {'z', ""},
                                                     {'Z', ""},
                                                     {'%', "%"}};
  for (const auto& [known, text] : texts) {
    if (known == code) return std::string(text);
  }
  run.fail("strftime_now() doesn't support the code '%$' here", {&code, 1});
  return {};
}

std::string written(Interpreter& run, std::string_view format, sys_seconds time) {
  std::string out;
  for (size_t i = 0; i < format.size() && run.ok(); ++i) {
    // "%-d": without zeros or spaces in front.
    const bool bare = format.substr(i).starts_with("%-") && i + 2 < format.size();
    const size_t at = i + (bare ? 2 : 1);
    if (format[i] != '%' || at >= format.size()) {
      out += format[i];
      continue;
    }
    i = at;
    const std::string text = format[i] == 'F'   ? written(run, "%Y-%m-%d", time)
                             : format[i] == 'T' ? written(run, "%H:%M:%S", time)
                                                : text_of(run, format[i], time);
    size_t front = 0;
    while (bare && front + 1 < text.size() && (text[front] == '0' || text[front] == ' ')) ++front;
    out.append(text, front);
  }
  return out;
}

}  // namespace

Value strftime_now(Interpreter& run, const Value&, Arguments& arguments) {
  if (!arguments[0].is_text()) return run.fail("strftime_now() needs a text");
  // At most 5 bytes are written for each of the format: the longest are "%F", 10 bytes.
  constexpr size_t kMostBytes = 10'000;
  const std::string_view format = arguments[0].as_text();
  if (format.size() > kMostBytes) return run.fail("the format of strftime_now() is too long");
  run.meter.work(format.size() * 20);
  // Years 1 to 9999, as in Python.
  int64_t local = 0;
  if (__builtin_add_overflow(run.options.now, int64_t{run.options.utc_offset_seconds}, &local) ||
      local < -62135596800 || local > 253402300799)
    local = 0;
  TextWriter out(run.meter);
  out.add(written(run, format, sys_seconds(std::chrono::seconds(local))),
          arguments[0].from_input());
  return out.take();
}

}  // namespace sluice::jinja
