// The wasm module's interface for JavaScript: core/engine.h, with values converted and nothing
// else. module.d.ts describes it. Options and results are JSON texts: "" is success, a failure is
// error_json.
#include <emscripten.h>
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine_inside.h"

namespace sluice {
namespace {

using emscripten::val;

std::string answer(const Status& status) { return status ? "" : error_json(status.error()); }

uint64_t to_u64(double value) {
  if (!(value > 0)) return 0;
  return value < 0x1p63 ? static_cast<uint64_t>(value) : uint64_t{1} << 63;
}

std::vector<TokenId> to_ids(const val& ids) {
  return emscripten::convertJSArrayToNumberVector<TokenId>(ids);
}

std::vector<uint64_t> to_sizes(const val& sizes) {
  std::vector<uint64_t> numbers;
  for (const double size : emscripten::convertJSArrayToNumberVector<double>(sizes))
    numbers.push_back(to_u64(size));
  return numbers;
}

// A copy, because wasm memory moves when it grows.
val copy_of(const std::vector<double>& numbers) {
  return val(emscripten::typed_memory_view(numbers.size(), numbers.data())).call<val>("slice");
}

// Two numbers for each file: where it begins, and its bytes.
val file_places(std::span<const FilePlace> files) {
  std::vector<double> numbers;
  for (const FilePlace& file : files) {
    numbers.push_back(static_cast<double>(file.begin));
    numbers.push_back(static_cast<double>(file.bytes));
  }
  return copy_of(numbers);
}

std::span<const uint8_t> bytes_at(uintptr_t ptr, uint32_t length) {
  return {reinterpret_cast<const uint8_t*>(ptr), length};
}

// Three numbers for each want.
val numbers_of(const std::vector<Want>& wants) {
  std::vector<double> numbers;
  for (const Want& want : wants) {
    numbers.push_back(static_cast<double>(want.offset));
    numbers.push_back(static_cast<double>(reinterpret_cast<uintptr_t>(want.place.data())));
    numbers.push_back(static_cast<double>(want.place.size()));
  }
  return copy_of(numbers);
}

struct Progress {
  double loaded = 0;
  double total = 0;
  int32_t layers_ready = 0;
  int32_t layers_total = 0;
};

// An Engine that JavaScript owns. Until open() succeeds, calls return invalid_argument or nothing.
class EngineHandle {
 public:
  // `arrival`: stream, ranges or again.
  std::string open(const std::string& options_json, const val& file_sizes,
                   const std::string& arrival) {
    auto options = load_options_from_json(options_json);
    if (!options) return error_json(options.error());
    options_ = *options;
    auto engine = Engine::create(options_, to_sizes(file_sizes),
                                 arrival == "again"    ? Arrival::again
                                 : arrival == "ranges" ? Arrival::ranges
                                                       : Arrival::stream);
    if (!engine) return error_json(engine.error());
    engine_ = std::move(*engine);
    return "";
  }

  val wants(double bytes) {
    return numbers_of(engine_ ? engine_->wants(to_u64(bytes)) : std::vector<Want>());
  }
  val row_wants() { return numbers_of(engine_ ? engine_->row_wants() : std::vector<Want>()); }
  std::string rows_filled(double offset, double length) {
    return engine_ ? answer(engine_->rows_filled(to_u64(offset), to_u64(length))) : not_open();
  }
  // Six numbers for each slot.
  val slots() const {
    std::vector<double> numbers;
    for (const SlotView& slot : engine_ ? engine_->slots() : std::vector<SlotView>())
      numbers.insert(numbers.end(),
                     {static_cast<double>(slot.kind), static_cast<double>(slot.bytes),
                      static_cast<double>(slot.arrived), static_cast<double>(slot.state),
                      slot.takes_turns ? 1.0 : 0.0, static_cast<double>(slot.fills)});
    return copy_of(numbers);
  }
  std::string filled(double offset, double length) {
    return engine_ ? answer(engine_->filled(to_u64(offset), to_u64(length))) : not_open();
  }
  std::string end_of_file(double size) {
    return engine_ ? answer(engine_->end_of_file(to_u64(size))) : not_open();
  }
  bool header_read() const { return engine_ && engine_->header_read(); }
  std::string build_vocabulary() {
    return engine_ ? answer(engine_->build_vocabulary()) : not_open();
  }
  val files() const {
    return file_places(engine_ ? engine_->files() : std::span<const FilePlace>());
  }
  bool header_ready() const { return engine_ && engine_->header_ready(); }
  bool ready() const { return engine_ && engine_->ready(); }
  bool loaded() const { return engine_ && engine_->loaded(); }
  Progress progress() const {
    if (!engine_) return {};
    const LoadProgress p = engine_->progress();
    return {static_cast<double>(p.loaded), static_cast<double>(p.total), p.layers_ready,
            p.layers_total};
  }

  std::string inspect() const {
    return header_ready() ? inspect_json(engine_->header(), options_, engine_->progress().total)
                          : header_missing();
  }
  std::string notes() const {
    return notes_json(engine_ ? engine_->notes() : std::vector<std::string>());
  }
  // Only once header_ready().
  const Tokenizer& tokenizer() const { return engine_->tokenizer(); }
  std::string detokenize(const val& ids) const {
    return header_ready() ? engine_->tokenizer().decode(to_ids(ids)) : "";
  }

  std::string stats() const { return stats_json(engine_ ? engine_->stats() : Stats{}); }
  Engine& engine() const { return *engine_; }  // only once header_ready()

 private:
  static std::string not_open() {
    return error_json({Code::invalid_argument, "no file has been opened"});
  }
  static std::string header_missing() {
    return error_json({Code::invalid_argument, "the file's header has not been read yet"});
  }

  std::unique_ptr<Engine> engine_;
  LoadOptions options_;
};

// A session that JavaScript owns. Its engine must be header_ready() and outlive it.
class SessionHandle {
 public:
  explicit SessionHandle(const EngineHandle& engine)
      : session_(std::make_unique<Session>(engine.engine())) {}

  std::string start_text(const std::string& prompt, const std::string& options_json) {
    return start(std::string_view(prompt), options_json);
  }
  std::string start_ids(const val& prompt, const std::string& options_json) {
    return start(std::span<const TokenId>(to_ids(prompt)), options_json);
  }
  std::string start_logits(const val& ids, double batch) {
    return answer(session_->start_logits(to_ids(ids), static_cast<int64_t>(to_u64(batch))));
  }
  std::string step() {
    const Result<Event> event = session_->step();
    if (!event) return error_json(event.error());
    // Only `done` has stats; stats() gives them at other times.
    return event_json(*event, event->kind == Event::Kind::done ? session_->stats() : Stats{});
  }
  void cancel() { session_->cancel(); }
  bool running() const { return session_->running(); }
  std::string logits(int32_t top) const { return logits_json(session_->logits(), top, true); }
  std::string stats() const { return stats_json(session_->stats()); }

  SessionHandle* clone() const {
    auto copy = session_->clone();
    return copy ? new SessionHandle(std::move(*copy)) : nullptr;
  }
  void truncate(double length) { session_->truncate(static_cast<size_t>(to_u64(length))); }
  val tokens() const {
    const std::span<const TokenId> ids = session_->tokens();
    return val(emscripten::typed_memory_view(ids.size(), ids.data())).call<val>("slice");
  }

 private:
  explicit SessionHandle(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  template <typename Prompt>
  std::string start(Prompt prompt, const std::string& options_json) {
    const auto options = generate_options_from_json(options_json);
    if (!options) return error_json(options.error());
    return answer(session_->start(prompt, *options));
  }
  std::unique_ptr<Session> session_;
};

// Encodes a text in slices. The engine must be header_ready() and outlive this.
class EncodingHandle {
 public:
  EncodingHandle(const EngineHandle& engine, std::string text, bool special)
      : text_(std::move(text)), encoding_(engine.tokenizer(), text_, special) {}
  EncodingHandle(const EncodingHandle&) = delete;
  EncodingHandle& operator=(const EncodingHandle&) = delete;

  bool step() { return encoding_.step(); }
  val take() {
    const std::vector<TokenId> ids = encoding_.take();
    // A copy, because wasm memory moves when it grows.
    return val(emscripten::typed_memory_view(ids.size(), ids.data())).call<val>("slice");
  }

 private:
  std::string text_;
  Encoding encoding_;
};

// Reads the header of a model that isn't loaded.
class HeaderHandle {
 public:
  explicit HeaderHandle(const val& file_sizes) : parser_(to_sizes(file_sizes)) {}
  double position() const { return static_cast<double>(parser_.position()); }
  std::string push(uintptr_t ptr, uint32_t length) {
    if (done_) return "";
    const Result<size_t> taken = parser_.push(bytes_at(ptr, length));
    if (!taken) return error_json(taken.error());
    if (parser_.done()) {
      header_ = parser_.take();
      done_ = true;
    }
    return "";
  }
  bool done() const { return done_; }
  std::string end_of_file() const { return answer(parser_.finish()); }
  val files() const { return file_places(parser_.files()); }
  std::string inspect(const std::string& options_json, double file_size) const {
    const auto options = load_options_from_json(options_json);
    if (!options) return error_json(options.error());
    return inspect_json(header_, *options, to_u64(file_size));
  }

 private:
  ModelParser parser_;
  Gguf header_;
  bool done_ = false;
};

uintptr_t allocate(uint32_t bytes) { return reinterpret_cast<uintptr_t>(std::malloc(bytes)); }
void release(uintptr_t ptr) { std::free(reinterpret_cast<void*>(ptr)); }

// Called if `new` fails. Without exceptions the module would only trap. This throws a JavaScript
// error instead, which the worker reports as out_of_memory before it ends.
void fail_out_of_memory() { emscripten_throw_string("out_of_memory"); }

}  // namespace

EMSCRIPTEN_BINDINGS(sluice) {
  std::set_new_handler(fail_out_of_memory);

  emscripten::value_object<Progress>("Progress")
      .field("loaded", &Progress::loaded)
      .field("total", &Progress::total)
      .field("layersReady", &Progress::layers_ready)
      .field("layersTotal", &Progress::layers_total);
  emscripten::class_<EngineHandle>("Engine")
      .constructor<>()
      .function("open", &EngineHandle::open)
      .function("wants", &EngineHandle::wants)
      .function("filled", &EngineHandle::filled)
      .function("endOfFile", &EngineHandle::end_of_file)
      .function("headerRead", &EngineHandle::header_read)
      .function("buildVocabulary", &EngineHandle::build_vocabulary)
      .function("files", &EngineHandle::files)
      .function("understood", &EngineHandle::header_ready)
      .function("ready", &EngineHandle::ready)
      .function("loaded", &EngineHandle::loaded)
      .function("rowWants", &EngineHandle::row_wants)
      .function("rowsFilled", &EngineHandle::rows_filled)
      .function("slots", &EngineHandle::slots)
      .function("progress", &EngineHandle::progress)
      .function("inspect", &EngineHandle::inspect)
      .function("notes", &EngineHandle::notes)
      .function("detokenize", &EngineHandle::detokenize)
      .function("stats", &EngineHandle::stats);
  emscripten::class_<SessionHandle>("Session")
      .constructor<const EngineHandle&>()
      .function("startText", &SessionHandle::start_text)
      .function("startIds", &SessionHandle::start_ids)
      .function("startLogits", &SessionHandle::start_logits)
      .function("step", &SessionHandle::step)
      .function("cancel", &SessionHandle::cancel)
      .function("running", &SessionHandle::running)
      .function("logits", &SessionHandle::logits)
      .function("stats", &SessionHandle::stats)
      .function("clone", &SessionHandle::clone, emscripten::allow_raw_pointers())
      .function("truncate", &SessionHandle::truncate)
      .function("tokens", &SessionHandle::tokens);
  emscripten::class_<EncodingHandle>("Encoding")
      .constructor<const EngineHandle&, std::string, bool>()
      .function("step", &EncodingHandle::step)
      .function("take", &EncodingHandle::take);
  emscripten::class_<HeaderHandle>("Header")
      .constructor<const val&>()
      .function("position", &HeaderHandle::position)
      .function("push", &HeaderHandle::push)
      .function("done", &HeaderHandle::done)
      .function("endOfFile", &HeaderHandle::end_of_file)
      .function("files", &HeaderHandle::files)
      .function("inspect", &HeaderHandle::inspect);
  emscripten::function("allocate", &allocate);
  emscripten::function("release", &release);
}

}  // namespace sluice
