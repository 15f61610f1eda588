// Reading a session from its file, which may be hostile.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/xxh64.h"
#include "session/file_parts.h"
#include "session/session_state.h"

namespace sluice {
namespace {

constexpr size_t kFirstBytes = kMagicBytes + 8;  // magic, version, bytes of the header
constexpr uint32_t kMaxHeader = 4096;            // of any version
constexpr uint64_t kMaxDraws = uint64_t{1} << 53;

constexpr std::string_view kDamaged =
    ". It is damaged or was cut short: save it again, or begin without it";
constexpr std::string_view kTypeNames[] = {"f32", "f16", "q8_0"};

}  // namespace

struct SessionReader::State {
  explicit State(Runtime& of) : runtime(of) {}

  const char* magic() const { return onto != nullptr ? kPieceMagic : kSessionMagic; }
  size_t needed() const;
  Status take(std::span<const uint8_t> bytes);
  Status push(std::span<const uint8_t> bytes);
  Status take_first(std::span<const uint8_t> bytes);
  Status take_header(std::span<const uint8_t> bytes);
  Status check_header();
  std::unexpected<Error> other_rope() const;
  Status check_piece() const;
  Status check_target() const;
  Status check_place() const;
  bool has_kept() const {
    return header.version >= (onto != nullptr ? kPieceWithKept : kSessionWithKept);
  }
  Status take_tokens(std::span<const uint8_t> bytes);
  Status take_kept(std::span<const uint8_t> bytes);
  Status take_row(std::span<const uint8_t> bytes);
  Status begin_kept();
  Status restore_places();
  Status end_state();
  Status begin_state(std::vector<uint8_t> kept);

  Runtime& runtime;
  uint64_t file_bytes = 0;  // 0: unknown
  // That a piece is for. It may be gone: see check_target().
  Session::State* onto = nullptr;
  FilePart part = FilePart::first;
  uint64_t taken = 0;
  std::vector<uint8_t> item;  // the part of the next item that has come
  Xxh64 hash;
  SessionHeader header;
  uint32_t answer = 0;  // header.first of a session; that is 0 then
  std::vector<TokenId> tokens;
  std::vector<int64_t> prompt_ends;
  // Gets the state; of a piece a clone of `onto`, which shares the past.
  std::unique_ptr<Session::State> session;
  size_t n_kept = 0;  // numbers of the part `kept`
  std::optional<TimelineRows> rows;
  std::optional<Error> error;
  bool taken_out = false;
};

SessionReader::SessionReader(Engine& engine, uint64_t file_bytes, Session* onto)
    : state_(std::make_unique<State>(engine.runtime())) {
  state_->file_bytes = file_bytes;
  if (onto != nullptr) state_->onto = onto->state_.get();
}
SessionReader::~SessionReader() = default;

// Bytes of the next item.
size_t SessionReader::State::needed() const {
  switch (part) {
    case FilePart::first:
      return kFirstBytes;
    case FilePart::header:
      return header.header_bytes - kFirstBytes;
    case FilePart::tokens:
      return 4 * std::min<size_t>(kTokensAtOnce, header.tokens - tokens.size());
    case FilePart::kept:
      return kept_bytes(n_kept);
    case FilePart::state:
      return rows->bytes();
    case FilePart::end:
      return kHashBytes;
    case FilePart::done:
      break;
  }
  return 0;
}

Status SessionReader::State::take(std::span<const uint8_t> bytes) {
  taken += bytes.size();
  if (part == FilePart::end) {
    uint64_t found = 0;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (found != hash.value()) {
      return fail(Code::bad_file, "the session's bytes have the hash ", hexadecimal(hash.value()),
                  "; expected ", hexadecimal(found), kDamaged);
    }
    part = FilePart::done;
    return {};
  }
  hash.update(bytes);
  if (part == FilePart::first) return take_first(bytes);
  if (part == FilePart::header) return take_header(bytes);
  if (part == FilePart::tokens) return take_tokens(bytes);
  if (part == FilePart::kept) return take_kept(bytes);
  return take_row(bytes);
}

Status SessionReader::State::push(std::span<const uint8_t> bytes) {
  if (onto != nullptr) SLUICE_TRY(check_target());
  while (!bytes.empty()) {
    if (part == FilePart::done) {
      return fail(Code::bad_file, "the session's file goes on after its ",
                  counted(header.file_bytes, "byte"), "; expected its end", kDamaged);
    }
    const size_t n = needed();
    if (item.empty() && bytes.size() >= n) {
      SLUICE_TRY(take(bytes.first(n)));
      bytes = bytes.subspan(n);
      continue;
    }
    const size_t more = std::min(n - item.size(), bytes.size());
    item.insert(item.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(more));
    bytes = bytes.subspan(more);
    if (item.size() < n) break;
    SLUICE_TRY(take(item));
    item.clear();
  }
  return {};
}

Status SessionReader::push(std::span<const uint8_t> bytes) {
  State& s = *state_;
  if (!s.error) {
    Status status = s.push(bytes);
    if (status) return {};
    s.error = std::move(status).error();
    s.session.reset();  // and its memory
    s.rows.reset();
  }
  return std::unexpected(*s.error);
}

Status SessionReader::State::take_first(std::span<const uint8_t> bytes) {
  if (std::memcmp(bytes.data(), magic(), kMagicBytes) != 0) {
    return fail(Code::bad_file, "this is no ", onto != nullptr ? "piece of a " : "saved ",
                "session: that begins with ", magic(), ", this with '",
                printable({reinterpret_cast<const char*>(bytes.data()), kMagicBytes}), "'");
  }
  std::memcpy(&header.version, bytes.data() + kMagicBytes, 4);
  std::memcpy(&header.header_bytes, bytes.data() + kMagicBytes + 4, 4);
  const uint32_t n = header.header_bytes;
  if (n < kSessionHeaderBytes || n > kMaxHeader) {
    return fail(Code::bad_file, "the session's header has ", n, " bytes; expected ",
                kSessionHeaderBytes, " to ", kMaxHeader, kDamaged);
  }
  part = FilePart::header;
  return {};
}

Status SessionReader::State::check_header() {
  const uint32_t newest = onto != nullptr ? kPieceVersion : kSessionVersion;
  if (header.version > newest) {
    return fail(Code::invalid_argument, "a newer version of Sluice wrote this session (format ",
                header.version, "; this one reads ", newest,
                "): update Sluice, or begin without it");
  }
  if (header.version == 0) {
    return fail(Code::bad_file, "the session has the format 0, which none has", kDamaged);
  }
  if (header.header_bytes != kSessionHeaderBytes || header.has_seed > 1 ||
      header.draws > kMaxDraws || header.kv_type > 2 || header.state != kSessionStateKv ||
      answer > (header.version == 1 ? 0 : header.tokens) ||
      (onto == nullptr && header.has_seed == 0 && (header.seed | header.draws) != 0)) {
    return fail(Code::bad_file, "the session's header has numbers that none can have", kDamaged);
  }
  if (header.computed > header.tokens || header.tokens - header.computed > 1) {
    return fail(Code::bad_file, "the session has ", counted(header.tokens, "token"), ", of which ",
                header.computed, " are computed; expected all, or all but the last", kDamaged);
  }
  SLUICE_TRY(runtime.check_keeps());
  if (onto != nullptr) SLUICE_TRY(check_piece());
  if (!runtime.identity->known()) {
    return fail(Code::invalid_argument, kNotIdentified);
  }
  const uint64_t identity = runtime.identity->value();
  if (header.identity != identity) {
    return fail(Code::invalid_argument, "the session was saved with another model (found ",
                hexadecimal(header.identity), ", but this model is ", hexadecimal(identity),
                "): use the model file that it was saved with");
  }
  if (header.rope != rope_hash(*runtime.model, runtime.context_size)) return other_rope();
  const uint32_t type = number_of(runtime.kv_type);
  if (header.kv_type != type) {
    return fail(Code::invalid_argument, "the session's keys and values are ",
                kTypeNames[header.kv_type], ", but this model was loaded with ", kTypeNames[type],
                ": load it with the KV type ", kTypeNames[header.kv_type]);
  }
  const uint64_t tokens_in_all = uint64_t{header.first} + header.tokens;
  if (tokens_in_all > runtime.context_size) {
    return with_facts(
        fail(Code::context_full, "the session has ", counted(tokens_in_all, "token"),
             ", but the context holds ", runtime.context_size, "; load with a larger context"),
        {{"tokens", tokens_in_all}, {"room", runtime.context_size}});
  }
  return {};
}

// The error for positions that were rotated otherwise. Some models rotate them by the size of the
// context (RopeShape::long_factors).
std::unexpected<Error> SessionReader::State::other_rope() const {
  const int64_t context = runtime.context_size;
  for (const RopeShape& rope : runtime.model->ropes()) {
    const int64_t most = rope.original_context;
    const bool saved_as_long = context <= most;
    if (header.rope != rope_hash(*runtime.model, saved_as_long ? most + 1 : most)) continue;
    const std::string_view which = saved_as_long ? "more than " : "at most ";
    return fail(Code::invalid_argument, "the session was computed in a context of ", which, most,
                " tokens, but here it has ", context,
                ", and this model rotates positions otherwise then: load it with a context of ",
                which, most, " tokens");
  }
  return fail(Code::invalid_argument,
              "the session's positions were computed with other RoPE settings than this model has "
              "here: use the settings that it was saved with");
}

// Whether the session that the piece is for is there and can take it.
Status SessionReader::State::check_target() const {
  if (std::ranges::find(runtime.sessions, onto) == runtime.sessions.end()) {
    return fail(
        Code::invalid_argument,
        "the session that the piece is for is closed, or is none of this engine's; give the "
        "piece to one that is open");
  }
  if (onto->run) {
    return fail(Code::busy, "the session is generating; give it a piece when that has ended");
  }
  return {};
}

// Whether this is a piece, and the one that comes next.
Status SessionReader::State::check_piece() const {
  if (header.has_seed != 0 || header.draws != 0 || header.tokens == 0 ||
      header.computed > kPiecePositions ||
      (header.computed == kPiecePositions && header.tokens > header.computed)) {
    return fail(Code::bad_file, "the session's piece has numbers that none can have", kDamaged);
  }
  return check_place();
}

Status SessionReader::State::check_place() const {
  SLUICE_TRY(check_target());
  const size_t begun = onto->timeline.tokens().size();
  if (header.first != begun || begun % kPiecePositions != 0 || onto->resume_point.last ||
      header.seed != tokens_hash(onto->timeline.tokens())) {
    return fail(Code::bad_file, "the piece begins at position ", header.first,
                " of a session; expected the one behind the ", counted(begun, "token"),
                " that are here", kDamaged);
  }
  return {};
}

Status SessionReader::State::take_header(std::span<const uint8_t> bytes) {
  // All of it, with the first bytes.
  std::vector<uint8_t> all(kFirstBytes + bytes.size());
  std::memcpy(all.data(), magic(), kMagicBytes);
  std::memcpy(all.data() + kMagicBytes, &header.version, 4);
  std::memcpy(all.data() + kMagicBytes + 4, &header.header_bytes, 4);
  std::memcpy(all.data() + kFirstBytes, bytes.data(), bytes.size());
  uint64_t found = 0;
  std::memcpy(&found, all.data() + all.size() - kHashBytes, sizeof found);
  if (found != xxh64(std::span(all).first(all.size() - kHashBytes))) {
    return fail(Code::bad_file, "the session's header doesn't fit its hash", kDamaged);
  }
  std::memcpy(&header, all.data() + kMagicBytes, sizeof header);
  if (onto == nullptr) answer = std::exchange(header.first, 0);
  SLUICE_TRY(check_header());
  session = std::make_unique<Session::State>(runtime);
  if (onto != nullptr) session->timeline = onto->timeline.clone();
  n_kept = kept_size(session->timeline, header.first, int64_t{header.first} + header.computed);
  if (file_bytes != 0 && file_bytes != header.file_bytes) {
    return fail(Code::bad_file, "it has ", counted(file_bytes, "byte"),
                " and not all of the session", ": expected ", header.file_bytes, kDamaged);
  }
  part = FilePart::tokens;
  return header.tokens == 0 ? begin_kept() : Status();
}

Status SessionReader::State::take_tokens(std::span<const uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += 4) {
    TokenId id = 0;
    std::memcpy(&id, bytes.data() + at, sizeof id);
    if (id < 0 || id >= runtime.n_vocab()) {
      return fail(Code::bad_file, "the session has a token ", id, "; expected ids from 0 to ",
                  runtime.n_vocab() - 1, kDamaged);
    }
    tokens.push_back(id);
  }
  return tokens.size() == header.tokens ? begin_kept() : Status();
}

Status SessionReader::State::begin_kept() {
  part = FilePart::kept;
  if (has_kept()) return {};
  const int64_t begin = header.first;
  return begin_state(kept_without_list(session->timeline, begin, begin + header.computed));
}

Status SessionReader::State::take_kept(std::span<const uint8_t> bytes) {
  uint32_t ends[1 + kMostPromptEnds];
  std::memcpy(ends, bytes.data(), sizeof ends);
  const std::vector<uint8_t> kept(bytes.begin() + sizeof ends, bytes.end());
  bool good = ends[0] <= kMostPromptEnds;
  for (uint32_t i = 1; i <= kMostPromptEnds; ++i) {
    const bool used = i <= ends[0];
    good = good && (used ? ends[i] > (i > 1 ? ends[i - 1] : 0) : ends[i] == 0);
    if (good && used) prompt_ends.push_back(ends[i]);
  }
  const int64_t begin = header.first, end = begin + header.computed;
  good = good && can_be_kept(session->timeline, begin, end, onto != nullptr, kept) &&
         (prompt_ends.empty() || prompt_ends.back() <= end);
  if (good) return begin_state(kept);
  return fail(Code::bad_file, "the session's list of what it kept has numbers that none can have",
              kDamaged);
}

Status SessionReader::State::begin_state(std::vector<uint8_t> kept) {
  rows.emplace(session->timeline, int64_t{header.first}, int64_t{header.first} + header.computed,
               std::move(kept), onto != nullptr);
  const std::optional<uint64_t> expected =
      file_bytes_of(*rows, header.tokens, has_kept() ? kept_bytes(n_kept) : 0);
  if (header.file_bytes != expected) {
    return fail(Code::bad_file, "the session's header says ", counted(header.file_bytes, "byte"),
                "; expected ", expected.value_or(0), " for its ", counted(header.tokens, "token"),
                kDamaged);
  }
  part = FilePart::state;
  return rows->done() ? end_state() : Status();
}

Status SessionReader::State::take_row(std::span<const uint8_t> bytes) {
  const int64_t position = rows->position();
  const int64_t layer = rows->layer();
  if (!rows->has_place(session->timeline)) SLUICE_TRY(restore_places());
  if (!rows->write(session->timeline, *runtime.kernels, bytes.data())) {
    return fail(Code::bad_file, "the session has a number that is NaN or infinite in layer ", layer,
                " at position ", position, "; expected finite numbers", kDamaged);
  }
  return rows->done() ? end_state() : Status();
}

// Gives the session the positions up to those of the row that comes, and the row its place.
Status SessionReader::State::restore_places() {
  const auto n = static_cast<uint64_t>(rows->done() ? int64_t{header.first} + header.computed
                                                    : rows->positions_end());
  SLUICE_TRY(runtime.check_memory(rows->growth(session->timeline), n,
                                  concat("a session of ", counted(n, "token"))));
  return rows->restore_before(session->timeline, tokens);
}

// All rows are there.
Status SessionReader::State::end_state() {
  part = FilePart::end;
  return restore_places();
}

Result<std::unique_ptr<Session>> SessionReader::finish() {
  State& s = *state_;
  if (s.error) return std::unexpected(*s.error);
  if (s.part != FilePart::done || s.taken_out) {
    return fail(
        Code::bad_file, "the session's file ends after ", counted(s.taken + s.item.size(), "byte"),
        s.header.file_bytes > 0 ? concat("; expected ", s.header.file_bytes) : "", kDamaged);
  }
  s.rows.reset();
  s.taken_out = true;
  if (s.onto != nullptr) {
    if (const Status place = s.check_place(); !place) {
      s.session.reset();
      return std::unexpected(place.error());
    }
    s.onto->timeline = std::move(s.session->timeline);
    s.session.reset();
  }
  Session::State& session = s.onto != nullptr ? *s.onto : *s.session;
  session.timeline.restore_prompt_ends(s.prompt_ends);
  session.resume_point = ResumePoint();
  if (s.header.tokens > s.header.computed) session.resume_point.last = s.tokens.back();
  if (s.onto != nullptr) return std::unique_ptr<Session>();
  if (s.header.has_seed != 0) session.resume_point.seed = s.header.seed;
  session.resume_point.draws = s.header.draws;
  if (s.answer != 0) session.resume_point.answer = s.answer;
  return std::unique_ptr<Session>(new Session(std::move(s.session)));
}

}  // namespace sluice
