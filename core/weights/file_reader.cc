#include "weights/file_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice {
namespace {

// Read ahead. Not much, because a new prompt changes the order of execution.
constexpr uint64_t kWantedBytes = 4 << 20;
constexpr std::chrono::milliseconds kLongestWait(100);
// Of a huge page. The thread that touches one first clears it; two threads that touch one at the
// same time both do.
constexpr uintptr_t kPageBytes = 2 << 20;

}  // namespace

FileReader::FileReader(ModelFiles files, std::span<const FilePlace> places, Weights& weights,
                       int n_threads, std::function<void(uint64_t)> brought)
    : files_(std::move(files)),
      places_(places.begin(), places.end()),
      weights_(weights),
      brought_(std::move(brought)) {
  if (files_.has_copies()) weights_.keep_packed(this);
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
  weights_.keep_packed(nullptr);
}

void* FileReader::enter(void* reader) {
  static_cast<FileReader*>(reader)->work();
  return nullptr;
}

void FileReader::work() {
  std::deque<Want> mine;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!serve(lock, mine)) work_.wait(lock);
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
  std::deque<Want> mine;
  std::unique_lock lock(mutex_);
  asked_ = false;
  work_.notify_one();
  while (weights_.arrivals() == seen && !failed_ && !idle()) {
    if (!threads_.empty()) {
      if (news_.wait_until(lock, end) == std::cv_status::timeout) break;
    } else {
      serve(lock, mine);
    }
  }
  // Without threads: the rest is for the next call.
  taken_ -= mine.size();
  pieces_.insert(pieces_.begin(), mine.begin(), mine.end());
  lock.unlock();
  return status();
}

// Reads the next piece: a row, one of `mine`, or the first of those that it moves there. False if
// there is none.
bool FileReader::serve(std::unique_lock<std::mutex>& lock, std::deque<Want>& mine) {
  if (!asked_) ask();
  if (rows_.empty() && mine.empty()) take_pieces(mine);
  if (rows_.empty() && mine.empty()) {
    if (idle()) {
      failed_.store(failure_.has_value(), std::memory_order_release);
      news_.notify_all();
    }
    return false;
  }
  const bool is_row = !rows_.empty();
  std::deque<Want>& queue = is_row ? rows_ : mine;
  const Want piece = queue.front();
  queue.pop_front();
  if (is_row) ++taken_;
  // After a failure only pieces before it in the file are read, to report the first one.
  if (failure_ && piece.offset > failure_->offset) {
    --taken_;
    return true;
  }
  work_.notify_one();  // the next thread takes the next piece, or asks for more
  const uint64_t arrivals = weights_.arrivals();
  lock.unlock();
  const Status done = read(piece, is_row);
  lock.lock();
  --taken_;
  asked_ = false;  // a place may be free now
  if (!done && (!failure_ || piece.offset < failure_->offset))
    failure_ = Failure{piece.offset, done.error()};
  if (weights_.arrivals() != arrivals) news_.notify_all();
  return true;
}

// Takes the next pieces whose places are on the same huge page.
void FileReader::take_pieces(std::deque<Want>& mine) {
  const auto page = [](const Want& piece) {
    return reinterpret_cast<uintptr_t>(piece.place.data()) / kPageBytes;
  };
  while (!pieces_.empty() && (mine.empty() || page(mine.front()) == page(pieces_.front()))) {
    mine.push_back(pieces_.front());
    pieces_.pop_front();
    ++taken_;
  }
}

// Asks what is wanted: rows in any case, more of the rest when there is no piece left.
void FileReader::ask() {
  for (const Want& row : weights_.row_wants()) rows_.push_back(row);
  if (!pieces_.empty()) return;
  for (const Want& want : weights_.wants(kWantedBytes)) add_pieces(want);
  asked_ = pieces_.empty() && rows_.empty();
}

// Divides a want into chunks, so that the thread that reads one packs it.
void FileReader::add_pieces(const Want& want) {
  for (uint64_t at = 0; at < want.place.size(); at += want.unit) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(want.unit, want.place.size() - at));
    pieces_.push_back(
        {want.offset + at, want.place.subspan(static_cast<size_t>(at), n), want.unit});
  }
}

// The file of these bytes: none lies in two, because no tensor does.
size_t FileReader::file_with(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(places_, offset, {}, &FilePlace::begin);
  return static_cast<size_t>(after - places_.begin()) - 1;
}

void FileReader::keep(uint64_t offset, std::span<const uint8_t> bytes) {
  const size_t index = file_with(offset);
  PackedCopy* copy = files_.copy(index);
  if (copy != nullptr) copy->keep(offset - places_[index].begin, bytes);
}

Status FileReader::read(const Want& piece, bool is_row) {
  const size_t index = file_with(piece.offset);
  const uint64_t at = piece.offset - places_[index].begin;
  const size_t n = piece.place.size();
  PackedCopy* copy = is_row ? nullptr : files_.copy(index);
  if (copy != nullptr && copy->read(at, piece.place)) {
    SLUICE_TRY(weights_.filled(piece.offset, n, Form::packed));
  } else {
    SLUICE_TRY(files_.file(index).read(at, piece.place));
    SLUICE_TRY(is_row ? weights_.rows_filled(piece.offset, n) : weights_.filled(piece.offset, n));
  }
  brought_(n);
  return {};
}

}  // namespace sluice
