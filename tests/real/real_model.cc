// Computes what the tests of the real model compare, and prints it as JSON lines:
//   real_model MODEL ANSWERS        (ANSWERS: tests/data/gemma-3-270m.json)
// Each text, decoded from its recorded ids without the first, which is BOS; and its ids, with the
// prefix that the file asks for:
//   {"text":i,"decoded":"..","ids":[..]}
// The 100 likeliest tokens after a text and `step` of its tokens; then the same of a session that
// was saved and restored in another engine:
//   {"text":i,"step":j,"top":[[id,logprob],..]}
//   {"text":i,"step":j,"top":[[id,logprob],..],"resumed":true}
// The hash of the last logits after a text and its tokens, for each recorded hash: with every
// kernel table that this machine supports, on one and on all threads, and with the best table under
// the least memory budget. `reread`: bytes of weights that were read again.
//   {"text":i,"hash":"..","kernels":"..","threads":n,"budget":bytes,"reread":bytes}
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/format.h"
#include "engine.h"
#include "engine/memory_plan.h"
#include "engine/read_header.h"
#include "kernels/kernels.h"
#include "support/drive.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<TokenId>;

constexpr int32_t kTop = 100;
// More than the longest text and its tokens.
constexpr uint32_t kContext = 1536;
// The text whose session is saved in the middle, and after how many of its tokens.
constexpr size_t kSavedText = 12, kSavedStep = 8;

void print(const Json& line) { std::printf("%s\n", line.dump().c_str()); }

LoadOptions with(const std::string& kernels, int32_t threads) {
  LoadOptions options;
  options.kernels = kernels;
  options.threads = threads;
  options.kv_type = "f32";
  options.context_size = kContext;
  return options;
}

Result<std::unique_ptr<Engine>> open(const std::string& model, const LoadOptions& options) {
  SLUICE_ASSIGN(auto engine, Engine::open(model, options));
  if (options.memory_budget == 0) SLUICE_TRY(engine->wait_ready());
  return engine;
}

// Steps a run to its end. Returns its last token's event; without a token, the event of its end.
Result<Event> finish(Engine& engine, Session& session) {
  Event last;
  Status waited;
  SLUICE_TRY(drive(session, [&](Event& event) {
    if (event.kind == Event::Kind::waiting) waited = engine.wait();
    if (event.kind == Event::Kind::token) last = std::move(event);
    return waited.has_value();
  }));
  SLUICE_TRY(waited);
  return last;
}

// The likeliest tokens after `ids`. What the session has of them already isn't computed again.
Result<std::vector<std::pair<TokenId, float>>> likeliest(Engine& engine, Session& session,
                                                         const Ids& ids) {
  GenerateOptions options;
  options.max_tokens = 1;
  options.temperature = 0;
  options.ignore_eos = true;
  options.top_logprobs = kTop;
  SLUICE_TRY(session.start(std::span<const TokenId>(ids), options));
  SLUICE_ASSIGN(const Event event, finish(engine, session));
  return event.top;
}

// Prints the steps [from, to) of a text.
Status print_steps(Engine& engine, Session& session, const Json& answer, size_t text, size_t from,
                   size_t to, bool resumed) {
  const Ids tokens = answer.at("tokens");
  Ids ids = answer.at("prompt");
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(from));
  for (size_t step = from; step < to; ids.push_back(tokens[step++])) {
    SLUICE_ASSIGN(const auto top, likeliest(engine, session, ids));
    Json line{{"text", text}, {"step", step}, {"top", top}};
    if (resumed) line["resumed"] = true;
    print(line);
  }
  return {};
}

Status identify(Engine& engine) {
  while (true) {
    SLUICE_ASSIGN(const bool known, engine.identify());
    if (known) return {};
    SLUICE_TRY(engine.wait());
  }
}

Result<std::vector<uint8_t>> saved(Engine& engine, const Session& session) {
  SLUICE_TRY(identify(engine));
  SLUICE_ASSIGN(const auto writer, session.save());
  std::vector<uint8_t> file(writer->bytes());
  for (size_t at = 0; at < file.size();) at += writer->next(std::span(file).subspan(at));
  return file;
}

Result<std::unique_ptr<Session>> restored(Engine& engine, std::span<const uint8_t> file) {
  SLUICE_TRY(identify(engine));
  SessionReader reader(engine, file.size());
  SLUICE_TRY(reader.push(file));
  return reader.finish();
}

// All texts with one engine. Returns the session's file after kSavedStep tokens of kSavedText.
Result<std::vector<uint8_t>> print_texts(Engine& engine, const Json& texts) {
  std::vector<uint8_t> file;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Json& answer = texts.at(i);
    const Tokenizer& tokenizer = engine.tokenizer();
    const Ids prompt = answer.at("prompt");
    const std::string text = tokenizer.decode(std::span(prompt).subspan(1));
    print({{"text", i}, {"decoded", text}, {"ids", tokenizer.with_prefix(tokenizer.encode(text))}});
    Session session(engine);
    const size_t n = answer.at("tokens").size();
    const size_t saved_at = i == kSavedText ? kSavedStep : n;
    SLUICE_TRY(print_steps(engine, session, answer, i, 0, saved_at, false));
    if (i == kSavedText) {
      SLUICE_ASSIGN(file, saved(engine, session));
    }
    SLUICE_TRY(print_steps(engine, session, answer, i, saved_at, n, false));
  }
  return file;
}

// The hashes whose texts are recorded, all with one engine.
Status print_hashes(Engine& engine, const Json& answers) {
  for (const Json& recorded : answers.at("hashes")) {
    const size_t text = recorded.at("text");
    const Json& answer = answers.at("texts").at(text);
    Ids ids = answer.at("prompt");
    const Ids tokens = answer.at("tokens");
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    Session session(engine);
    SLUICE_TRY(session.start_logits(ids, 0));
    SLUICE_TRY(finish(engine, session));
    const Stats stats = session.stats();
    print({{"text", text},
           {"hash", logits_hash(session.logits())},
           {"kernels", stats.kernels},
           {"threads", stats.threads},
           {"budget", stats.memory_budget},
           {"reread", stats.reread_bytes}});
  }
  return {};
}

Status compute(const std::string& model, const Json& answers) {
  const int32_t all = std::clamp(static_cast<int32_t>(std::thread::hardware_concurrency()), 2, 64);
  const Json& texts = answers.at("texts");
  std::vector<uint8_t> file;
  LoadOptions budget = with("", all);
  {
    SLUICE_ASSIGN(const auto engine, open(model, with("", all)));
    SLUICE_ASSIGN(file, print_texts(*engine, texts));
    SLUICE_ASSIGN(const MemoryPlan plan, plan_memory(engine->header(), budget));
    budget.memory_budget = plan.least;
  }
  {
    SLUICE_ASSIGN(const auto engine, open(model, with("generic", 1)));
    SLUICE_ASSIGN(const auto session, restored(*engine, file));
    const Json& answer = texts.at(kSavedText);
    const size_t n = answer.at("tokens").size();
    SLUICE_TRY(print_steps(*engine, *session, answer, kSavedText, kSavedStep, n, true));
  }
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    for (const int32_t threads : {1, all}) {
      SLUICE_ASSIGN(const auto engine, open(model, with(std::string(kernels->name), threads)));
      SLUICE_TRY(print_hashes(*engine, answers));
    }
  }
  SLUICE_ASSIGN(const auto engine, open(model, budget));
  SLUICE_TRY(print_hashes(*engine, answers));
  return {};
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: real_model MODEL ANSWERS\n");
    return 2;
  }
  std::ifstream in(argv[2]);
  const auto answers = nlohmann::ordered_json::parse(in, nullptr, false);
  if (!answers.is_object()) {
    std::fprintf(stderr, "%s is no JSON object\n", argv[2]);
    return 1;
  }
  const sluice::Status status = sluice::compute(argv[1], answers);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
