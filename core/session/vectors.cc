// Runs over several texts: how they begin, the texts of a pass, and the vectors that become of
// them.
#include <algorithm>

#include "base/format.h"
#include "base/makes.h"
#include "session/session_state.h"

namespace sluice {
namespace {

// As kBatchTokens, under a budget that is too small for all weights: each pass reads them again.
constexpr size_t kRereadBatchTokens = 4096;

// Of what was asked for; 0: chosen. The memory may allow less.
size_t batch_of(const Runtime& runtime, int64_t asked) {
  size_t batch = asked > 0 ? static_cast<size_t>(std::min<int64_t>(asked, INT32_MAX))
                 : runtime.weights->shares_places() ? kRereadBatchTokens
                                                    : static_cast<size_t>(kBatchTokens);
  // Blocks of more tokens than the context have no buffers in the plan.
  if (runtime.model->makes().text && runtime.context_size < Pass::kBlockTokens)
    batch = std::min<size_t>(batch, runtime.context_size);
  return batch;
}

// Of vectors before dense layers.
uint64_t pooled_bytes(const TextRun& run, const Model& model, size_t n_texts) {
  if (run.states || model.dense().empty()) return 0;
  return 4 * static_cast<uint64_t>(model.config().n_embd) * n_texts;
}

// Of what the run gives.
ResultBytes text_bytes(const TextRun& run, const Model& model) {
  ResultBytes bytes;
  if (!run.states) {
    bytes.vectors = 4 * static_cast<uint64_t>(model.vector_width()) * run.ends.size();
    return bytes;
  }
  const uint64_t rows = run.states->of == StatesOf::all ? run.ends.back() : run.ends.size();
  bytes.states =
      4 * static_cast<uint64_t>(model.config().n_embd) * rows * run.states->layers.size();
  return bytes;
}

// What memory is taken for, in errors.
std::string name_of(const TextRun& run, size_t n_tokens) {
  return concat(run.states ? "hidden states" : "a vector", " of a text of ",
                counted(n_tokens, "token"));
}

Status check_states(const StatesWanted& wanted, int64_t n_layers) {
  if (wanted.layers.empty())
    return fail(Code::invalid_argument, "hidden states are asked of no layer; name at least one");
  return check_layers(wanted.layers, n_layers);
}

Status check_texts(const std::vector<std::vector<TokenId>>& texts, const Runtime& runtime) {
  if (texts.empty()) return fail(Code::invalid_argument, "there is no text; give at least one");
  const int64_t n_vocab = runtime.n_vocab();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) {
      return fail(Code::invalid_argument, "text ", i, " is empty; give at least one token of each");
    }
    if (texts[i].size() > runtime.context_size) {
      return with_facts(
          fail(Code::context_full, "text ", i, " has ", counted(texts[i].size(), "token"),
               ", but the context holds ", runtime.context_size,
               "; shorten it, or load with a larger context if the model allows it"),
          {{"text", i}, {"tokens", texts[i].size()}, {"room", runtime.context_size}});
    }
    for (const TokenId id : texts[i]) {
      if (id >= 0 && id < n_vocab) continue;
      return fail(Code::invalid_argument, "token ", id, " of text ", i,
                  " is not in the vocabulary, whose ids are 0 to ", n_vocab - 1);
    }
  }
  return {};
}

}  // namespace

Status Session::start_vectors(std::vector<std::vector<TokenId>> texts, Pooling pooling,
                              int64_t batch) {
  const Model& model = *state_->runtime.model;
  TextRun run(model.layers());
  run.pooling = pooling == Pooling::none ? model.pooling() : pooling;
  return state_->start_texts(std::move(run), std::move(texts), batch);
}

// Begins a run of which is said what it gives.
Status Session::State::start_texts(TextRun texts, std::vector<std::vector<TokenId>> ids,
                                   int64_t batch) {
  SLUICE_TRY(check_idle());
  SLUICE_TRY(check_texts(ids, runtime));
  if (texts.states) SLUICE_TRY(check_states(*texts.states, runtime.n_layers()));
  if (batch < 0)
    return fail(Code::invalid_argument, "the batch is ", batch,
                "; expected 1 or more tokens, or 0: chosen");
  texts.batch = batch_of(runtime, batch);
  size_t longest = 0, tokens = 0;
  for (const std::vector<TokenId>& text : ids) {
    longest = std::max(longest, text.size());
    texts.ends.push_back(tokens += text.size());
  }
  const ResultBytes bytes = text_bytes(texts, *runtime.model);
  std::vector<PassText> alone;
  add_text(alone, static_cast<int64_t>(longest));
  const uint64_t freed = rows_given.bytes();
  const uint64_t more = pass_growth(texts, alone) + bytes.total();
  SLUICE_TRY(
      runtime.check_memory(more > freed ? more - freed : 0, longest, name_of(texts, longest)));
  SLUICE_TRY(rows_given.make_room(bytes));
  Run& begun = reset_run(Clock::now());
  begun.clock.started = begun.clock.asked;
  begun.texts.emplace(std::move(texts));
  begun.cursor.tokens.reserve(tokens);
  for (std::vector<TokenId>& text : ids) {
    begun.cursor.tokens.insert(begun.cursor.tokens.end(), text.begin(), text.end());
    text = {};
  }
  begun.cursor.n_prompt = begun.cursor.mark = tokens;
  stats.prompt_tokens = static_cast<int64_t>(tokens);
  return {};
}

// Bytes that a pass of these texts adds to what the session and the run have.
uint64_t Session::State::pass_growth(const TextRun& of, std::span<const PassText> texts) const {
  const uint64_t x = Pass::state_bytes(*runtime.model, texts.back().end());
  const int64_t longest = std::ranges::max(texts, {}, &PassText::n_tokens).n_tokens;
  return of.timeline.growth(0, places_of(texts)) + (x > pass.x.size() ? x - pass.x.size() : 0) +
         runtime.unplanned_ropes(longest) - runtime.unplanned_ropes() +
         pooled_bytes(of, *runtime.model, texts.size());
}

// Takes as many texts as the batch and the memory allow, and at least one.
Status Session::State::begin_texts() {
  TextRun& texts = *run->texts;
  PassCursor& cursor = run->cursor;
  const size_t most = runtime.model->recurrent() ? 1 : texts.ends.size() - texts.done;
  uint64_t left = runtime.memory_left();
  texts.now.clear();
  texts.pooled = AlignedBuffer();
  cursor.end = cursor.begin;
  while (texts.now.size() < most) {
    const size_t end = texts.ends[texts.done + texts.now.size()];
    if (!texts.now.empty() && end - cursor.begin > texts.batch) break;
    add_text(texts.now, static_cast<int64_t>(end - cursor.end));
    if (pass_growth(texts, texts.now) > left) {
      if (texts.now.size() > 1) {
        texts.now.pop_back();
        break;
      }
      // Short texts have more places than tokens. What they leave isn't what a long one needs.
      texts.timeline = Timeline(runtime.model->layers());
      pass.x = AlignedBuffer();
      left = runtime.memory_left();
    }
    cursor.end = end;
  }
  SLUICE_TRY(runtime.check_memory(pass_growth(texts, texts.now), cursor.n_tokens(),
                                  name_of(texts, cursor.n_tokens())));
  SLUICE_ASSIGN(texts.pooled,
                AlignedBuffer::allocate(pooled_bytes(texts, *runtime.model, texts.now.size()),
                                        "the pooled vectors"));
  SLUICE_TRY(runtime.pass->begin(pass, texts.timeline, cursor.pass_tokens(), texts.now));
  // Parts of the head that are slots of their own aren't needed, nor what is behind the last layer.
  const Model& model = *runtime.model;
  if (runtime.weights->shares_places() && (texts.states || model.n_head_parts() > 1))
    weights_cursor().stop_before(texts.states ? model.layer_slot(n_layers_now())
                                              : model.head_part_slot(0));
  cursor.start_pass();
  run->clock.mark.reset();
  return {};
}

Result<Session::State::ResultSlice> Session::State::run_vectors() {
  if (!reach_head()) return ResultSlice::waits;
  if (!pool_texts()) return overflow("the final norm");
  return ResultSlice::done;
}

// Makes a vector of each text of the pass. False: a number overflows.
bool Session::State::pool_texts() {
  const TextRun& texts = *run->texts;
  const Model& model = *runtime.model;
  const auto n_texts = static_cast<int64_t>(texts.now.size());
  float* out =
      rows_given.vectors.as<float>() + static_cast<int64_t>(texts.done) * model.vector_width();
  if (model.dense().empty()) return pool_texts(out);
  float* pooled = texts.pooled.as<float>();
  return pool_texts(pooled) && runtime.pass->run_dense(pass, pooled, n_texts, out);
}

// Before the model's dense layers: n_embd numbers for each text.
bool Session::State::pool_texts(float* vectors) {
  const TextRun& texts = *run->texts;
  const int64_t n = n_embd();
  const auto n_texts = static_cast<int64_t>(texts.now.size());
  if (texts.pooling != Pooling::mean) {
    for (int64_t at = 0; at < n_texts; at += Pass::kBlockTokens) {
      std::vector<int64_t> tokens;
      for (int64_t i = at; i < std::min(at + Pass::kBlockTokens, n_texts); ++i) {
        const PassText& text = texts.now[static_cast<size_t>(i)];
        tokens.push_back(texts.pooling == Pooling::first ? text.first : text.end() - 1);
      }
      if (!runtime.pass->run_output(pass, tokens, vectors + at * n, n)) return false;
    }
    return true;
  }
  std::fill_n(vectors, n_texts * n, 0.0f);
  for (int64_t at = 0; at < pass.n_tokens; at += Pass::kBlockTokens) {
    const int64_t block = std::min(Pass::kBlockTokens, pass.n_tokens - at);
    if (!runtime.pass->add_output(pass, at, block, vectors)) return false;
  }
  for (const PassText& text : texts.now) {
    const auto tokens = static_cast<float>(text.n_tokens);
    for (int64_t i = 0; i < n; ++i) vectors[i] = vectors[i] / tokens;
    vectors += n;
  }
  return true;
}

void Session::State::after_texts() {
  TextRun& texts = *run->texts;
  PassCursor& cursor = run->cursor;
  texts.timeline.abandon();
  cursor.pass_started = false;
  cursor.begin = cursor.end;
  rows_given.n_texts = texts.done += texts.now.size();
  if (texts.states) {
    const size_t rows = texts.states->of == StatesOf::all ? cursor.begin : texts.done;
    rows_given.n_states = rows * texts.states->layers.size() * static_cast<size_t>(n_embd());
  }
  if (texts.done == texts.ends.size()) finish_prompt();
}

std::span<const float> Session::vectors() const {
  const ResultRows& given = state_->rows_given;
  const auto n = texts_done() * static_cast<size_t>(state_->runtime.model->vector_width());
  return {given.vectors.as<float>(), std::min<size_t>(n, given.vectors.size() / 4)};
}

size_t Session::texts_done() const { return state_->rows_given.n_texts; }

}  // namespace sluice
