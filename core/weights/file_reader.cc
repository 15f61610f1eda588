#include "weights/file_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice {
namespace {

constexpr uint64_t kPieceBytes = 256 * 1024;  // read at once: stays in the thread's cache
// Asked for at once. The order of execution may change (a prompt comes), so it isn't much.
constexpr uint64_t kWantedBytes = 4 << 20;
constexpr std::chrono::milliseconds kLongestWait(100);

}  // namespace

FileReader::FileReader(ModelFiles files, std::span<const FilePlace> places, Weights& weights,
                       int n_threads, std::function<void(uint64_t)> brought)
    : files_(std::move(files)),
      places_(places.begin(), places.end()),
      weights_(weights),
      brought_(std::move(brought)) {
  for (int i = 0; i < n_threads; ++i) {
    pthread_t thread = {};
    if (pthread_create(&thread, nullptr, enter, this) != 0) break;
    threads_.push_back(thread);
  }
}

FileReader::~FileReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void* FileReader::enter(void* reader) {
  static_cast<FileReader*>(reader)->work();
  return nullptr;
}

void FileReader::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!serve(lock)) work_.wait(lock);
  }
}

void FileReader::wake() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = false;
  }
  work_.notify_one();
}

Status FileReader::status() {
  if (!failed_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  return std::unexpected(failure_->error);
}

Status FileReader::wait(uint64_t seen) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  std::unique_lock lock(mutex_);
  asked_ = false;
  work_.notify_one();
  while (weights_.arrivals() == seen && !failed_ && !idle()) {
    if (!threads_.empty()) {
      if (news_.wait_until(lock, end) == std::cv_status::timeout) break;
    } else {
      serve(lock);
    }
  }
  lock.unlock();
  return status();
}

// Reads the next piece. False if there is none.
bool FileReader::serve(std::unique_lock<std::mutex>& lock) {
  if (!asked_) ask();
  if (rows_.empty() && pieces_.empty()) {
    if (idle()) {
      failed_.store(failure_.has_value(), std::memory_order_release);
      news_.notify_all();
    }
    return false;
  }
  const bool is_row = !rows_.empty();
  std::deque<Want>& queue = is_row ? rows_ : pieces_;
  const Want piece = queue.front();
  queue.pop_front();
  // After a failure only what is before it in the file is read, to find the first one.
  if (failure_ && piece.offset > failure_->offset) return true;
  ++reading_;
  work_.notify_one();  // the next thread takes the next piece, or asks for more
  const uint64_t arrivals = weights_.arrivals();
  lock.unlock();
  const Status done = read(piece, is_row);
  lock.lock();
  --reading_;
  asked_ = false;  // a place may be free now
  if (!done && (!failure_ || piece.offset < failure_->offset))
    failure_ = Failure{piece.offset, done.error()};
  if (weights_.arrivals() != arrivals) news_.notify_all();
  return true;
}

// Asks what is wanted: rows in any case, more of the rest when there is no piece left.
void FileReader::ask() {
  for (const Want& row : weights_.row_wants()) rows_.push_back(row);
  if (!pieces_.empty()) return;
  for (const Want& want : weights_.wants(kWantedBytes)) add_pieces(want);
  asked_ = pieces_.empty() && rows_.empty();
}

// Divides a want into pieces of whole strips, so that the thread that reads one packs it.
void FileReader::add_pieces(const Want& want) {
  const uint64_t size = std::max<uint64_t>(kPieceBytes / want.unit, 1) * want.unit;
  for (uint64_t at = 0; at < want.place.size(); at += size) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(size, want.place.size() - at));
    pieces_.push_back(
        {want.offset + at, want.place.subspan(static_cast<size_t>(at), n), want.unit});
  }
}

Status FileReader::read(const Want& piece, bool is_row) {
  // No piece lies in two files, because no tensor does.
  const auto after = std::ranges::upper_bound(places_, piece.offset, {}, &FilePlace::begin);
  const auto index = static_cast<size_t>(after - places_.begin()) - 1;
  SLUICE_TRY(files_.file(index).read(piece.offset - places_[index].begin, piece.place));
  SLUICE_TRY(is_row ? weights_.rows_filled(piece.offset, piece.place.size())
                    : weights_.filled(piece.offset, piece.place.size()));
  brought_(piece.place.size());
  return {};
}

}  // namespace sluice
