// When a failed request is repeated, and when a download is given up. Times are in seconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace sluice::pull {

// 408, 425, 429, 500, 502, 503, 504: the same request may succeed later.
bool is_passing(long status);
// 401, 403, 404, 410: if it is the target of a redirect, a signed address has expired.
bool is_expired(long status);

// What a server says that a client must wait, or nothing. Retry-After: a count of seconds or a
// date; `now`: seconds since 1970.
std::optional<double> parse_retry_after(std::string_view text, int64_t now);
// RateLimit: "default";r=0;t=30, or limit=100, remaining=0, reset=30; RateLimit-Reset: 30.
std::optional<double> parse_rate_limit(std::string_view text);

// A wait that a server asked for, with a jitter of up to 10% and 1 s, so that not all clients
// return at once.
double with_jitter(double seconds, std::mt19937& random);

// The pauses of one connection: 0.25, 0.5, 1, 2, 4, 8, 8, ... times a random 0.5 to 1.5.
class Pauses {
 public:
  double next(std::mt19937& random);
  void begin_again() { failures_ = 0; }

 private:
  int failures_ = 0;
};

// How long a download continues without a new byte.
class Patience {
 public:
  static constexpr int kMaxResolves = 3;
  static constexpr double kLongestWait = 300;  // also of all in a row
  static constexpr int kMaxWaits = 8;
  // How long it tries a server that has never been reached: the name may be mistyped.
  static constexpr double kUnreached = 5;

  Patience(double seconds, double now) : seconds_(seconds), last_(now), begin_(now) {}
  // New bytes were received.
  void renew(double now);
  // A request has failed. False: its server has never been reached, and for long enough.
  bool goes_on(bool unreachable, double now);
  bool is_over(double now) const { return now - last_ >= seconds_; }
  double end() const { return last_ + seconds_; }
  double begin() const { return begin_; }
  // When the next failure may be the last.
  double next_end(bool unreachable) const {
    return unreachable && !reached_ ? begin_ + std::min(kUnreached, seconds_) : end();
  }
  // The time without a new byte, less the waits that a server asked for.
  double waited(double now) const { return now - last_; }
  // The server asks to wait until `until`, which doesn't count. False: it has asked too often, or
  // for too long, without a new byte between.
  bool excuse(double now, double until);
  // The target of a redirect doesn't work any more. False: too often without new bytes.
  bool may_resolve() { return ++resolves_ <= kMaxResolves; }

 private:
  double seconds_;
  double last_;
  double begin_;
  bool reached_ = false;
  double excused_until_ = 0;
  double excused_ = 0;  // since the last new byte
  int waits_ = 0;
  int resolves_ = 0;
};

}  // namespace sluice::pull
