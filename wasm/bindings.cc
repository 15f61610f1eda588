// The wasm module's interface for JavaScript: core/engine.h, with values converted and nothing
// else. module.d.ts describes it. Options and results are JSON texts: "" is success, a failure is
// error_json.
#include <emscripten.h>
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/choice.h"
#include "api/embedding_prompts.h"
#include "api/fill_mask.h"
#include "api/inspect.h"
#include "api/json.h"
#include "api/lens.h"
#include "api/text_ids.h"
#include "base/utf8.h"
#include "chat/chat_template.h"
#include "chat/reuse.h"
#include "engine/decode_rate.h"
#include "engine/model_sampling.h"
#include "gguf/gguf.h"
#include "gguf/model_parser.h"
#include "quant/packed_layout.h"
#include "reply/reply_prompt.h"
#include "session/results.h"
#include "session/states.h"
#include "text/tokenizer.h"
#include "weights/packed_copy.h"
#include "weights/want.h"

namespace sluice {
namespace {

constexpr uint32_t kMostShownTokens = 1'000'000;

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
template <typename Number>
val copy_of(std::span<const Number> numbers) {
  return val(emscripten::typed_memory_view(numbers.size(), numbers.data())).call<val>("slice");
}

std::vector<int64_t> to_numbers(const val& list) {
  const std::vector<TokenId> numbers = to_ids(list);
  return {numbers.begin(), numbers.end()};
}

// `ids`: of all texts, one after the other.
std::vector<std::vector<TokenId>> to_texts(const val& ids, const val& lengths) {
  const std::vector<TokenId> all = to_ids(ids);
  std::vector<std::vector<TokenId>> texts;
  std::span<const TokenId> left(all);
  for (const int32_t length : to_ids(lengths)) {
    const auto size = static_cast<size_t>(std::max(length, 0));
    const std::span<const TokenId> text = left.first(std::min(size, left.size()));
    texts.emplace_back(text.begin(), text.end());
    left = left.subspan(text.size());
  }
  return texts;
}

// The numbers from the one of this index on.
val copy_from(std::span<const float> numbers, uint32_t from) {
  return copy_of(numbers.subspan(std::min<size_t>(from, numbers.size())));
}

// Two numbers for each file: where it begins, and its bytes.
val file_places(std::span<const FilePlace> files) {
  std::vector<double> numbers;
  for (const FilePlace& file : files) {
    numbers.push_back(static_cast<double>(file.begin));
    numbers.push_back(static_cast<double>(file.bytes));
  }
  return copy_of<double>(numbers);
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
  return copy_of<double>(numbers);
}

struct Progress {
  double loaded = 0;
  double total = 0;
  int32_t layers_ready = 0;
  int32_t layers_total = 0;
};

struct PromptCounts {
  double computed = 0;
  double total = 0;
  double reused = 0;
  double seconds_left = -1;
  bool waiting = false;
};

// An Engine that JavaScript owns. Until open() succeeds, calls return invalid_argument or nothing.
class EngineHandle : private PackedKeeper {
 public:
  // `access`: sequential, any_order or rereadable.
  std::string open(const std::string& options_json, const val& file_sizes,
                   const std::string& access) {
    auto options = load_options_from_json(options_json);
    if (!options) return error_json(options.error());
    options_ = *options;
    access_ = access == "rereadable"  ? Access::rereadable
              : access == "any_order" ? Access::any_order
                                      : Access::sequential;
    auto engine = Engine::create(options_, to_sizes(file_sizes), access_);
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
                      slot.reread ? 1.0 : 0.0, static_cast<double>(slot.fills)});
    return copy_of<double>(numbers);
  }
  std::string filled(double offset, double length, bool packed) {
    if (!engine_) return not_open();
    packed_.clear();
    return answer(packed ? engine_->filled_packed(to_u64(offset), to_u64(length))
                         : engine_->filled(to_u64(offset), to_u64(length)));
  }
  void keeps_packed(bool keeps) {
    if (engine_) engine_->keep_packed(keeps ? this : nullptr);
  }
  val take_packed() { return copy_of<double>(std::exchange(packed_, {})); }
  std::string end_of_file(double size) {
    return engine_ ? answer(engine_->end_of_file(to_u64(size))) : not_open();
  }
  bool has_layout() const { return engine_ && engine_->has_layout(); }
  std::string build_tokenizer() {
    return engine_ ? answer(engine_->build_tokenizer()) : not_open();
  }
  val files() const {
    return file_places(engine_ ? engine_->files() : std::span<const FilePlace>());
  }
  // "" once the model is identified; {"event":"waiting"} while that waits for weights.
  std::string identify() {
    if (!engine_) return not_open();
    const Result<bool> known = engine_->identify();
    if (!known) return error_json(known.error());
    Event waiting;
    waiting.kind = Event::Kind::waiting;
    return *known ? "" : event_json(waiting, Stats{});
  }
  void stop_identifying() {
    if (engine_) engine_->stop_identifying();
  }
  bool has_tokenizer() const { return engine_ && engine_->has_tokenizer(); }
  bool ready() const { return engine_ && engine_->ready(); }
  bool loaded() const { return engine_ && engine_->loaded(); }
  Progress progress() const {
    if (!engine_) return {};
    const LoadProgress p = engine_->progress();
    return {static_cast<double>(p.loaded), static_cast<double>(p.total), p.layers_ready,
            p.layers_total};
  }

  std::string inspect() const {
    if (!has_tokenizer()) return header_missing();
    return inspect_json(engine_->header(), options_, engine_->file_bytes(), access_);
  }
  std::string notes() const { return notes_json(engine_ ? engine_->notes() : Notes()); }
  // Only once has_tokenizer().
  const Tokenizer& tokenizer() const { return engine_->tokenizer(); }
  // Ids may end within a character. Of bytes that are no UTF-8 JavaScript's text would be made with
  // those behind the string.
  std::string detokenize(const val& ids) const {
    return has_tokenizer() ? utf8_sanitize(engine_->tokenizer().decode(to_ids(ids))) : "";
  }
  // Of all prompts from now on.
  void stop_when(const val& stopped) {
    stopped_ = [stopped] { return stopped().as<bool>(); };
  }
  const std::function<bool()>& stopped() const { return stopped_; }
  // `chat_template`: "" for the file's own. The time is that of strftime_now.
  std::string apply_template(const std::string& messages, const std::string& kwargs,
                             const std::string& chat_template, bool adapt_contents, bool tokens,
                             double now, int32_t utc_offset_seconds) {
    if (!has_tokenizer()) return header_missing();
    ChatRequest request;
    request.messages = messages;
    request.kwargs = kwargs;
    if (!chat_template.empty()) request.chat_template = chat_template;
    request.adapt_contents = adapt_contents;
    request.encode = tokens;
    request.time = {static_cast<int64_t>(to_u64(now)), utc_offset_seconds, stopped_};
    // What is only shown or counted may be longer than the context, but not without end.
    request.context = std::max(engine_->context_size(), kMostShownTokens);
    const auto prompt = apply_chat_template(chat_model(), request);
    return prompt ? chat_prompt_json(*prompt, tokens) : error_json(prompt.error());
  }

  // The bytes of each token, those of a control token's name: [[byte,..],..].
  std::string token_bytes(const val& ids) const {
    return has_tokenizer() ? token_bytes_json(engine_->tokenizer(), to_ids(ids)) : header_missing();
  }

  // Only once has_tokenizer(), as the next.
  std::string text_prefix(bool query) const {
    const EmbeddingPrompts prompts = embedding_prompts(engine_->header());
    return std::string(query ? prompts.query : prompts.document);
  }
  val text_ids(const val& ids, uint32_t most) const {
    std::vector<TokenId> all = tokenizer().framed(to_ids(ids));
    if (most > 0) truncate_ids(tokenizer(), most, all);
    return copy_of<TokenId>(all);
  }

  TokenId mask() const { return tokenizer().mask(); }
  std::string token_text_of(TokenId id) const { return token_text(tokenizer(), id); }

  std::string stats() const { return stats_json(engine_ ? engine_->stats() : Stats{}); }
  // Only once has_tokenizer(), as the next.
  Engine& engine() const { return *engine_; }
  ChatModel chat_model() { return {&engine_->header(), &engine_->tokenizer(), &learned_}; }

 private:
  void keep(uint64_t offset, std::span<const uint8_t> bytes) override {
    const double address = static_cast<double>(reinterpret_cast<uintptr_t>(bytes.data()));
    for (const double number :
         {static_cast<double>(offset), address, static_cast<double>(bytes.size())})
      packed_.push_back(number);
  }
  static std::string not_open() {
    return error_json({Code::invalid_argument, "no file has been opened"});
  }
  static std::string header_missing() {
    return error_json({Code::invalid_argument, "the file's header has not been read yet"});
  }

  std::unique_ptr<Engine> engine_;
  TemplateCache learned_;
  LoadOptions options_;
  Access access_ = Access::sequential;
  std::function<bool()> stopped_;
  std::vector<double> packed_;  // three numbers for each chunk that the last filled() has packed
};

class SessionHandle;

// What a reply follows. The engine must be has_tokenizer() and outlive this.
class PromptHandle {
 public:
  explicit PromptHandle(EngineHandle& engine)
      : engine_(&engine.engine()), model_(engine.chat_model()), stopped_(engine.stopped()) {}

  // `thinking`: 0 off, 1 on, -1 as the template likes. The others as for apply_template().
  std::string open_chat(const std::string& messages, const std::string& kwargs,
                        const std::string& chat_template, uint32_t most_tokens, int32_t thinking,
                        double now, int32_t utc_offset_seconds) {
    asked_ = std::chrono::steady_clock::now();
    ChatRequest request;
    request.messages = messages;
    request.kwargs = kwargs;
    if (!chat_template.empty()) request.chat_template = chat_template;
    request.adapt_contents = true;
    request.most_tokens = most_tokens;
    if (thinking >= 0) request.thinking = thinking == 1;
    request.time = {static_cast<int64_t>(to_u64(now)), utc_offset_seconds, stopped_};
    request.context = engine_->context_size() - 1;
    auto reply = make_reply_prompt(model_, request);
    if (!reply) return error_json(reply.error());
    reply_ = std::move(*reply);
    return reply_prompt_json(reply_);
  }
  std::string open_text(const std::string& text) {
    asked_ = std::chrono::steady_clock::now();
    reply_ = ReplyPrompt();
    const Tokenizer& tokenizer = engine_->tokenizer();
    reply_.prompt.tokens = tokenizer.with_prefix(tokenizer.encode(text));
    return reply_prompt_json(reply_);
  }
  std::string open_ids(const val& ids) {
    asked_ = std::chrono::steady_clock::now();
    reply_ = ReplyPrompt();
    reply_.prompt.tokens = to_ids(ids);
    return reply_prompt_json(reply_);
  }
  // As they are given to a session.
  std::vector<TokenId> tokens_for(const Session& session) const {
    return reuse_tokens(engine_->tokenizer(), session.written(), reply_.prompt.tokens);
  }
  // How many tokens at the beginning a reply in the session need not compute (Session::reusable).
  uint32_t reusable(const SessionHandle& session) const;
  // How many tokens at the beginning are those of a session that has written these.
  uint32_t shared_written(const val& ids) const {
    const std::vector<TokenId> written = to_ids(ids);
    const std::vector<TokenId> tokens =
        reuse_tokens(engine_->tokenizer(), written, reply_.prompt.tokens);
    return static_cast<uint32_t>(std::ranges::mismatch(tokens, written).in1 - tokens.begin());
  }
  const ReplyFormat& format() const { return reply_.format; }
  // When it was opened: a reply's first token is awaited from then on.
  std::chrono::steady_clock::time_point asked() const { return asked_; }

 private:
  const Engine* engine_;
  ChatModel model_;
  std::function<bool()> stopped_;
  ReplyPrompt reply_;
  std::chrono::steady_clock::time_point asked_;
};

GenerateOptions model_defaults(const EngineHandle& engine) {
  return read_model_sampling(engine.engine().header()).defaults;
}

// A session that JavaScript owns. Its engine must be has_tokenizer() and outlive it.
class SessionHandle {
 public:
  explicit SessionHandle(const EngineHandle& engine)
      : SessionHandle(std::make_unique<Session>(engine.engine()), model_defaults(engine)) {}
  // `defaults`: of options that a run isn't given.
  SessionHandle(std::unique_ptr<Session> session, GenerateOptions defaults)
      : session_(std::move(session)), defaults_(std::move(defaults)) {}

  std::string start_text(const std::string& prompt, const std::string& options_json) {
    return start(std::string_view(prompt), options_json);
  }
  std::string start_ids(const val& prompt, const std::string& options_json) {
    return start(std::span<const TokenId>(to_ids(prompt)), options_json);
  }
  // A reply to the prompt; see Session::start_reply.
  std::string start_reply(const PromptHandle& prompt, const std::string& options_json,
                          double thinking_tokens) {
    const auto options = generate_options_from_json(options_json, defaults_);
    if (!options) return error_json(options.error());
    const int64_t most =
        thinking_tokens >= 0 ? static_cast<int64_t>(to_u64(thinking_tokens)) : int64_t{-1};
    return answer(session_->start_reply(prompt.tokens_for(*session_), *options, prompt.format(),
                                        most, prompt.asked()));
  }
  std::string resume(const std::string& options_json) {
    const auto options = generate_options_from_json(options_json, defaults_);
    return options ? answer(session_->resume(*options)) : error_json(options.error());
  }
  // `positions`: those whose logits are wanted, ascending; none: the last one.
  std::string start_logits(const val& ids, double batch, const val& positions) {
    Results wanted;
    for (const TokenId position : to_ids(positions))
      wanted.logits.chosen.push_back(static_cast<size_t>(position));
    const std::vector<TokenId> tokens = to_ids(ids);
    if (wanted.logits.chosen.empty() && !tokens.empty())
      wanted.logits.chosen.push_back(tokens.size() - 1);
    rows_ = std::max<size_t>(wanted.logits.chosen.size(), 1);
    return answer(session_->start_results(tokens, static_cast<int64_t>(to_u64(batch)), wanted));
  }
  std::string start_vectors(const val& ids, const val& lengths, int32_t pooling) {
    return answer(session_->start_vectors(to_texts(ids, lengths), static_cast<Pooling>(pooling)));
  }
  // The numbers of the vectors that are done, from the one of this index on.
  val vectors(uint32_t from) const { return copy_from(session_->vectors(), from); }

  // `at` and `of` as StatesAt and StatesOf have them.
  std::string start_states(const val& ids, const val& lengths, int32_t at, int32_t of,
                           const val& layers) {
    return answer(session_->start_states(
        to_texts(ids, lengths),
        {static_cast<StatesAt>(at), static_cast<StatesOf>(of), to_numbers(layers)}));
  }
  // As vectors().
  val states(uint32_t from) const { return copy_from(session_->states(), from); }

  // The states after a layer, of the positions from this one on.
  std::string start_hidden(const val& ids, uint32_t from, int32_t layer) {
    const std::vector<TokenId> tokens = to_ids(ids);
    Results wanted;
    for (size_t position = from; position < tokens.size(); ++position)
      wanted.hidden.chosen.push_back(position);
    wanted.hidden_layers = {layer};
    wanted.reuse = true;
    return answer(session_->start_results(tokens, 0, wanted));
  }
  val hidden() const { return copy_of(session_->hidden()); }

  std::string start_head(const val& states, uint32_t rows) {
    rows_ = std::max<size_t>(rows, 1);
    return answer(session_->start_head(emscripten::convertJSArrayToNumberVector<float>(states)));
  }
  // Of one of the rows: the log-sum, the entropy, then the id and the logit of each of the best.
  val raw_logits(int32_t most, uint32_t row) const {
    const RawLogits raw = sluice::raw_logits(logits_of(row), most);
    std::vector<double> numbers = {raw.log_sum, raw.entropy};
    for (const auto& [id, logit] : raw.best) {
      numbers.push_back(static_cast<double>(id));
      numbers.push_back(static_cast<double>(logit));
    }
    return copy_of<double>(numbers);
  }
  // `raw` as raw_logits() gives it; empty: all logits of the first row.
  std::string choice(const EngineHandle& engine, const val& raw, const val& before,
                     uint32_t prompt_tokens, const std::string& options_json, double draws,
                     int32_t most) const {
    const auto options = generate_options_from_json(options_json, defaults_);
    if (!options) return error_json(options.error());
    const std::vector<TokenId> tokens = to_ids(before);
    const ChoicePlace place = {tokens, prompt_tokens, to_u64(draws)};
    const Tokenizer& tokenizer = engine.tokenizer();
    const std::vector<double> numbers = emscripten::convertJSArrayToNumberVector<double>(raw);
    Result<std::string> choice = "";
    if (numbers.size() < 2) {
      choice = choice_json(&tokenizer, logits_of(0), place, *options, most);
    } else {
      RawLogits kept;
      kept.log_sum = numbers[0];
      for (size_t i = 2; i + 1 < numbers.size(); i += 2)
        kept.best.emplace_back(static_cast<TokenId>(numbers[i]),
                               static_cast<float>(numbers[i + 1]));
      choice = choice_json(&tokenizer, tokenizer.vocab_size(), kept, place, *options, most);
    }
    return choice ? *choice : error_json(choice.error());
  }
  std::string start_lens(const EngineHandle& engine, const val& ids, const val& layers,
                         const val& positions, int32_t top) {
    LensWanted wanted = {to_numbers(positions), to_numbers(layers), top};
    auto lens = LensRun::start(engine.engine(), *session_, to_ids(ids), std::move(wanted));
    if (!lens) return error_json(lens.error());
    lens_ = std::move(*lens);
    lens_runs_ = true;
    return "";
  }
  uint32_t lens_done() const { return lens_ ? static_cast<uint32_t>(lens_->done()) : 0; }
  // Of each cell its entropy, its divergence, then the id and the log-probability of each of the
  // likeliest.
  val lens() const {
    std::vector<double> numbers;
    if (!lens_) return copy_of<double>(numbers);
    const LensCells& cells = lens_->cells();
    size_t at = 0;
    for (size_t cell = 0; cell < cells.entropies.size(); ++cell) {
      numbers.push_back(static_cast<double>(cells.entropies[cell]));
      numbers.push_back(static_cast<double>(cells.divergences[cell]));
      for (const size_t end = at + static_cast<size_t>(cells.top); at < end; ++at) {
        numbers.push_back(static_cast<double>(cells.ids[at]));
        numbers.push_back(static_cast<double>(cells.logprobs[at]));
      }
    }
    return copy_of<double>(numbers);
  }
  // Of the last id.
  std::string start_attention(const val& ids) {
    const std::vector<TokenId> tokens = to_ids(ids);
    Results wanted;
    wanted.attention = tokens.empty() ? 0 : tokens.size() - 1;
    wanted.reuse = true;
    return answer(session_->start_results(tokens, 0, wanted));
  }
  // Two numbers for each layer that attends: which it is, and its heads.
  val attention_layers() const {
    std::vector<TokenId> numbers;
    for (const auto& [layer, heads] : session_->attention_layers()) {
      numbers.push_back(static_cast<TokenId>(layer));
      numbers.push_back(static_cast<TokenId>(heads));
    }
    return copy_of<TokenId>(numbers);
  }
  val attention() const { return copy_of(session_->attention()); }
  std::string step() {
    if (lens_runs_) {
      const Result<Event::Kind> kind = lens_->step();
      lens_runs_ = kind && *kind != Event::Kind::done;
      if (!kind) return error_json(kind.error());
      Event event;
      event.kind = *kind;
      return event_json(event, Stats{});
    }
    const Result<Event> event = session_->step();
    if (!event) return error_json(event.error());
    // Only `done` has stats; stats() gives them at other times.
    return event_json(*event, event->kind == Event::Kind::done ? session_->stats() : Stats{});
  }
  void cancel() { lens_runs_ ? lens_->cancel() : session_->cancel(); }
  bool running() const { return lens_runs_ || session_->running(); }
  // Of one of the positions.
  std::string logits(int32_t top, uint32_t row) const {
    return logits_json(logits_of(row), top, true);
  }
  std::string stats() const { return stats_json(session_->stats()); }
  PromptCounts prompt_progress() const {
    const PromptProgress p = session_->prompt_progress();
    return {static_cast<double>(p.computed), static_cast<double>(p.total),
            static_cast<double>(p.reused), p.seconds_left.value_or(-1), p.waiting};
  }

  SessionHandle* clone() const {
    auto copy = session_->clone();
    return copy ? new SessionHandle(std::move(*copy), defaults_) : nullptr;
  }
  void truncate(double length) { session_->truncate(static_cast<size_t>(to_u64(length))); }
  val tokens() const { return copy_of(session_->tokens()); }

  uint32_t pieces() const { return static_cast<uint32_t>(session_->pieces()); }
  double piece_bytes() const { return static_cast<double>(session_->piece_bytes()); }

  const Session& session() const { return *session_; }
  Session* pointer() { return session_.get(); }

 private:
  template <typename Prompt>
  std::string start(Prompt prompt, const std::string& options_json) {
    const auto options = generate_options_from_json(options_json, defaults_);
    if (!options) return error_json(options.error());
    return answer(session_->start(prompt, *options));
  }
  std::span<const float> logits_of(uint32_t row) const {
    const std::span<const float> all = session_->logits();
    const size_t n_vocab = all.size() / rows_;
    return all.subspan(std::min<size_t>(row, rows_ - 1) * n_vocab, n_vocab);
  }

  std::unique_ptr<Session> session_;
  GenerateOptions defaults_;
  std::unique_ptr<LensRun> lens_;  // the last one
  bool lens_runs_ = false;
  size_t rows_ = 1;  // of logits: positions of start_logits(), rows of start_head()
};

uint32_t PromptHandle::reusable(const SessionHandle& session) const {
  return static_cast<uint32_t>(session.session().reusable(tokens_for(session.session())));
}

// The bytes of a session's file.
class WriterHandle {
 public:
  std::string open(const SessionHandle& session) { return take(session.session().save()); }
  std::string open_piece(const SessionHandle& session, uint32_t piece) {
    return take(session.session().save_piece(piece));
  }
  double bytes() const { return writer_ ? static_cast<double>(writer_->bytes()) : 0; }
  uint32_t next(uintptr_t ptr, uint32_t length) {
    const std::span<uint8_t> place(reinterpret_cast<uint8_t*>(ptr), length);
    return writer_ ? static_cast<uint32_t>(writer_->next(place)) : 0;
  }

 private:
  std::string take(Result<std::unique_ptr<SessionWriter>> writer) {
    if (!writer) return error_json(writer.error());
    writer_ = std::move(*writer);
    return "";
  }

  std::unique_ptr<SessionWriter> writer_;
};

// Makes a session from the bytes of such a file, or gives `onto` a piece. Its engine must be
// identified and outlive it, and so must that session.
class ReaderHandle {
 public:
  ReaderHandle(const EngineHandle& engine, double file_bytes, SessionHandle* onto)
      : reader_(engine.engine(), to_u64(file_bytes), onto != nullptr ? onto->pointer() : nullptr),
        defaults_(model_defaults(engine)) {}

  std::string push(uintptr_t ptr, uint32_t length) {
    return answer(reader_.push(bytes_at(ptr, length)));
  }
  std::string finish() {
    auto session = reader_.finish();
    if (!session) return error_json(session.error());
    session_ = std::move(*session);
    return "";
  }
  SessionHandle* take() {
    return session_ ? new SessionHandle(std::move(session_), defaults_) : nullptr;
  }

 private:
  SessionReader reader_;
  GenerateOptions defaults_;
  std::unique_ptr<Session> session_;
};

// Encodes a text in slices. The engine must be has_tokenizer() and outlive this.
class EncodingHandle {
 public:
  EncodingHandle(const EngineHandle& engine, std::string text, bool special)
      : text_(std::move(text)), encoding_(engine.tokenizer(), text_, special) {}
  EncodingHandle(const EncodingHandle&) = delete;
  EncodingHandle& operator=(const EncodingHandle&) = delete;

  bool step() { return encoding_.step(); }
  val take() { return copy_of<TokenId>(encoding_.take()); }

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

double decode_rate_of(bool eight_bits, int32_t threads) {
  return decode_rate(eight_bits ? Type::Q8_0 : Type::Q4_0, threads, 0.4);
}
uint32_t packed_layout() { return kPackedLayout; }
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
  emscripten::value_object<PromptCounts>("PromptProgress")
      .field("computed", &PromptCounts::computed)
      .field("total", &PromptCounts::total)
      .field("reused", &PromptCounts::reused)
      .field("secondsLeft", &PromptCounts::seconds_left)
      .field("waiting", &PromptCounts::waiting);
  emscripten::class_<EngineHandle>("Engine")
      .constructor<>()
      .function("open", &EngineHandle::open)
      .function("wants", &EngineHandle::wants)
      .function("filled", &EngineHandle::filled)
      .function("keepsPacked", &EngineHandle::keeps_packed)
      .function("takePacked", &EngineHandle::take_packed)
      .function("endOfFile", &EngineHandle::end_of_file)
      .function("hasLayout", &EngineHandle::has_layout)
      .function("buildTokenizer", &EngineHandle::build_tokenizer)
      .function("files", &EngineHandle::files)
      .function("identify", &EngineHandle::identify)
      .function("stopIdentifying", &EngineHandle::stop_identifying)
      .function("hasTokenizer", &EngineHandle::has_tokenizer)
      .function("ready", &EngineHandle::ready)
      .function("loaded", &EngineHandle::loaded)
      .function("rowWants", &EngineHandle::row_wants)
      .function("rowsFilled", &EngineHandle::rows_filled)
      .function("slots", &EngineHandle::slots)
      .function("progress", &EngineHandle::progress)
      .function("inspect", &EngineHandle::inspect)
      .function("notes", &EngineHandle::notes)
      .function("detokenize", &EngineHandle::detokenize)
      .function("stopWhen", &EngineHandle::stop_when)
      .function("applyTemplate", &EngineHandle::apply_template)
      .function("tokenBytes", &EngineHandle::token_bytes)
      .function("textPrefix", &EngineHandle::text_prefix)
      .function("textIds", &EngineHandle::text_ids)
      .function("mask", &EngineHandle::mask)
      .function("tokenText", &EngineHandle::token_text_of)
      .function("stats", &EngineHandle::stats);
  emscripten::class_<PromptHandle>("Prompt")
      .constructor<EngineHandle&>()
      .function("openChat", &PromptHandle::open_chat)
      .function("openText", &PromptHandle::open_text)
      .function("openIds", &PromptHandle::open_ids)
      .function("reusable", &PromptHandle::reusable)
      .function("sharedWritten", &PromptHandle::shared_written);
  emscripten::class_<SessionHandle>("Session")
      .constructor<const EngineHandle&>()
      .function("startText", &SessionHandle::start_text)
      .function("startIds", &SessionHandle::start_ids)
      .function("startReply", &SessionHandle::start_reply)
      .function("resume", &SessionHandle::resume)
      .function("startLogits", &SessionHandle::start_logits)
      .function("startVectors", &SessionHandle::start_vectors)
      .function("vectors", &SessionHandle::vectors)
      .function("startStates", &SessionHandle::start_states)
      .function("states", &SessionHandle::states)
      .function("startHidden", &SessionHandle::start_hidden)
      .function("hidden", &SessionHandle::hidden)
      .function("startHead", &SessionHandle::start_head)
      .function("rawLogits", &SessionHandle::raw_logits)
      .function("choice", &SessionHandle::choice)
      .function("startAttention", &SessionHandle::start_attention)
      .function("attentionLayers", &SessionHandle::attention_layers)
      .function("attention", &SessionHandle::attention)
      .function("startLens", &SessionHandle::start_lens)
      .function("lensDone", &SessionHandle::lens_done)
      .function("lens", &SessionHandle::lens)
      .function("step", &SessionHandle::step)
      .function("cancel", &SessionHandle::cancel)
      .function("running", &SessionHandle::running)
      .function("logits", &SessionHandle::logits)
      .function("stats", &SessionHandle::stats)
      .function("promptProgress", &SessionHandle::prompt_progress)
      .function("clone", &SessionHandle::clone, emscripten::allow_raw_pointers())
      .function("truncate", &SessionHandle::truncate)
      .function("tokens", &SessionHandle::tokens)
      .function("pieces", &SessionHandle::pieces)
      .function("pieceBytes", &SessionHandle::piece_bytes);
  emscripten::class_<WriterHandle>("SessionWriter")
      .constructor<>()
      .function("open", &WriterHandle::open)
      .function("openPiece", &WriterHandle::open_piece)
      .function("bytes", &WriterHandle::bytes)
      .function("next", &WriterHandle::next);
  emscripten::class_<ReaderHandle>("SessionReader")
      .constructor<const EngineHandle&, double, SessionHandle*>(emscripten::allow_raw_pointers())
      .function("push", &ReaderHandle::push)
      .function("finish", &ReaderHandle::finish)
      .function("take", &ReaderHandle::take, emscripten::allow_raw_pointers());
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
  emscripten::function("packedLayout", &packed_layout);
  emscripten::function("decodeRate", &decode_rate_of);
}

}  // namespace sluice
