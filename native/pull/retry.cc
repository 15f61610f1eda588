#include "pull/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "pull/text.h"

namespace sluice::pull {
namespace {

constexpr double kFirstPause = 0.25;
constexpr double kLongestPause = 8;

// A count of seconds without a sign; a huge one counts as a year.
std::optional<double> seconds_of(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr uint64_t kYear = 365ull * 24 * 3600;
  return static_cast<double>(text.size() > 10 ? kYear : std::min(value, kYear));
}

}  // namespace

bool is_passing(long status) {
  constexpr std::array<long, 7> kPassing = {408, 425, 429, 500, 502, 503, 504};
  return std::ranges::find(kPassing, status) != kPassing.end();
}

bool is_expired(long status) {
  return status == 401 || status == 403 || status == 404 || status == 410;
}

std::optional<double> parse_retry_after(std::string_view text, int64_t now) {
  text = trimmed(text);
  if (const auto seconds = seconds_of(text)) return seconds;
  const std::string date(text);
  const time_t then = curl_getdate(date.c_str(), nullptr);
  if (then == -1) return std::nullopt;
  return std::max(0.0, static_cast<double>(then) - static_cast<double>(now));
}

std::optional<double> parse_rate_limit(std::string_view text) {
  if (const auto seconds = seconds_of(trimmed(text))) return seconds;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(";,", at), text.size());
    const std::string_view part = trimmed(text.substr(at, end - at));
    for (const std::string_view name : {"t=", "reset="}) {
      if (part.starts_with(name)) return seconds_of(part.substr(name.size()));
    }
    at = end + 1;
  }
  return std::nullopt;
}

double with_jitter(double seconds, std::mt19937& random) {
  return seconds + std::uniform_real_distribution(0.0, seconds * 0.1 + 1)(random);
}

double Pauses::next(std::mt19937& random) {
  const double pause = std::min(kFirstPause * std::exp2(failures_), kLongestPause);
  failures_ = std::min(failures_ + 1, 30);
  return pause * std::uniform_real_distribution(0.5, 1.5)(random);
}

void Patience::renew(double now) {
  last_ = now;
  reached_ = true;
  resolves_ = waits_ = 0;
  excused_ = 0;
}

bool Patience::goes_on(bool unreachable, double now) {
  reached_ = reached_ || !unreachable;
  return reached_ || now - begin_ < std::min(kUnreached, seconds_);
}

bool Patience::excuse(double now, double until) {
  if (now >= excused_until_) ++waits_;                // else another connection was told the same
  const double from = std::max(now, excused_until_);  // what is excused already counts once
  if (until > from) {
    last_ += until - from;
    excused_ += until - from;
    excused_until_ = until;
  }
  return waits_ <= kMaxWaits && excused_ <= kLongestWait * 1.1 + 1;
}

}  // namespace sluice::pull
