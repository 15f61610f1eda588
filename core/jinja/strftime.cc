// strftime_now: C's codes for dates and times, with English names.
#include "jinja/interpreter.h"

namespace sluice::jinja {
namespace {

constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January",   "February", "March",    "April",
                                   "May",       "June",     "July",     "August",
                                   "September", "October",  "November", "December"};

struct Date {
  int64_t year;
  int month;  // 1..12
  int day;
  int day_of_year;  // 1..366
  int week_day;     // 0 is Sunday
  int hour, minute, second;
};

bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in(int64_t year, int month) {
  constexpr int kDaysIn[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDaysIn[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

Date date_of(int64_t seconds) {
  int64_t days = seconds / 86400;
  int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  Date date{};
  date.hour = static_cast<int>(rest / 3600);
  date.minute = static_cast<int>(rest / 60 % 60);
  date.second = static_cast<int>(rest % 60);
  date.week_day = static_cast<int>(((days + 4) % 7 + 7) % 7);  // 1970 began on a Thursday
  // 400 years have always the same number of days.
  constexpr int64_t kDaysOf400 = 146097;
  int64_t periods = days / kDaysOf400;
  days %= kDaysOf400;
  if (days < 0) {
    days += kDaysOf400;
    --periods;
  }
  date.year = 1970 + 400 * periods;
  for (; days >= (is_leap(date.year) ? 366 : 365); ++date.year)
    days -= is_leap(date.year) ? 366 : 365;
  date.day_of_year = static_cast<int>(days) + 1;
  date.month = 1;
  for (; days >= days_in(date.year, date.month); ++date.month)
    days -= days_in(date.year, date.month);
  date.day = static_cast<int>(days) + 1;
  return date;
}

// The week of ISO 8601, and the year that it belongs to.
int iso_week(const Date& date, int64_t& year) {
  const int monday_based = (date.week_day + 6) % 7;
  int week = (date.day_of_year - 1 - monday_based + 10) / 7;
  const auto weeks_in = [](int64_t y) {
    const auto last_day = [](int64_t z) { return (z + z / 4 - z / 100 + z / 400) % 7; };
    return last_day(y) == 4 || last_day(y - 1) == 3 ? 53 : 52;
  };
  year = date.year;
  if (week < 1) return weeks_in(--year);
  if (week > weeks_in(year)) {
    ++year;
    week = 1;
  }
  return week;
}

std::string filled(int64_t number, size_t width, char fill = '0') {
  std::string digits = std::to_string(number);
  return digits.size() < width ? std::string(width - digits.size(), fill) + digits : digits;
}

void append_code(std::string& out, char code, const Date& date, const RenderOptions& options) {
  const int hour12 = date.hour % 12 == 0 ? 12 : date.hour % 12;
  int64_t iso_year = 0;
  const int week = iso_week(date, iso_year);
  const auto several = [&](std::string_view codes) {
    for (const char c : codes) {
      if (c >= 'A') {
        append_code(out, c, date, options);
      } else {
        out += c;
      }
    }
  };
  switch (code) {
    case 'a':
      out.append(kDays[date.week_day], 3);
      break;
    case 'A':
      out += kDays[date.week_day];
      break;
    case 'b':
    case 'h':
      out.append(kMonths[date.month - 1], 3);
      break;
    case 'B':
      out += kMonths[date.month - 1];
      break;
    case 'c':
      several("a b e H:M:S Y");
      break;
    case 'C':
      out += filled(date.year / 100, 2);
      break;
    case 'd':
      out += filled(date.day, 2);
      break;
    case 'D':
    case 'x':
      several("m/d/y");
      break;
    case 'e':
      out += filled(date.day, 2, ' ');
      break;
    case 'f':
      out += "000000";
      break;
    case 'F':
      several("Y-m-d");
      break;
    case 'g':
      out += filled(iso_year % 100, 2);
      break;
    case 'G':
      out += std::to_string(iso_year);
      break;
    case 'H':
      out += filled(date.hour, 2);
      break;
    case 'I':
      out += filled(hour12, 2);
      break;
    case 'j':
      out += filled(date.day_of_year, 3);
      break;
    case 'k':
      out += filled(date.hour, 2, ' ');
      break;
    case 'l':
      out += filled(hour12, 2, ' ');
      break;
    case 'm':
      out += filled(date.month, 2);
      break;
    case 'M':
      out += filled(date.minute, 2);
      break;
    case 'n':
      out += '\n';
      break;
    case 'p':
      out += date.hour < 12 ? "AM" : "PM";
      break;
    case 'P':
      out += date.hour < 12 ? "am" : "pm";
      break;
    case 'r':
      several("I:M:S p");
      break;
    case 'R':
      several("H:M");
      break;
    case 's':
      out += std::to_string(options.now);
      break;
    case 'S':
      out += filled(date.second, 2);
      break;
    case 't':
      out += '\t';
      break;
    case 'T':
    case 'X':
      several("H:M:S");
      break;
    case 'u':
      out += std::to_string(date.week_day == 0 ? 7 : date.week_day);
      break;
    case 'U':
      out += filled((date.day_of_year + 6 - date.week_day) / 7, 2);
      break;
    case 'V':
      out += filled(week, 2);
      break;
    case 'w':
      out += std::to_string(date.week_day);
      break;
    case 'W':
      out += filled((date.day_of_year + 6 - (date.week_day + 6) % 7) / 7, 2);
      break;
    case 'y':
      out += filled(date.year % 100, 2);
      break;
    case 'Y':
      out += std::to_string(date.year);
      break;
    case 'z':
    case 'Z':  // Python's datetime.now() has no zone
      break;
    case '%':
      out += '%';
      break;
    default:
      out += '%';
      out += code;
  }
}

}  // namespace

std::string format_time(std::string_view format, const RenderOptions& options) {
  // Years 1 to 9999, as in Python.
  const int64_t local = options.now + options.utc_offset_seconds;
  const Date date = date_of(local < -62135596800 || local > 253402300799 ? 0 : local);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    // "%-d": without zeros in front.
    const bool bare = i + 2 < format.size() && format[i + 1] == '-';
    if (bare) ++i;
    if (++i >= format.size()) {
      out += '%';
      break;
    }
    std::string part;
    append_code(part, format[i], date, options);
    size_t skipped = 0;
    while (bare && skipped + 1 < part.size() && (part[skipped] == '0' || part[skipped] == ' '))
      ++skipped;
    out += part.substr(skipped);
  }
  return out;
}

}  // namespace sluice::jinja
