// strftime_now: C's codes for dates and times, with English names. C libraries differ in some of
// them, and theirs would bring printf and time zones into a page's modules.
#include <algorithm>
#include <chrono>

#include "jinja/interpreter.h"

namespace sluice::jinja {
namespace {

using std::chrono::days, std::chrono::sys_days, std::chrono::sys_seconds;
using std::chrono::year_month_day;

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
                                 {'r', "%I:%M:%S %p"},    {'R', "%H:%M"},    {'T', "%H:%M:%S"},
                                 {'x', "%m/%d/%y"},       {'X', "%H:%M:%S"}};
struct CodeNumber {
  char code;
  int64_t number;
  size_t width = 2;
  char fill = '0';
};

// The days of its year that are over.
int64_t days_over(sys_days day) {
  return (day - sys_days(year_month_day(day).year() / 1 / 1)).count();
}

// A code that stands for no others. One that nobody knows stays as it is.
std::string text_of(char code, sys_seconds time, int64_t now) {
  const sys_days today = std::chrono::floor<days>(time);
  const year_month_day date(today);
  const int64_t year = int{date.year()}, month = unsigned{date.month()}, day = unsigned{date.day()};
  const std::chrono::hh_mm_ss clock(time - today);
  const int64_t hour = clock.hours().count(), hour12 = (hour + 11) % 12 + 1;
  const int64_t from_sunday = std::chrono::weekday(today).c_encoding();
  const int64_t from_monday = (from_sunday + 6) % 7, over = days_over(today);
  // A week of ISO 8601 belongs to the year of its Thursday.
  const sys_days thursday = today + days(3 - from_monday);
  const int64_t week_year = int{year_month_day(thursday).year()};
  const std::string_view weekday = kDays[from_sunday], name = kMonths[month - 1];
  // Python's datetime.now() has no zone.
  const CodeText texts[] = {{'a', weekday.substr(0, 3)},
                            {'A', weekday},
                            {'b', name.substr(0, 3)},
                            {'B', name},
                            {'f', "000000"},
                            {'h', name.substr(0, 3)},
                            {'n', "\n"},
                            {'p', hour < 12 ? "AM" : "PM"},
                            {'P', hour < 12 ? "am" : "pm"},
                            {'t', "\t"},
                            {'z', ""},
                            {'Z', ""},
                            {'%', "%"}};
  const CodeNumber numbers[] = {{'C', year / 100},
                                {'d', day},
                                {'e', day, 2, ' '},
                                {'g', week_year % 100},
                                {'G', week_year, 1},
                                {'H', hour},
                                {'I', hour12},
                                {'j', over + 1, 3},
                                {'k', hour, 2, ' '},
                                {'l', hour12, 2, ' '},
                                {'m', month},
                                {'M', clock.minutes().count()},
                                {'s', now, 1},
                                {'S', clock.seconds().count()},
                                {'u', from_monday + 1, 1},
                                {'U', (over + 7 - from_sunday) / 7},
                                {'V', days_over(thursday) / 7 + 1},
                                {'w', from_sunday, 1},
                                {'W', (over + 7 - from_monday) / 7},
                                {'y', year % 100},
                                {'Y', year, 1}};
  for (const CodeText& each : texts)
    if (each.code == code) return std::string(each.text);
  for (const CodeNumber& each : numbers) {
    if (each.code != code) continue;
    const std::string digits = std::to_string(each.number);
    return std::string(each.width - std::min(each.width, digits.size()), each.fill) + digits;
  }
  return {'%', code};
}

std::string written(std::string_view format, sys_seconds time, int64_t now) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    // "%-d": without zeros or spaces in front.
    const bool bare = format.substr(i).starts_with("%-") && i + 2 < format.size();
    const size_t at = i + (bare ? 2 : 1);
    if (format[i] != '%' || at >= format.size()) {
      out += format[i];
      continue;
    }
    i = at;
    const auto* several = std::ranges::find(kFormats, format[at], &CodeText::code);
    const std::string text = several == std::end(kFormats) ? text_of(format[at], time, now)
                                                           : written(several->text, time, now);
    size_t front = 0;
    while (bare && front + 1 < text.size() && (text[front] == '0' || text[front] == ' ')) ++front;
    out.append(text, front);
  }
  return out;
}

}  // namespace

// At most 12 bytes for each of the format: the longest are "%c", 24 bytes, and "%s", 20.
std::string format_time(std::string_view format, const RenderOptions& options) {
  // Years 1 to 9999, as in Python.
  int64_t local = 0;
  if (__builtin_add_overflow(options.now, int64_t{options.utc_offset_seconds}, &local) ||
      local < -62135596800 || local > 253402300799)
    local = 0;
  return written(format, sys_seconds(std::chrono::seconds(local)), options.now);
}

}  // namespace sluice::jinja
