// Writing a session as a file.
#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/xxh64.h"
#include "session/file_parts.h"
#include "session/session_state.h"

namespace sluice {

struct SessionWriter::State {
  // Saves tokens [first, to) and their state. `piece`: as a piece, else as a whole session.
  State(const Session::State& s, bool piece, size_t first, size_t to)
      : runtime(s.runtime),
        copy(s.runtime),
        tokens(s.timeline.tokens().begin() + static_cast<ptrdiff_t>(first),
               s.timeline.tokens().begin() + static_cast<ptrdiff_t>(to)),
        kept(kept_of(s.timeline, static_cast<int64_t>(first), static_cast<int64_t>(to), piece)),
        rows(s.timeline, static_cast<int64_t>(first), static_cast<int64_t>(to), kept, piece),
        end(static_cast<int64_t>(to)),
        magic(piece ? kPieceMagic : kSessionMagic) {
    copy.timeline = s.timeline.clone();
    header.computed = static_cast<uint32_t>(tokens.size());
    const bool full = piece && tokens.size() == kPiecePositions;
    if (s.resume_point.last && !full) tokens.push_back(*s.resume_point.last);
    header.tokens = static_cast<uint32_t>(tokens.size());
    header.file_bytes = file_bytes_of(rows, tokens.size(), kept_bytes(kept.size())).value_or(0);
    header.identity = runtime.identity->value();
    header.rope = rope_hash(*runtime.model, runtime.context_size);
    header.kv_type = number_of(runtime.kv_type);
    if (piece) {
      header.version = kPieceVersion;
      header.first = static_cast<uint32_t>(first);
      header.seed = tokens_hash(s.timeline.tokens().first(first));
    } else {
      header.has_seed = s.resume_point.seed ? 1 : 0;
      header.seed = s.resume_point.seed.value_or(0);
      header.draws = s.resume_point.draws;
      header.first =
          static_cast<uint32_t>(std::min(s.resume_point.answer.value_or(0), tokens.size()));
    }
  }
  bool make_item();

  const Runtime& runtime;
  Session::State copy;  // has the past, and is counted among the engine's sessions
  std::vector<TokenId> tokens;
  std::vector<uint8_t> kept;
  TimelineRows rows;
  int64_t end;  // the positions before it are saved
  const char* magic;
  SessionHeader header;
  Xxh64 hash;
  FilePart part = FilePart::header;
  size_t tokens_given = 0;
  std::vector<uint8_t> item;  // that is being given
  size_t given = 0;           // of it
};

// Makes the next item; false if there is none.
bool SessionWriter::State::make_item() {
  item.clear();
  given = 0;
  const auto append = [this](const void* bytes, size_t n) {
    const auto* begin = static_cast<const uint8_t*>(bytes);  // null if n is 0
    item.insert(item.end(), begin, begin + n);
  };
  if (part == FilePart::header) {
    append(magic, kMagicBytes);
    append(&header, sizeof header);
    const uint64_t check = xxh64(item);
    append(&check, sizeof check);
    part = FilePart::tokens;
  } else if (part == FilePart::tokens && tokens_given < tokens.size()) {
    const size_t n = std::min(kTokensAtOnce, tokens.size() - tokens_given);
    append(tokens.data() + tokens_given, 4 * n);
    tokens_given += n;
  } else if (part < FilePart::kept) {
    part = FilePart::kept;
    uint32_t ends[1 + kMostPromptEnds] = {};
    for (const int64_t mark : copy.timeline.prompt_ends())
      if (mark <= end) ends[++ends[0]] = static_cast<uint32_t>(mark);
    static_assert(sizeof ends == kPromptEndBytes);
    append(ends, sizeof ends);
    append(kept.data(), kept.size());
  } else if (part <= FilePart::state && !rows.done()) {
    part = FilePart::state;
    item.resize(rows.bytes());
    rows.read(copy.timeline, *runtime.kernels, item.data());
  } else if (part < FilePart::end) {
    part = FilePart::end;
    const uint64_t check = hash.value();
    append(&check, sizeof check);
  } else {
    part = FilePart::done;
    return false;
  }
  if (part < FilePart::end) hash.update(item);
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

Result<std::unique_ptr<SessionWriter>> Session::State::make_writer(bool piece, size_t first) const {
  if (run) {
    return fail(Code::busy, "the session is generating; save it when that has ended");
  }
  SLUICE_TRY(runtime.check_keeps());
  if (!runtime.identity->known()) return fail(Code::invalid_argument, kNotIdentified);
  const size_t all = timeline.tokens().size();
  const size_t end = piece ? std::min(all, first + kPiecePositions) : all;
  return std::unique_ptr<SessionWriter>(
      new SessionWriter(std::make_unique<SessionWriter::State>(*this, piece, first, end)));
}

Result<std::unique_ptr<SessionWriter>> Session::save() const {
  return state_->make_writer(false, 0);
}

Result<std::unique_ptr<SessionWriter>> Session::save_piece(size_t piece) const {
  if (piece < pieces()) return state_->make_writer(true, piece * kPiecePositions);
  return fail(Code::invalid_argument, "the session has ", counted(pieces(), "piece"),
              ", so none is number ", piece);
}

size_t Session::pieces() const {
  const size_t written = state_->timeline.tokens().size() + (state_->resume_point.last ? 1 : 0);
  return (written + kPiecePositions - 1) / kPiecePositions;
}

uint64_t Session::piece_bytes() const {
  const size_t kept = kept_size(state_->timeline, 0, kPiecePositions);
  const TimelineRows rows(state_->timeline, 0, kPiecePositions, std::vector<uint8_t>(kept), true);
  return file_bytes_of(rows, kPiecePositions, kept_bytes(kept)).value_or(0);
}

}  // namespace sluice
