#include "commands/text_vectors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/text_ids.h"
#include "api/vectors.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/numbers.h"
#include "app/option_flags.h"
#include "app/signals.h"
#include "app/text.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostNumbers = 16 << 20;  // that the session holds at once

Pooling pooling_of(const Engine& engine, const VectorOptions& options) {
  return options.pooling != Pooling::none ? options.pooling : engine.file_pooling();
}

double seconds_from(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Shows on a terminal how many texts are done.
class TextProgress {
 public:
  explicit TextProgress(size_t total) : total_(total) {}
  void show(size_t done, const PromptProgress& tokens) {
    if (!can_show_status() || seconds_from(shown_) < kInterval) return;
    shown_ = Clock::now();
    const double seconds = seconds_from(begun_);
    std::string line = concat("text ", std::min(done + 1, total_), " of ", total_);
    if (tokens.waiting) line += ", waiting for layers";
    if (done > 0)
      line += format(
          ", %.1f texts/s, %s left", static_cast<double>(done) / seconds,
          human_duration(seconds * static_cast<double>(total_ - done) / static_cast<double>(done))
              .c_str());
    show_status(line);
  }

 private:
  static constexpr double kInterval = 0.3;  // seconds; what takes less has no line
  const size_t total_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_ = begun_;
};

}  // namespace

void add_text_options(CLI::App& app, TextOptions& options) {
  add_flag(app, "--truncate", options.truncate,
           "cut texts that are longer than the context (default: an error)")
      ->group("Input");
  add_options(app, options.load);
  add_download_options(app, options.download);
}

void add_vector_options(CLI::App& app, VectorOptions& options) {
  add_value(app, "--pooling", "WAY",
            "what becomes the vector: mean of all tokens, the first one (cls) or the last (default "
            "as the file says)",
            [&options](const std::string& text) {
              options.pooling = find_pooling(text);
              if (options.pooling == Pooling::none) refuse("--pooling", "mean, cls or last", text);
            })
      ->group("Output");
  add_integer(app, "--dimensions", options.dimensions, 1, 1 << 20, "N",
              "cut the vectors to the first N numbers, for models that are made for it (default: "
              "all)")
      ->group("Output");
  add_text_options(app, options);
}

void note_use(const Engine& engine) {
  const Gguf& header = engine.header();
  const std::string key = concat(header.find("general.architecture")->text(), ".pooling_type");
  if (engine.makes().text && header.find(key) == nullptr)
    note(
        "the model was made to write text, not for vectors: those of an embedding model are "
        "better");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Status fit_text(const Engine& engine, const TextOptions& options, VectorText& text) {
  if (text.ids.empty())
    return fail(Code::invalid_argument, text.name,
                " is empty, and this model puts no token around a text; leave it out");
  const int64_t n_vocab = engine.tokenizer().vocab_size();
  for (const TokenId id : text.ids) {
    if (id < 0 || id >= n_vocab)
      return fail(Code::invalid_argument, text.name, ": token ", id,
                  " is not in the vocabulary, whose ids are 0 to ", n_vocab - 1);
  }
  const size_t most = engine.context_size();
  if (options.truncate) truncate_ids(engine.tokenizer(), most, text.ids);
  if (text.ids.size() <= most) return {};
  const uint64_t trained = engine.trained_context();
  return with_facts(
      fail(Code::context_full, text.name, " has ", text.ids.size(), " tokens, but the context has ",
           most, "; shorten it or cut it with --truncate",
           trained > most ? concat(", or give a larger context with -c N (this model was trained "
                                   "for up to ",
                                   trained, ")")
                          : ""),
      {{"tokens", uint64_t{text.ids.size()}}, {"room", uint64_t{most}}});
}

Result<TextFigures> compute_texts(
    Engine& engine, const TextWork& work, std::vector<VectorText> texts,
    const std::function<Status(size_t text, std::span<const float> numbers)>& take) {
  size_t most = kMostNumbers;
  Session& session = engine.session();
  TextFigures figures;
  TextProgress progress(texts.size());
  const Clock::time_point begin = Clock::now();
  while (figures.texts < texts.size()) {
    std::vector<std::vector<TokenId>> ids;
    std::vector<size_t> sizes;  // of what is given of each text
    size_t end = figures.texts, numbers = 0;
    for (; end < texts.size(); ++end) {
      const size_t more = work.numbers(texts[end].ids.size());
      if (!ids.empty() && (numbers > most || more > most - numbers)) break;
      numbers += more;
      sizes.push_back(more);
      ids.push_back(texts[end].ids);
    }
    const Status started = work.start(session, std::move(ids));
    // The memory has room for what is given of fewer texts.
    if (!started && started.error().code == Code::out_of_memory && sizes.size() > 1) {
      most = numbers / 2;
      continue;
    }
    SLUICE_TRY(started);
    for (size_t i = figures.texts; i < end; ++i)
      figures.tokens += std::exchange(texts[i].ids, {}).size();
    size_t taken = 0, at = 0;
    for (bool done = false; !done;) {
      if (interrupted_by() != 0) session.cancel();
      SLUICE_ASSIGN(const Event event, next_event(engine));
      done = event.kind == Event::Kind::done;
      for (; taken < session.texts_done(); at += sizes[taken++], ++figures.texts)
        SLUICE_TRY(take(figures.texts, (session.*work.given)().subspan(at, sizes[taken])));
      if (done && event.finish == Finish::aborted) return fail(Code::aborted, "ended by a signal");
      progress.show(figures.texts, session.prompt_progress());
    }
  }
  figures.seconds = seconds_from(begin);
  return figures;
}

Result<TextFigures> make_vectors(
    Engine& engine, const VectorOptions& options, std::vector<VectorText> texts,
    const std::function<Status(size_t text, std::span<const float> vector)>& take) {
  const auto start = [&](Session& session, std::vector<std::vector<TokenId>> ids) {
    return session.start_vectors(std::move(ids), pooling_of(engine, options));
  };
  const auto width = static_cast<size_t>(engine.vector_width());
  return compute_texts(engine, {start, &Session::vectors, [width](size_t) { return width; }},
                       std::move(texts), take);
}

std::string figures_line(const Engine& engine, const TextFigures& figures, std::string_view given) {
  const auto rate = [&](uint64_t n) {
    return static_cast<double>(n) / std::max(figures.seconds, 1e-9);
  };
  const Stats stats = engine.stats();
  return concat("sluice: ", counted(figures.texts, "text"), ", ", counted(figures.tokens, "token"),
                format(" in %.2f s: %.1f texts/s, %.0f tokens/s", figures.seconds,
                       rate(figures.texts), rate(figures.tokens)),
                "\nsluice: ", given, "; ", stats.kernels, " kernels, ",
                counted(static_cast<uint64_t>(stats.threads), "thread"), ", ",
                human_bytes(stats.resident_bytes), " of weights and state held\n",
                stats.reread_bytes == 0 ? ""
                                        : concat("sluice: ", human_bytes(stats.reread_bytes),
                                                 " of weights read again\n"));
}

std::string figures_line(const Engine& engine, const VectorOptions& options,
                         const TextFigures& figures, size_t dimensions) {
  return figures_line(engine, figures,
                      concat("vectors of ", counted(dimensions, "number"), ", pooling ",
                             pooling_name(pooling_of(engine, options))));
}

}  // namespace sluice::cli
