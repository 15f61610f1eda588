// strftime_now: those of C's codes for dates and times that templates use, with English names. C
// libraries differ in some of them, and theirs would bring printf and time zones into a page's
// modules.
#include <algorithm>
#include <chrono>

#include "jinja/interpreter.h"

namespace sluice::jinja {
namespace {

using std::chrono::days, std::chrono::sys_days, std::chrono::sys_seconds;

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
struct CodeText {
  char code;
  std::string_view text;
};
// Codes that stand for others.
constexpr CodeText kFormats[] = {{'c', "%a %b %e %T %Y"}, {'D', "%m/%d/%y"}, {'F', "%Y-%m-%d"},
                                 {'R', "%H:%M"},          {'T', "%H:%M:%S"}, {'x', "%m/%d/%y"},
                                 {'X', "%H:%M:%S"}};
struct CodeNumber {
  char code;
  int number;
  size_t width = 2;
  char fill = '0';
};

// A code that stands for no others. It fails for one that isn't known.
std::string text_of(Interpreter& run, char code, sys_seconds time) {
  const sys_days today = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(today);
  const int year{date.year()};
  const auto month = static_cast<int>(unsigned{date.month()});
  const auto day = static_cast<int>(unsigned{date.day()});
  const auto second = static_cast<int>((time - today).count()), hour = second / 3600;
  const std::string_view weekday = kDays[std::chrono::weekday(today).c_encoding()];
  const std::string_view name = kMonths[month - 1];
  // Python's datetime.now() has no zone.
  const CodeText texts[] = {{'a', weekday.substr(0, 3)},
                            {'A', weekday},
                            {'b', name.substr(0, 3)},
                            {'B', name},
                            {'f', "000000"},
                            {'%', "%"},
                            {'p', hour < 12 ? "AM" : "PM"},
                            {'z', ""},
                            {'Z', ""}};
  const CodeNumber numbers[] = {
      {'d', day},
      {'e', day, 2, ' '},
      {'H', hour},
      {'I', (hour + 11) % 12 + 1},
      {'j', static_cast<int>((today - sys_days(date.year() / 1 / 1)).count()) + 1, 3},
      {'m', month},
      {'M', second / 60 % 60},
      {'S', second % 60},
      {'y', year % 100},
      {'Y', year, 1}};
  for (const CodeText& each : texts)
    if (each.code == code) return std::string(each.text);
  for (const CodeNumber& each : numbers) {
    if (each.code != code) continue;
    const std::string digits = std::to_string(each.number);
    return std::string(each.width - std::min(each.width, digits.size()), each.fill) + digits;
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
    const auto* several = std::ranges::find(kFormats, format[at], &CodeText::code);
    const std::string text = several == std::end(kFormats) ? text_of(run, format[at], time)
                                                           : written(run, several->text, time);
    size_t front = 0;
    while (bare && front + 1 < text.size() && (text[front] == '0' || text[front] == ' ')) ++front;
    out.append(text, front);
  }
  return out;
}

}  // namespace

Value strftime_now(Interpreter& run, const Value&, Arguments& arguments) {
  if (!arguments[0].is_text()) return run.fail("strftime_now() needs a text");
  // At most 12 bytes are written for each of the format: the longest are "%c", 24 bytes.
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
