#include "pull/download.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "base/format.h"
#include "pull/journal.h"
#include "pull/retry.h"
#include "pull/same_file.h"
#include "pull/segment.h"

namespace sluice::pull {
namespace {

constexpr size_t kConnections = 4;
constexpr uint64_t kFirstRange = 16 << 20;
constexpr uint64_t kLeastRange = 16 << 20;
constexpr uint64_t kMostRange = 64 << 20;
constexpr int kPollMs = 50;
constexpr double kProgressSeconds = 0.1;

class Download {
 public:
  Download(const Client& client, BlockFile& file, uint64_t expected, PassingSum& sum,
           HeaderCheck* header, const std::function<void(const Downloaded&)>& progress)
      : client_(client),
        file_(file),
        expected_(expected),
        sum_(sum),
        header_(header),
        progress_(progress),
        patience_(client.retry_seconds, now_seconds()),
        stored_(file.stored()),
        multi_(curl_multi_init(), curl_multi_cleanup) {
    if (multi_ == nullptr) throw std::bad_alloc();
  }
  ~Download() {
    for (Segment& segment : segments_) stop(segment);
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  Result<Outcome> run() {
    while (!complete_) {
      begin_requests();
      if (error_) return std::unexpected(std::move(*error_));
      const std::string why = reason_to_wait();
      if (!why.empty()) {  // what is kept while it waits is exact
        shown_ = 0;
        show();
      }
      client_.wait(why);
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      if (!ranges_) end_ranges();
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        for (Segment& segment : segments_) {
          if (segment.transfer == nullptr || segment.transfer->handle() != message->easy_handle)
            continue;
          end_request(segment, message->data.result);
          break;
        }
        if (error_ || changed_ || complete_) break;
      }
      if (error_) return std::unexpected(std::move(*error_));
      if (changed_) return Outcome::changed;
      show();
      if (!complete_) curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
    }
    client_.wait("");
    return Outcome::complete;
  }

 private:
  uint64_t total() const { return file_.total(); }

  // --- requests ----------------------------------------------------------------------------------

  void begin_requests() {
    const double now = now_seconds();
    if (now < hold_until_) return;
    if (total() == 0) {  // the first answer tells the size, and whether there are ranges
      if (!segments_[0].used) assign(segments_[0], 0, ranges_ ? kFirstRange : UINT64_MAX);
    } else if (!ranges_) {
      if (!segments_[0].used) assign(segments_[0], 0, total());
    } else {
      read_header();
      for (Segment& segment : segments_) {
        // Until the header is complete, only its bytes are requested, in their order.
        const bool waits = header_ != nullptr && !header_->done() && &segment != &segments_[0];
        if (!segment.used && !waits) assign_missing(segment);
      }
    }
    bool any = false;
    for (const Segment& segment : segments_) any = any || segment.used;
    if (!any && file_.complete()) complete_ = true;
    for (Segment& segment : segments_) {
      if (!segment.used || segment.transfer != nullptr || segment.not_before > now) continue;
      // The first answer says where the file really is; the others go there directly.
      if (resolved_.empty() && requests_ > 0) break;
      begin_request(segment);
    }
  }

  // Why no bytes arrive now; "" if some do.
  std::string reason_to_wait() const {
    const double now = now_seconds();
    if (now < hold_until_)
      return concat("the server asks to wait ", human_duration(hold_until_ - now));
    if (requests_ > 0 || cause_.empty()) return "";
    return cause_ + "; trying again";
  }

  void assign(Segment& segment, uint64_t begin, uint64_t end) {
    segment.used = true;
    segment.ranged = ranges_;
    segment.begin = segment.at = begin;
    segment.end = end;
    segment.hash = {};
    segment.pauses.begin_again();
    segment.not_before = 0;
  }

  // Gives the header check the bytes that earlier downloads stored.
  void read_header() {
    std::vector<uint8_t> bytes;
    while (header_ != nullptr && !header_->done() && !error_) {
      const uint64_t block = header_->position() / file_.block_bytes();
      if (!file_.has(block)) return;
      const auto good = file_.read(block, bytes);
      if (!good || !*good) {
        header_->give_up();
      } else if (const Status fine = header_->take(block * file_.block_bytes(), bytes, total());
                 !fine) {
        error_ = fine.error();
      }
    }
  }

  // Gives the segment the next run of missing blocks that no other segment has.
  void assign_missing(Segment& segment) {
    const uint64_t block = file_.block_bytes();
    const uint64_t wanted = std::clamp(total() / 16, kLeastRange, kMostRange);
    const uint64_t most = (wanted + block - 1) / block;
    const auto is_free = [&](uint64_t i) {
      if (i >= file_.n_blocks() || file_.has(i)) return false;
      return std::ranges::none_of(segments_, [&](const Segment& other) {
        return other.used && i * block >= other.begin && i * block < other.end;
      });
    };
    uint64_t first = 0;
    while (first < file_.n_blocks() && !is_free(first)) ++first;
    if (first == file_.n_blocks()) return;
    uint64_t end = first + 1;
    while (end - first < most && is_free(end)) ++end;
    assign(segment, first * block, std::min(end * block, total()));
  }

  void begin_request(Segment& segment) {
    if (!segment.ranged) {  // from the beginning again; stored bytes are skipped
      segment.at = 0;
      segment.hash = {};
    }
    segment.head_is_checked = false;
    segment.trouble.clear();
    segment.hopeless = false;
    std::optional<Range> range;
    if (segment.ranged) range = Range{segment.at, segment.end - 1};
    segment.url = resolved_.empty() ? file_.meta().address : resolved_;
    segment.transfer = std::make_unique<Transfer>(
        client_, segment.url, range,
        [this, &segment](const Response& response, std::span<const uint8_t> bytes) {
          return take(segment, response, bytes);
        });
    curl_multi_add_handle(multi_.get(), segment.transfer->handle());
    ++requests_;
  }

  void stop(Segment& segment) {
    if (segment.transfer == nullptr) return;
    curl_multi_remove_handle(multi_.get(), segment.transfer->handle());
    segment.transfer = nullptr;
    --requests_;
  }

  // The server has no ranges: one segment downloads the whole file.
  void end_ranges() {
    for (Segment& segment : segments_) {
      if (!segment.ranged) continue;
      stop(segment);
      segment.used = false;
    }
  }

  // False: the download ends with this error.
  bool succeeds(const Status& done) {
    if (!done) error_ = done.error();
    return done.has_value();
  }

  // --- answers -----------------------------------------------------------------------------------

  bool trouble(Segment& segment, std::string why, bool hopeless = false) {
    segment.trouble = std::move(why);
    segment.hopeless = hopeless;
    return false;
  }

  bool begin_file(Segment& segment, const Response& response, uint64_t size) {
    if (expected_ != 0 && size != 0 && size != expected_) {
      return trouble(
          segment,
          concat("the hub lists a file of ", expected_, " bytes, but the server has ", size), true);
    }
    Meta facts = file_.meta();
    facts.etag = response.etag;
    facts.last_modified = response.last_modified;
    facts.commit = response.commit;
    return succeeds(file_.begin(facts, size));
  }

  // Before the first byte of a body: checks that it is what was requested.
  bool check_head(Segment& segment, const Response& response) {
    std::string wrong = wrong_answer(response, file_.meta().address, client_.hub);
    if (!wrong.empty()) return trouble(segment, std::move(wrong), true);
    if (response.status == 206) {
      if (!segment.ranged) return trouble(segment, "the server sent a part that nobody asked for");
      if (!check_range(segment, response)) return false;
    } else if (!check_whole(segment, response)) {
      return false;
    }
    resolved_ = response.url;
    segment.head_is_checked = true;
    return true;
  }

  bool check_range(Segment& segment, const Response& response) {
    const auto& range = response.range;
    const uint64_t known = range ? range->total : total();
    if (known == 0) return trouble(segment, "the server didn't tell the file's size");
    if (total() == 0) {
      if (range->first != 0) return trouble(segment, "the server sent other bytes than asked for");
      if (!begin_file(segment, response, known)) return false;
      segment.end = std::min(segment.end, known);
    }
    if (!is_same_file(file_.meta(), response, known)) {
      changed_ = true;
      return false;
    }
    const bool fits = range ? range->first == segment.at && range->last == segment.end - 1
                            : response.length == segment.end - segment.at;
    if (!fits) return trouble(segment, "the server sent other bytes than asked for");
    return true;
  }

  // The server has no ranges: one stream in the file's order.
  bool check_whole(Segment& segment, const Response& response) {
    const uint64_t size = response.length.value_or(0);
    if (response.length && size == 0)
      return trouble(segment, "the server sent an empty file", true);
    if (total() == 0) {
      // Without a size the blocks of earlier downloads can't be used.
      stored_ = 0;
      if (!begin_file(segment, response, size)) return false;
    } else if (!is_same_file(file_.meta(), response, size)) {
      changed_ = true;
      return false;
    }
    ranges_ = false;  // run() ends the other segments: here libcurl is at work
    segment.ranged = false;
    segment.begin = segment.at = 0;
    segment.end = total() == 0 ? UINT64_MAX : total();
    segment.hash = {};
    return true;
  }

  // A piece of a body.
  bool take(Segment& segment, const Response& response, std::span<const uint8_t> bytes) {
    if (error_ || changed_ || (segment.ranged && !ranges_)) return false;
    if (!segment.head_is_checked && !check_head(segment, response)) return false;
    while (!bytes.empty()) {
      if (segment.at >= segment.end)
        return trouble(segment, "the server sent more bytes than asked for");
      const uint64_t size = file_.block_bytes();
      const uint64_t block = segment.at / size;
      const uint64_t end = std::min({(block + 1) * size, segment.end});
      const auto n = static_cast<size_t>(std::min<uint64_t>(bytes.size(), end - segment.at));
      const auto piece = bytes.first(n);
      if (!succeeds(first_bytes_.take(segment.at, piece))) return false;
      if (header_ != nullptr && !succeeds(header_->take(segment.at, piece, total()))) return false;
      if (!file_.has(block)) {
        // The hash is of the bytes on the disk: a block that is written again is read later.
        if (segment.at % size == 0 && sum_.position() > segment.at) sum_ = PassingSum();
        sum_.add(segment.at, piece);
        if (!succeeds(file_.write(segment.at, piece))) return false;
        segment.hash.update(piece);
        stored_ += n;
        note_new_bytes(segment);
      }
      segment.at += n;
      bytes = bytes.subspan(n);
      if (segment.at == end && !end_block(segment, block)) return false;
    }
    return true;
  }

  // Bytes that were received before aren't new: a server may cut each stream at the same offset.
  void note_new_bytes(Segment& segment) {
    if (stored_ <= most_stored_) return;
    most_stored_ = stored_;
    patience_.renew(now_seconds());
    segment.pauses.begin_again();
    cause_.clear();
  }

  bool end_block(Segment& segment, uint64_t block) {
    if (!file_.has(block)) {
      if (block == 0 && !succeeds(first_bytes_.end())) return false;
      if (!succeeds(file_.add_block(block, segment.hash.value()))) return false;
    }
    segment.hash = {};
    return true;
  }

  // --- the end of a request ----------------------------------------------------------------------

  void end_request(Segment& segment, CURLcode result) {
    const std::unique_ptr<Transfer> transfer = std::move(segment.transfer);
    curl_multi_remove_handle(multi_.get(), transfer->handle());
    --requests_;
    transfer->ended(result);
    if (error_ || changed_ || (segment.ranged && !ranges_)) return;
    const Response& response = transfer->response();
    const bool good = response.status == 200 || response.status == 206;
    auto failure = transfer->failure();
    if (!segment.trouble.empty()) {
      failure.emplace();
      failure->cause = segment.trouble;
      failure->final = segment.hopeless;
    } else if (!failure && !end_body(segment)) {
      failure.emplace();
      failure->cause = "the server sent fewer bytes than it promised";
    }
    if (error_) return;
    if (failure && !segment.ranged) stored_ = file_.stored();  // of the block that was begun
    if (!failure) {
      segment.used = false;
      if (file_.complete()) complete_ = true;
      return;
    }
    if (good) failure->status = 0;
    fail_request(segment, *failure);
  }

  // True if the body has all that was asked for.
  bool end_body(Segment& segment) {
    if (!segment.head_is_checked) return false;
    if (segment.end != UINT64_MAX) return segment.at == segment.end;
    if (segment.at == 0) return false;
    // The size was unknown: the file ends here, perhaps within a block.
    if (segment.at % file_.block_bytes() != 0 &&
        !end_block(segment, segment.at / file_.block_bytes()))
      return false;
    return succeeds(file_.end_at(segment.at));
  }

  void fail_request(Segment& segment, const Failure& failure) {
    const double now = now_seconds();
    if (failure.status == 416) {
      if (segment.ranged && stored_ == 0 && total() == 0) {  // perhaps it takes no ranges
        ranges_ = false;
        segment.used = false;
      } else if (segment.ranged) {
        changed_ = true;
      } else {
        give_up(failure, now);
      }
      return;
    }
    const std::string& address = file_.meta().address;
    if (is_expired(failure.status) && (segment.url != address || failure.redirected)) {
      // A signed address works for a while: ask the first one again. Other segments may have done
      // so.
      if (segment.url != address && segment.url != resolved_) return;
      resolved_.clear();
      if (!patience_.may_resolve()) give_up(failure, now);
      return;
    }
    const double asked = failure.server_waits.value_or(0);
    const bool goes_on = patience_.goes_on(failure.unreachable, now);
    if (failure.final || !goes_on || asked > Patience::kLongestWait ||
        (asked == 0 && patience_.is_over(now))) {
      give_up(failure, now);
      return;
    }
    if (asked > 0) {
      const double until = now + with_jitter(asked, random_);
      if (!patience_.excuse(now, until)) {
        give_up(failure, now);
        return;
      }
      hold_until_ = std::max(hold_until_, until);
      return;
    }
    // Without any answer the redirect's target may be unreachable.
    if (failure.status == 0 && !segment.head_is_checked && segment.trouble.empty())
      resolved_.clear();
    segment.not_before =
        std::min(now + segment.pauses.next(random_), patience_.next_end(failure.unreachable));
    cause_ = failure.cause;
  }

  void give_up(const Failure& failure, double now) {
    const std::string& url = file_.meta().address;
    const bool offline = failure.status == 0 && device_is_offline();
    const double asked = failure.server_waits.value_or(0);
    std::string what = concat("can't download ", printable(url.substr(0, url.find('?')), 300), ": ",
                              failure.cause);
    if (asked > Patience::kLongestWait) {
      what += concat(" and asks to wait ", human_duration(asked));
    } else if (asked > 0) {
      what += " and asks to wait, again and again";
    } else if (failure.unreachable && !patience_.goes_on(true, now)) {
      what += concat("; the server wasn't reached within ",
                     human_duration(std::floor(now - patience_.begin())));
    } else if (!failure.final && !is_expired(failure.status)) {
      what += concat("; no new byte came for ", human_duration(patience_.waited(now)));
    }
    if (const uint64_t kept = file_.stored(); kept > 0) {
      what += concat("; ", human_bytes(kept), total() == 0 ? "" : " of ",
                     total() == 0 ? "" : human_bytes(total()),
                     " are kept, and the next try goes on from there");
    }
    what += offline                          ? "; this device is offline: connect it and try again"
            : asked > Patience::kLongestWait ? "; try again after that"
                                             : concat("; ", advice(client_, url, failure));
    error_ = Error{offline ? Code::offline : Code::download_failed, std::move(what),
                   facts_of(url, failure)};
  }

  void show() {
    const double now = now_seconds();
    if (!complete_ && now < shown_ + kProgressSeconds) return;
    shown_ = now;
    progress_({stored_, total(), file_.stored()});
  }

  const Client& client_;
  BlockFile& file_;
  const uint64_t expected_;
  PassingSum& sum_;
  HeaderCheck* const header_;  // null: no check
  const std::function<void(const Downloaded&)>& progress_;
  Patience patience_;
  std::mt19937 random_{std::random_device{}()};
  std::array<Segment, kConnections> segments_;
  bool ranges_ = true;    // the server has them, as far as is known
  std::string resolved_;  // the address after redirects; "" unknown
  int requests_ = 0;      // that run now
  double hold_until_ = 0;
  uint64_t stored_;  // bytes on the disk
  uint64_t most_stored_ = stored_;
  FirstBytes first_bytes_{file_.meta().address, file_.meta().source};
  std::string cause_;  // of the last failure since the last new byte
  double shown_ = 0;
  bool complete_ = false;
  bool changed_ = false;
  std::optional<Error> error_;
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
};

}  // namespace

Result<Outcome> download(const Client& client, BlockFile& file, uint64_t expected, PassingSum& sum,
                         HeaderCheck* header,
                         const std::function<void(const Downloaded&)>& progress) {
  return Download(client, file, expected, sum, header, progress).run();
}

}  // namespace sluice::pull
