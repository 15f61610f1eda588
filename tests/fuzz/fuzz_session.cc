// Takes any bytes as a session's file, as they are and with the model's identity and right hashes,
// so that the checks behind these are reached. It is refused with a message, the same whole and in
// pieces, or it is saved again with the same bytes (but for the version) and can go on.
#include "base/xxh64.h"
#include "session/session_file.h"
#include "session_model.h"

namespace {

using namespace sluice;
using Bytes = std::vector<uint8_t>;

Engine& engine_of(size_t kv, Kept kept) {
  static const std::vector<std::unique_ptr<Engine>> engines = [] {
    std::vector<std::unique_ptr<Engine>> all;
    for (size_t i = 0; i < 3 * kKinds; ++i)
      all.push_back(session_engine(i % 3, static_cast<Kept>(i / 3)));
    return all;
  }();
  return *engines[kv + 3 * static_cast<size_t>(kept)];
}

Result<std::unique_ptr<Session>> read(Engine& engine, std::span<const uint8_t> bytes,
                                      size_t piece) {
  SessionReader reader(engine);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size())))
    SLUICE_TRY(reader.push(bytes.first(std::min(piece, bytes.size()))));
  return reader.finish();
}

template <typename T>
void put(Bytes& bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

void put_hashes(Bytes& bytes) {
  put(bytes, kSessionHeaderBytes - 8, xxh64(std::span(bytes).first(kSessionHeaderBytes - 8)));
  put(bytes, bytes.size() - 8, xxh64(std::span(bytes).first(bytes.size() - 8)));
}

// An older version that is read is saved as today's, with the part `kept`: no ends of prompts, and
// all keys and values. Otherwise with the same bytes.
Bytes of_today(Bytes bytes, Kept of) {
  uint32_t version = 0, tokens = 0, computed = 0;
  std::memcpy(&version, bytes.data() + 8, sizeof version);
  std::memcpy(&tokens, bytes.data() + 48, sizeof tokens);
  std::memcpy(&computed, bytes.data() + 52, sizeof computed);
  if (version < kSessionWithKept) {
    Bytes kept(kPromptEndBytes);
    if (computed > 0 && kept_windows(of) > 0) kept.push_back(1);
    if (computed > 0) kept.resize(kPromptEndBytes + kept_numbers(of));
    const auto at = static_cast<ptrdiff_t>(kSessionHeaderBytes + 4 * size_t{tokens});
    bytes.insert(bytes.begin() + at, kept.begin(), kept.end());
    put(bytes, 16, uint64_t{bytes.size()});
  }
  put(bytes, 8, kSessionVersion);
  put_hashes(bytes);
  return bytes;
}

void check(Engine& engine, Kept kept, const Bytes& bytes) {
  const auto whole = read(engine, bytes, SIZE_MAX);
  const auto parts = read(engine, bytes, 1 + bytes.size() % 13);
  require(whole.has_value() == parts.has_value());
  if (!whole) {
    check_error(whole.error());
    require(whole.error().message == parts.error().message);
    return;
  }
  require(session_bytes(**whole) == of_today(bytes, kept));
  GenerateOptions options;
  options.max_tokens = 2;
  const Status started = (*whole)->resume(options);
  if (!started) return check_error(started.error());
  const bool finished = finish_session(**whole);
  if (finished) require(!session_bytes(**whole).empty());
}

// Puts in what a fuzzer can't find.
Bytes made_right(Engine& engine, Bytes bytes) {
  constexpr size_t kIdentity = 24;  // and RoPE behind it
  const Session session(engine);
  const Bytes empty = session_bytes(session);
  std::copy_n(empty.begin(), 8, bytes.begin());
  std::copy_n(empty.begin() + kIdentity, 16, bytes.begin() + kIdentity);
  put(bytes, 16, uint64_t{bytes.size()});
  put_hashes(bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(data, data + size);
  // The type of the KV cache, as the file has it.
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const auto kept = static_cast<Kept>(kind);
    Engine& engine = engine_of(size > 40 ? data[40] % 3 : 0, kept);
    check(engine, kept, bytes);
    if (size >= kSessionHeaderBytes + 8) check(engine, kept, made_right(engine, bytes));
  }
  return 0;
}
