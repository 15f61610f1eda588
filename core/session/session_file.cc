#include "session/session_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/xxh64.h"
#include "engine/engine_state.h"

namespace sluice {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kHashBytes = 8;
constexpr size_t kFirstBytes = kMagicBytes + 8;  // magic, version, bytes of the header
constexpr uint32_t kMaxHeader = 4096;            // of any version
constexpr uint64_t kMaxDraws = uint64_t{1} << 53;
constexpr size_t kTokensAtOnce = 1024;

constexpr std::string_view kDamaged =
    ". It is damaged or was cut short: save it again, or begin without it";
constexpr std::string_view kNotIdentified =
    "the model isn't identified yet: its weights must have arrived";
constexpr std::string_view kTypeNames[] = {"f32", "f16", "q8_0"};

static_assert(std::endian::native == std::endian::little);

uint32_t number_of(KvType type) { return type == KvType::f32 ? 0 : type == KvType::f16 ? 1 : 2; }

// Of all that decides how positions are rotated, besides the weights.
uint64_t rope_hash(const Model& model) {
  Xxh64 hash;
  const auto add = [&](uint64_t number) {
    uint8_t bytes[8];
    std::memcpy(bytes, &number, sizeof bytes);
    hash.update(bytes);
  };
  for (const RopeShape& rope : model.ropes()) {
    add(static_cast<uint64_t>(rope.dims));
    add(static_cast<uint64_t>(rope.pairs));
    add(std::bit_cast<uint64_t>(rope.freq_base));
    add(std::bit_cast<uint64_t>(rope.scale));
    add(rope.factors >= 0 ? 1 : 0);
  }
  for (const LayerShape& layer : model.layers()) add(static_cast<uint64_t>(layer.rope + 1));
  return hash.value();
}

// Goes through the rows of a session's state, in their order in the file.
class StateRows {
 public:
  // Of the positions from `begin`, where a chunk begins, to `end`.
  StateRows(const Model& model, const KvCache& cache, int64_t begin, int64_t end)
      : model_(model), cache_(cache), begin_(begin), end_(end), first_(begin) {
    skip_layers();
  }

  bool done() const { return begin_ == end_ || first_ >= end_; }
  int64_t end() const { return end_; }
  size_t bytes() const { return cache_.row_bytes(layer_); }  // of the row that is next
  int64_t layer() const { return layer_; }
  int64_t head() const { return head_; }
  int64_t position() const { return first_ + row_; }
  KvCache::Half half() const { return half_; }
  void next() {
    if (++row_ < std::min<int64_t>(kKvChunk, end_ - first_)) return;
    row_ = 0;
    if (half_ == KvCache::Half::keys) {
      half_ = KvCache::Half::values;
      return;
    }
    half_ = KvCache::Half::keys;
    if (++head_ < model_.layer(layer_).n_kv_heads) return;
    head_ = 0;
    ++layer_;
    skip_layers();
  }
  // Of all rows; nothing if that doesn't fit 64 bits.
  std::optional<uint64_t> all_bytes() const {
    uint64_t position = 0;
    for (int64_t l = 0; l < model_.config().n_layers; ++l) {
      if (!own(l)) continue;
      uint64_t layer = 0;
      if (__builtin_mul_overflow(2 * static_cast<uint64_t>(model_.layer(l).n_kv_heads),
                                 cache_.row_bytes(l), &layer) ||
          __builtin_add_overflow(position, layer, &position))
        return std::nullopt;
    }
    uint64_t all = 0;
    if (__builtin_mul_overflow(position, static_cast<uint64_t>(end_ - begin_), &all))
      return std::nullopt;
    return all;
  }

 private:
  bool own(int64_t layer) const { return model_.layer(layer).cache == layer; }
  void skip_layers() {
    const int64_t n = model_.config().n_layers;
    while (layer_ < n && !own(layer_)) ++layer_;
    if (layer_ < n) return;
    layer_ = 0;
    first_ += kKvChunk;
    while (layer_ < n - 1 && !own(layer_)) ++layer_;
  }

  const Model& model_;
  const KvCache& cache_;
  int64_t begin_, end_;
  int64_t first_;  // position of the chunk
  int64_t layer_ = 0;
  int64_t head_ = 0;
  KvCache::Half half_ = KvCache::Half::keys;
  int64_t row_ = 0;  // in the chunk
};

// Nothing if it doesn't fit 64 bits.
std::optional<uint64_t> file_bytes_of(const StateRows& rows, uint64_t tokens) {
  const std::optional<uint64_t> state = rows.all_bytes();
  uint64_t all = kSessionHeaderBytes + 4 * tokens + kHashBytes;
  if (!state || __builtin_add_overflow(all, *state, &all)) return std::nullopt;
  return all;
}

// Of the tokens before a piece.
uint64_t tokens_hash(std::span<const TokenId> tokens) {
  return xxh64({reinterpret_cast<const uint8_t*>(tokens.data()), 4 * tokens.size()});
}

static_assert(kPiecePositions == kKvChunk);

}  // namespace

// --- writing -------------------------------------------------------------------------------------

struct SessionWriter::State {
  // Of the tokens from `first` to `end`, of those whose state the session has; `piece`: as a piece.
  State(const Session::State& s, KvCache&& past, bool piece, size_t first, size_t end)
      : engine(s.engine),
        copy(s.engine),
        tokens(s.cached.begin() + static_cast<ptrdiff_t>(first),
               s.cached.begin() + static_cast<ptrdiff_t>(end)),
        rows(*engine.model, copy.cache, static_cast<int64_t>(first), static_cast<int64_t>(end)),
        magic(piece ? kPieceMagic : kSessionMagic) {
    copy.cache = std::move(past);
    header.computed = static_cast<uint32_t>(tokens.size());
    const bool full = piece && tokens.size() == kPiecePositions;
    if (s.resume_point.last && !full) tokens.push_back(*s.resume_point.last);
    header.tokens = static_cast<uint32_t>(tokens.size());
    header.file_bytes = file_bytes_of(rows, tokens.size()).value_or(0);
    header.identity = engine.identity->value();
    header.rope = rope_hash(*engine.model);
    header.kv_type = number_of(kv_type_named(engine.options.kv_type));
    if (piece) {
      header.version = kPieceVersion;
      header.first = static_cast<uint32_t>(first);
      header.seed = tokens_hash(std::span(s.cached).first(first));
    } else {
      header.has_seed = s.resume_point.seed ? 1 : 0;
      header.seed = s.resume_point.seed.value_or(0);
      header.draws = s.resume_point.draws;
      header.first =
          static_cast<uint32_t>(std::min(s.resume_point.answer.value_or(0), tokens.size()));
    }
  }
  bool make_item();

  const Engine::State& engine;
  Session::State copy;  // has the past, and is counted among the engine's sessions
  std::vector<TokenId> tokens;
  StateRows rows;
  const char* magic;
  SessionHeader header;
  Xxh64 hash;
  enum class Part { header, tokens, state, end, done } part = Part::header;
  size_t tokens_given = 0;
  std::vector<uint8_t> item;  // that is being given
  size_t given = 0;           // of it
};

// Makes the next item; false if there is none.
bool SessionWriter::State::make_item() {
  item.clear();
  given = 0;
  const auto append = [this](const void* bytes, size_t n) {
    item.resize(item.size() + n);
    std::memcpy(item.data() + item.size() - n, bytes, n);
  };
  if (part == Part::header) {
    append(magic, kMagicBytes);
    append(&header, sizeof header);
    const uint64_t check = xxh64(item);
    append(&check, sizeof check);
    part = Part::tokens;
  } else if (part == Part::tokens && tokens_given < tokens.size()) {
    const size_t n = std::min(kTokensAtOnce, tokens.size() - tokens_given);
    append(tokens.data() + tokens_given, 4 * n);
    tokens_given += n;
  } else if (part <= Part::state && !rows.done()) {
    part = Part::state;
    item.resize(rows.bytes());
    copy.cache.read_row(*engine.kernels, rows.layer(), rows.head(), rows.position(), rows.half(),
                        item.data());
    rows.next();
  } else if (part < Part::end) {
    part = Part::end;
    const uint64_t check = hash.value();
    append(&check, sizeof check);
  } else {
    part = Part::done;
    return false;
  }
  if (part < Part::end) hash.update(item);
  return true;
}

SessionWriter::SessionWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
SessionWriter::~SessionWriter() = default;

uint64_t SessionWriter::bytes() const { return state_->header.file_bytes; }

size_t SessionWriter::next(std::span<uint8_t> out) {
  State& s = *state_;
  size_t written = 0;
  while (written < out.size()) {
    if (s.given == s.item.size() && !s.make_item()) break;
    const size_t n = std::min(out.size() - written, s.item.size() - s.given);
    std::memcpy(out.data() + written, s.item.data() + s.given, n);
    s.given += n;
    written += n;
  }
  return written;
}

Result<std::unique_ptr<SessionWriter>> Session::State::write(bool piece, size_t first) const {
  if (run.kind != Run::Kind::none) {
    return fail(Code::busy, "the session is generating; save it when that has ended");
  }
  if (!engine.identity->known()) return fail(Code::invalid_argument, kNotIdentified);
  const size_t end = piece ? std::min(cached.size(), first + kPiecePositions) : cached.size();
  SLUICE_ASSIGN(KvCache past, cache.clone());
  return std::unique_ptr<SessionWriter>(new SessionWriter(
      std::make_unique<SessionWriter::State>(*this, std::move(past), piece, first, end)));
}

Result<std::unique_ptr<SessionWriter>> Session::save() const { return state_->write(false, 0); }

Result<std::unique_ptr<SessionWriter>> Session::save_piece(size_t piece) const {
  if (piece < pieces()) return state_->write(true, piece * kPiecePositions);
  return fail(Code::invalid_argument, "the session has ", counted(pieces(), "piece"),
              ", so none is number ", piece);
}

size_t Session::pieces() const {
  const size_t written = state_->cached.size() + (state_->resume_point.last ? 1 : 0);
  return (written + kPiecePositions - 1) / kPiecePositions;
}

uint64_t Session::piece_bytes() const {
  const StateRows rows(*state_->engine.model, state_->cache, 0, kPiecePositions);
  return file_bytes_of(rows, kPiecePositions).value_or(0);
}

// --- reading -------------------------------------------------------------------------------------

struct SessionReader::State {
  explicit State(Engine::State& of) : engine(of) {}

  const char* magic() const { return onto != nullptr ? kPieceMagic : kSessionMagic; }
  size_t needed() const;
  Status take(std::span<const uint8_t> bytes);
  Status push(std::span<const uint8_t> bytes);
  Status take_first(std::span<const uint8_t> bytes);
  Status take_header(std::span<const uint8_t> bytes);
  Status check_header();
  Status check_piece() const;
  Status check_target() const;
  Status check_place() const;
  Status take_tokens(std::span<const uint8_t> bytes);
  Status take_row(std::span<const uint8_t> bytes);
  Status begin_state();

  Engine::State& engine;
  uint64_t file_bytes = 0;  // 0: unknown
  // That a piece is for. It may be gone: see check_target().
  Session::State* onto = nullptr;
  enum class Part { first, header, tokens, state, end, done } part = Part::first;
  uint64_t taken = 0;
  std::vector<uint8_t> item;  // the part of the next item that has come
  Xxh64 hash;
  SessionHeader header;
  uint32_t answer = 0;  // header.first of a session; that is 0 then
  std::vector<TokenId> tokens;
  // Gets the state; of a piece a clone of `onto`, which shares the past.
  std::unique_ptr<Session::State> session;
  std::optional<StateRows> rows;
  std::optional<Error> error;
  bool taken_out = false;
};

SessionReader::SessionReader(Engine& engine, uint64_t file_bytes, Session* onto)
    : state_(std::make_unique<State>(*engine.state_)) {
  state_->file_bytes = file_bytes;
  if (onto != nullptr) state_->onto = onto->state_.get();
}
SessionReader::~SessionReader() = default;

// Bytes of the next item.
size_t SessionReader::State::needed() const {
  switch (part) {
    case Part::first:
      return kFirstBytes;
    case Part::header:
      return header.header_bytes - kFirstBytes;
    case Part::tokens:
      return 4 * std::min<size_t>(kTokensAtOnce, header.tokens - tokens.size());
    case Part::state:
      return rows->bytes();
    case Part::end:
      return kHashBytes;
    case Part::done:
      break;
  }
  return 0;
}

Status SessionReader::State::take(std::span<const uint8_t> bytes) {
  taken += bytes.size();
  if (part == Part::end) {
    uint64_t found = 0;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (found != hash.value()) {
      return fail(Code::bad_file, "the session's bytes have the hash ", hexadecimal(hash.value()),
                  "; expected ", hexadecimal(found), kDamaged);
    }
    part = Part::done;
    return {};
  }
  hash.update(bytes);
  if (part == Part::first) return take_first(bytes);
  if (part == Part::header) return take_header(bytes);
  if (part == Part::tokens) return take_tokens(bytes);
  return take_row(bytes);
}

Status SessionReader::State::push(std::span<const uint8_t> bytes) {
  if (onto != nullptr) SLUICE_TRY(check_target());
  while (!bytes.empty()) {
    if (part == Part::done) {
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
  part = Part::header;
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
  if (onto != nullptr) SLUICE_TRY(check_piece());
  if (!engine.identity->known()) {
    return fail(Code::invalid_argument, kNotIdentified);
  }
  const uint64_t identity = engine.identity->value();
  if (header.identity != identity) {
    return fail(Code::invalid_argument, "the session was saved with another model (found ",
                hexadecimal(header.identity), ", but this model is ", hexadecimal(identity),
                "): use the model file that it was saved with");
  }
  if (header.rope != rope_hash(*engine.model)) {
    return fail(Code::invalid_argument,
                "the session's positions were computed with other RoPE settings than this model "
                "has here: use the settings that it was saved with");
  }
  const uint32_t type = number_of(kv_type_named(engine.options.kv_type));
  if (header.kv_type != type) {
    return fail(Code::invalid_argument, "the session's keys and values are ",
                kTypeNames[header.kv_type], ", but this model was loaded with ", kTypeNames[type],
                ": load it with the KV type ", kTypeNames[header.kv_type]);
  }
  const uint64_t tokens_in_all = uint64_t{header.first} + header.tokens;
  if (tokens_in_all > engine.context_size) {
    return with_facts(
        fail(Code::context_full, "the session has ", counted(tokens_in_all, "token"),
             ", but the context holds ", engine.context_size, "; load with a larger context"),
        {{"tokens", tokens_in_all}, {"room", engine.context_size}});
  }
  return {};
}

// Whether the session that the piece is for is there and can take it.
Status SessionReader::State::check_target() const {
  if (std::ranges::find(engine.sessions, onto) == engine.sessions.end()) {
    return fail(
        Code::invalid_argument,
        "the session that the piece is for is closed, or is none of this engine's; give the "
        "piece to one that is open");
  }
  if (onto->run.kind != Run::Kind::none) {
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
  const size_t begun = onto->cached.size();
  if (header.first != begun || begun % kPiecePositions != 0 || onto->resume_point.last ||
      header.seed != tokens_hash(onto->cached)) {
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
  session = std::make_unique<Session::State>(engine);
  if (onto != nullptr) {
    onto->cache.truncate(header.first);  // it may have more after a run that failed
    SLUICE_ASSIGN(session->cache, onto->cache.clone());
  }
  rows.emplace(*engine.model, session->cache, int64_t{header.first},
               int64_t{header.first} + header.computed);
  const std::optional<uint64_t> expected = file_bytes_of(*rows, header.tokens);
  if (header.file_bytes != expected) {
    return fail(Code::bad_file, "the session's header says ", counted(header.file_bytes, "byte"),
                "; expected ", expected.value_or(0), " for its ", counted(header.tokens, "token"),
                kDamaged);
  }
  if (file_bytes != 0 && file_bytes != header.file_bytes) {
    return fail(Code::bad_file, "it has ", counted(file_bytes, "byte"),
                " and not all of the session", ": expected ", header.file_bytes, kDamaged);
  }
  part = Part::tokens;
  return header.tokens == 0 ? begin_state() : Status();
}

Status SessionReader::State::take_tokens(std::span<const uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += 4) {
    TokenId id = 0;
    std::memcpy(&id, bytes.data() + at, sizeof id);
    if (id < 0 || id >= engine.n_vocab()) {
      return fail(Code::bad_file, "the session has a token ", id, "; expected ids from 0 to ",
                  engine.n_vocab() - 1, kDamaged);
    }
    tokens.push_back(id);
  }
  return tokens.size() == header.tokens ? begin_state() : Status();
}

Status SessionReader::State::begin_state() {
  part = rows->done() ? Part::end : Part::state;
  return {};
}

Status SessionReader::State::take_row(std::span<const uint8_t> bytes) {
  KvCache& cache = session->cache;
  const int64_t position = rows->position();
  if (position >= cache.positions()) {
    // The first row of a chunk.
    const int64_t end = std::min<int64_t>(rows->end(), position + kKvChunk);
    SLUICE_TRY(session->admit(static_cast<size_t>(position), static_cast<size_t>(end), 0, 0));
    SLUICE_TRY(cache.append(end - cache.positions()));
  }
  if (!cache.write_row(*engine.kernels, rows->layer(), rows->head(), position, rows->half(),
                       bytes.data())) {
    return fail(Code::bad_file, "the session has a number that is NaN or infinite in layer ",
                rows->layer(), " at position ", position, "; expected finite numbers", kDamaged);
  }
  rows->next();
  if (rows->done()) part = Part::end;
  return {};
}

Result<std::unique_ptr<Session>> SessionReader::finish() {
  State& s = *state_;
  if (s.error) return std::unexpected(*s.error);
  if (s.part != State::Part::done || s.taken_out) {
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
    s.onto->cache = std::move(s.session->cache);
    s.session.reset();
  }
  Session::State& session = s.onto != nullptr ? *s.onto : *s.session;
  session.cached.insert(session.cached.end(), s.tokens.begin(), s.tokens.end());
  session.resume_point = ResumePoint();
  if (s.header.tokens > s.header.computed) {
    session.resume_point.last = session.cached.back();
    session.cached.pop_back();
  }
  if (s.onto != nullptr) return std::unique_ptr<Session>();
  if (s.header.has_seed != 0) session.resume_point.seed = s.header.seed;
  session.resume_point.draws = s.header.draws;
  if (s.answer != 0) session.resume_point.answer = s.answer;
  return std::unique_ptr<Session>(new Session(std::move(s.session)));
}

}  // namespace sluice
