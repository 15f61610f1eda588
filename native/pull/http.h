// Requests by libcurl: http and https only, redirects limited, certificates verified, proxies from
// the environment.
#pragma once  // inside

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

using CURL = void;
struct curl_slist;

namespace sluice::pull {

// How requests are made, and the callback for waits.
struct Client {
  std::string hub;            // origin
  std::string token;          // for the hub's own origin alone; never stored or printed
  double retry_seconds = 60;  // without a new byte, until a download is given up
  double stall_seconds = 30;  // without a byte, until a connection counts as lost
  // Called with the reason when the program waits, and with "" when it continues. May be empty.
  std::function<void(const std::string&)> waiting;

  void wait(const std::string& why) const {
    if (waiting) waiting(why);
  }
};

// The bytes from `first` on, to `last` inclusive.
struct Range {
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;  // to the file's end
};

struct ContentRange {
  uint64_t first = 0, last = 0;
  uint64_t total = 0;
};
// bytes 0-99/1234; nothing if it is anything else, or the total isn't known.
std::optional<ContentRange> parse_content_range(std::string_view text);

// The status and the headers of the last response, behind all redirects.
struct Response {
  long status = 0;
  std::optional<ContentRange> range;
  std::optional<uint64_t> length;
  std::string etag;  // "" if none or weak
  std::string last_modified, link, encoding;
  std::string commit;                  // of a hub, also in a redirect
  std::optional<double> server_waits;  // Retry-After or RateLimit
  std::string url;                     // after redirects
  bool redirected = false;
};

// Why a request failed.
struct Failure {
  std::string cause;   // "the server answered 503"
  long status = 0;     // 0: no answer
  bool final = false;  // trying again is of no use
  bool redirected = false;
  bool unreachable = false;  // its host has no address, or refuses connections
  std::optional<double> server_waits;
};

// One request, made by perform() or by the caller's multi handle.
class Transfer {
 public:
  // Called with each piece of the body, after the headers. False ends the request.
  using Body = std::function<bool(const Response&, std::span<const uint8_t>)>;

  Transfer(const Client& client, const std::string& url, std::optional<Range> range, Body body);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  CURL* handle() const { return handle_; }
  void perform();
  // Call it with curl's result when a multi handle has ended it.
  void ended(int result);

  const Response& response() const { return response_; }
  // Nothing if the server answered 200 or 206 and the body is complete, or body() ended it.
  std::optional<Failure> failure() const;

 private:
  static size_t on_header(char* text, size_t size, size_t n, void* self);
  static size_t on_body(char* bytes, size_t size, size_t n, void* self);
  void take_header(std::string_view line);
  void finish_head();

  CURL* handle_;
  curl_slist* headers_ = nullptr;
  Body body_;
  const long stall_seconds_;
  Response response_;
  std::string location_;  // of the redirect that is followed
  bool stopped_ = false;  // by body()
  int result_ = -1;       // CURLcode
  char error_[256] = {};
};

double now_seconds();  // of a steady clock
// True if no network but this machine's own is up.
bool device_is_offline();
// What to do about a failure, for its message.
std::string advice(const Client& client, const std::string& url, const Failure& failure);
// The facts of its error: the url and, if the server answered, the status.
Facts facts_of(const std::string& url, const Failure& failure);

// Makes a request until it succeeds, by the rules of retry.h. body() gets a body from its beginning
// each time; `again` is called before. Fails with download_failed or offline; `status` is then the
// HTTP status, 0 without an answer.
Result<Response> fetch(const Client& client, const std::string& url, std::optional<Range> range,
                       const Transfer::Body& body, const std::function<void()>& again = {},
                       long* status = nullptr);
// A whole body of at most `limit` bytes.
Result<std::pair<Response, std::string>> fetch_text(const Client& client, const std::string& url,
                                                    size_t limit, long* status = nullptr);

}  // namespace sluice::pull
