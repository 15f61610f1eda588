#include "pull/http.h"

#include <curl/curl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <new>
#include <thread>

#include "base/format.h"
#include "pull/address.h"
#include "pull/retry.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

constexpr long kMaxRedirects = 8;
constexpr long kBufferBytes = 256 << 10;
constexpr size_t kErrorBody = 64 << 10;  // bytes of an error's body
constexpr size_t kMaxText = 512;         // bytes of a header that is kept

// Reads a number without a sign at the start of `text` and removes it.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > uint64_t{1} << 53) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

void init_curl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw std::bad_alloc();
}

// Results after which the same request can't succeed.
bool is_final(int result) {
  switch (result) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return true;
    default:
      return false;
  }
}

// Results that a mistyped or dead host gives.
bool is_unreachable(int result) {
  return result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_CONNECT;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  text = trimmed(text);
  if (lower(text.substr(0, 6)) != "bytes ") return std::nullopt;
  text = trimmed(text.substr(6));
  const auto first = take_number(text);
  if (!first || !take_char(text, '-')) return std::nullopt;
  const auto last = take_number(text);
  if (!last || !take_char(text, '/')) return std::nullopt;
  const auto total = take_number(text);
  if (!total || !text.empty() || *first > *last || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

double now_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

bool device_is_offline() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  bool online = false;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const bool ip = each->ifa_addr != nullptr &&
                    (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6);
    const unsigned flags = each->ifa_flags;
    online = online || (ip && (flags & IFF_LOOPBACK) == 0 && (flags & IFF_UP) != 0 &&
                        (flags & IFF_RUNNING) != 0);
  }
  ::freeifaddrs(list);
  return !online;
}

Transfer::Transfer(const Client& client, const std::string& url, std::optional<Range> range,
                   Body body)
    : body_(std::move(body)),
      stall_seconds_(static_cast<long>(std::max(1.0, client.stall_seconds))) {
  init_curl();
  handle_ = curl_easy_init();
  if (handle_ == nullptr) throw std::bad_alloc();
  CURL* const h = handle_;
  curl_easy_setopt(h, CURLOPT_URL, url.c_str());
  curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
  // A redirect doesn't lead from https to http.
  curl_easy_setopt(h, CURLOPT_REDIR_PROTOCOLS_STR,
                   lower(url.substr(0, 6)) == "https:" ? "https" : "http,https");
  curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(h, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(h, CURLOPT_USERAGENT, "sluice");
  curl_easy_setopt(h, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(h, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, stall_seconds_);
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, stall_seconds_);
  curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(h, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(h, CURLOPT_WRITEDATA, this);
  if (range) {
    const std::string text = range->last == UINT64_MAX ? concat(range->first, "-")
                                                       : concat(range->first, "-", range->last);
    curl_easy_setopt(h, CURLOPT_RANGE, text.c_str());
  }
  if (!client.token.empty() && origin_of(url) == client.hub) {
    // libcurl leaves this header out when a redirect leads to another host, port or protocol.
    headers_ = curl_slist_append(nullptr, ("Authorization: Bearer " + client.token).c_str());
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers_);
  }
}

Transfer::~Transfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(headers_);
}

size_t Transfer::on_header(char* text, size_t, size_t n, void* self) {
  static_cast<Transfer*>(self)->take_header({text, n});
  return n;
}

void Transfer::take_header(std::string_view line) {
  Response& r = response_;
  if (line.starts_with("HTTP/")) {  // of each response, those of redirects too
    const std::string commit = r.commit;
    r = {};
    r.commit = commit;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto keep = [&](std::string& to) {
    if (value.size() <= kMaxText) to = value;
  };
  if (name == "content-range") r.range = parse_content_range(value);
  if (name == "content-length") {
    std::string_view rest = value;
    r.length = take_number(rest);
  }
  if (name == "etag" && !value.starts_with("W/")) keep(r.etag);
  if (name == "last-modified") keep(r.last_modified);
  if (name == "content-encoding") keep(r.encoding);
  if (name == "link" && value.size() <= 8 * kMaxText) r.link = value;
  if (name == "x-repo-commit") keep(r.commit);
  if (name == "retry-after") {
    if (const auto wait = parse_retry_after(value, std::time(nullptr))) r.server_waits = wait;
  }
  if ((name == "ratelimit" || name == "ratelimit-reset") && !r.server_waits) {
    r.server_waits = parse_rate_limit(value);
  }
}

void Transfer::finish_head() {
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &response_.status);
  const char* url = nullptr;
  curl_easy_getinfo(handle_, CURLINFO_EFFECTIVE_URL, &url);
  long redirects = 0;
  curl_easy_getinfo(handle_, CURLINFO_REDIRECT_COUNT, &redirects);
  response_.url = url == nullptr ? "" : url;
  response_.redirected = redirects > 0;
}

size_t Transfer::on_body(char* bytes, size_t, size_t n, void* self) {
  auto& t = *static_cast<Transfer*>(self);
  if (t.response_.status == 0) t.finish_head();
  const long status = t.response_.status;
  if (status != 200 && status != 206) return n <= kErrorBody ? n : 0;
  if (t.body_(t.response_, {reinterpret_cast<const uint8_t*>(bytes), n})) return n;
  t.stopped_ = true;
  return 0;
}

void Transfer::perform() { ended(curl_easy_perform(handle_)); }

void Transfer::ended(int result) {
  result_ = result;
  finish_head();
}

std::optional<Failure> Transfer::failure() const {
  const long status = response_.status;
  const bool good = status == 200 || status == 206;
  if (good && (result_ == CURLE_OK || stopped_)) return std::nullopt;
  Failure failure;
  failure.redirected = response_.redirected;
  if (status < 400 && result_ != CURLE_OK) {
    const std::string_view text = error_;
    if (result_ == CURLE_OPERATION_TIMEDOUT && text.starts_with("Operation too slow")) {
      failure.cause =
          concat("no byte came for ", human_duration(static_cast<double>(stall_seconds_)));
      return failure;
    }
    failure.unreachable = !response_.redirected && is_unreachable(result_);
    const char* const known = curl_easy_strerror(static_cast<CURLcode>(result_));
    failure.cause = printable(error_[0] != '\0' ? error_ : known, 200);
    // After a malformed response the same connection may send no HTTP.
    failure.final = is_final(result_) && !(result_ == CURLE_UNSUPPORTED_PROTOCOL && status == 0);
    return failure;
  }
  failure.status = status;
  failure.cause = concat("the server answered ", status);
  if (status == 429 || status == 503) failure.server_waits = response_.server_waits;
  failure.final = !is_passing(status);
  return failure;
}

namespace {

// The page of the repository that a hub's address belongs to.
std::string page_of(const std::string& hub, const std::string& url) {
  std::string_view path = std::string_view(url).substr(hub.size());
  constexpr std::string_view kList = "/api/models";
  if (path.starts_with(kList)) path.remove_prefix(kList.size());
  size_t end = path.find('/', 1);
  if (end != std::string_view::npos) end = path.find('/', end + 1);
  return concat(hub, printable(path.substr(0, end), 300));
}

}  // namespace

std::string advice(const Client& client, const std::string& url, const Failure& failure) {
  const bool hub = origin_of(url) == client.hub;
  if (failure.status == 401 || failure.status == 403) {
    return hub ? concat(
                     "there is no such repository, or it needs an account at its hub: check the "
                     "name, or open ",
                     page_of(client.hub, url),
                     " there, accept its terms, and put a token that may read it into HF_TOKEN")
               : "the server doesn't give this file to everyone; check the address";
  }
  if (failure.status == 404 || failure.status == 410) {
    return hub ? "the model isn't there, or it needs a token in HF_TOKEN; check the address"
               : "check the address";
  }
  if (failure.final && failure.status != 0) return "check the address";
  if (failure.unreachable) return "check the address, or try again later";
  return "try again later";
}

Facts facts_of(const std::string& url, const Failure& failure) {
  Facts facts = {{"url", printable(url.substr(0, url.find('?')), 300)}};
  if (failure.status > 0) facts.push_back({"status", static_cast<uint64_t>(failure.status)});
  return facts;
}

Result<Response> fetch(const Client& client, const std::string& url, std::optional<Range> range,
                       const Transfer::Body& body, const std::function<void()>& again,
                       long* status) {
  std::mt19937 random(std::random_device{}());
  Pauses pauses;
  Patience patience(client.retry_seconds, now_seconds());
  while (true) {
    Transfer transfer(client, url, range, body);
    transfer.perform();
    const auto failure = transfer.failure();
    client.wait("");
    if (!failure) return transfer.response();
    const double now = now_seconds();
    const bool expired = failure->redirected && is_expired(failure->status);
    const bool final = failure->final && !(expired && patience.may_resolve());
    const double asked = failure->server_waits.value_or(0);
    const double asked_until = asked > 0 ? now + with_jitter(asked, random) : now;
    const bool excused = asked > 0 && patience.excuse(now, asked_until);
    const bool goes_on = patience.goes_on(failure->unreachable, now);
    if (final || !goes_on || asked > Patience::kLongestWait ||
        (!excused && (asked > 0 || patience.is_over(now)))) {
      if (status != nullptr) *status = failure->status;
      const bool offline = failure->status == 0 && device_is_offline();
      return with_facts(
          fail(offline ? Code::offline : Code::download_failed, "can't read ",
               printable(url.substr(0, url.find('?')), 300), ": ", failure->cause,
               goes_on ? ""
                       : concat("; the server wasn't reached within ",
                                human_duration(std::floor(now - patience.begin()))),
               offline ? "; this device is offline: connect it and try again"
               : asked > Patience::kLongestWait
                   ? concat(" and asks to wait ", human_duration(asked), "; try again after that")
                   : concat("; ", advice(client, url, *failure))),
          facts_of(url, *failure));
    }
    const double until =
        excused ? asked_until
                : std::min(now + pauses.next(random), patience.next_end(failure->unreachable));
    while (now_seconds() < until) {
      client.wait(asked > 0
                      ? concat("the server asks to wait ", human_duration(until - now_seconds()))
                      : concat(failure->cause, "; trying again"));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (again) again();
  }
}

Result<std::pair<Response, std::string>> fetch_text(const Client& client, const std::string& url,
                                                    size_t limit, long* status) {
  std::string text;
  bool too_long = false;
  const auto take = [&](const Response&, std::span<const uint8_t> bytes) {
    too_long = text.size() + bytes.size() > limit;
    if (!too_long) text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return !too_long;
  };
  SLUICE_ASSIGN(Response response,
                fetch(
                    client, url, std::nullopt, take, [&] { text.clear(); }, status));
  if (too_long) {
    return with_facts(fail(Code::download_failed, "the answer of ", printable(url, 300),
                           " is longer than ", human_bytes(limit)),
                      facts_of(url, {}));
  }
  return std::pair(std::move(response), std::move(text));
}

}  // namespace sluice::pull
