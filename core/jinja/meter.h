// What one template may use: one budget of work and one of memory. Whatever runs counts its work
// here, and whatever is allocated takes its memory here: vectors by themselves (vector.h), texts by
// TextWriter, objects when an interpreter adopts them.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace sluice::jinja {

class Meter {
 public:
  // `stopped` is asked now and then; true ends the work. Empty: never.
  Meter(uint64_t max_work, size_t max_memory, std::function<bool()> stopped = {})
      : max_work_(max_work), max_memory_(max_memory), stopped_(std::move(stopped)) {}

  // A unit takes about 10 ns.
  void work(uint64_t units);
  // Bytes that are copied, compared or searched for one of them.
  void pass(size_t bytes) { work(1 + bytes / 16); }
  // Bytes that are read character by character.
  void scan(size_t bytes) { work(1 + bytes / 2); }

  // Memory that is allocated. What exceeds the budget ends the work.
  void take(size_t bytes);
  void give_back(size_t bytes) { memory_ -= bytes; }
  // Whether so much more would be within the budget; else the work ends. Ask before an allocation
  // whose size the template or its input chooses.
  bool has_room(uint64_t bytes);

  enum class End : uint8_t { none, work, memory, stopped };
  End end() const { return end_; }
  bool spent() const { return end_ != End::none; }
  uint64_t used_work() const { return work_; }
  uint64_t max_work() const { return max_work_; }
  size_t max_memory() const { return max_memory_; }

 private:
  static constexpr uint64_t kBetweenLooks = 1 << 13;

  uint64_t work_ = 0;
  uint64_t next_look_ = kBetweenLooks;
  uint64_t max_work_;
  size_t memory_ = 0;
  size_t max_memory_;
  End end_ = End::none;
  std::function<bool()> stopped_;
};

// The first place of `part` in the text, from `from` on, and the last one; npos if there is none or
// the work ends.
size_t find_part(Meter& meter, std::string_view text, std::string_view part, size_t from = 0);
size_t find_last_part(Meter& meter, std::string_view text, std::string_view part);

}  // namespace sluice::jinja
