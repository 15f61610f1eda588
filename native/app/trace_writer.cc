#include "app/trace_writer.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "app/option_flags.h"
#include "base/format.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

std::string json_text(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

std::string ids_json(std::span<const TokenId> ids) {
  std::string out;
  for (const TokenId id : ids) out += concat(out.empty() ? "" : ",", id);
  return concat("[", out, "]");
}

// A text of the header as JSON; `otherwise` if it has none.
std::string header_text(const Gguf& header, std::string_view key, std::string_view otherwise) {
  const MetadataValue* value = header.find(key);
  const bool text = value != nullptr && value->type == ValueType::string;
  return json_text(text ? value->text() : otherwise);
}

std::string layers_json(const Gguf& header) {
  const MetadataValue* architecture = header.find("general.architecture");
  if (architecture == nullptr || architecture->type != ValueType::string) return "null";
  const MetadataValue* layers = header.find(concat(architecture->text(), ".block_count"));
  const auto number = layers != nullptr ? layers->as_f64() : std::nullopt;
  return number && *number >= 0 && *number < 1e9 ? concat(static_cast<int64_t>(*number)) : "null";
}

std::string model_json(const Engine& engine, const std::string& name) {
  const Gguf& header = engine.header();
  const Tokenizer& tokenizer = engine.tokenizer();
  const std::span<const TokenId> suppressed = tokenizer.suppressed();
  return concat("{\"name\":", header_text(header, "general.name", name),
                ",\"architecture\":", header_text(header, "general.architecture", ""),
                ",\"vocab\":", tokenizer.vocab_size(), ",\"layers\":", layers_json(header),
                suppressed.empty() ? "" : concat(",\"suppressed\":", ids_json(suppressed)), "}");
}

std::string prompt_json(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                        size_t answer_begin) {
  std::string out = concat("{\"text\":", json_text(tokenizer.decode(ids)),
                           ",\"ids\":", ids_json(ids), ",\"pieces\":[");
  for (size_t i = 0; i < ids.size(); ++i)
    out += concat(i == 0 ? "" : ",", json_text(piece_text(tokenizer, ids[i])));
  out += "]";
  if (answer_begin < ids.size()) out += concat(",\"answerBegin\":", answer_begin);
  return out + "}";
}

}  // namespace

std::string piece_text(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view piece = tokenizer.piece(id);
  return utf8_sanitize(piece.empty() ? tokenizer.raw_token(id) : piece);
}

Result<TraceWriter> TraceWriter::create(const std::string& path) {
  SLUICE_ASSIGN(GrowingFile file, GrowingFile::create(path, OutputFile::Replaces::trace));
  return TraceWriter(std::move(file));
}

Status TraceWriter::begin(const Engine& engine, const Session& session, const std::string& name,
                          const GenerateOptions& options) {
  const Tokenizer& tokenizer = engine.tokenizer();
  const Stats stats = session.stats();
  const std::span<const TokenId> all = session.tokens();
  const std::span<const TokenId> prompt =
      all.first(std::min(all.size(), static_cast<size_t>(stats.prompt_tokens)));
  named_.resize(static_cast<size_t>(tokenizer.vocab_size()));
  for (const TokenId id : prompt) named_[static_cast<size_t>(id)] = true;
  GenerateOptions used = options;
  used.seed = stats.seed;
  return file_.append(safe_json(
      concat(R"({"event":"trace","version":1,"model":)", model_json(engine, name), R"(,"prompt":)",
             prompt_json(tokenizer, prompt, session.answer_begin()), R"(,"options":)",
             options_json("replay", used), R"(,"kernels":)", json_text(stats.kernels), "}\n")));
}

Status TraceWriter::add(const Tokenizer& tokenizer, const Event& event, const Stats& stats) {
  std::string line = event_json(event, stats);
  if (event.kind == Event::Kind::token) {
    std::string pieces;
    const auto name = [&](TokenId id) {
      if (named_[static_cast<size_t>(id)]) return;
      named_[static_cast<size_t>(id)] = true;
      pieces +=
          concat(pieces.empty() ? "\"" : ",\"", id, "\":", json_text(piece_text(tokenizer, id)));
    };
    name(event.id);
    if (event.raw)
      for (const auto& [id, logit] : event.raw->best) name(id);
    if (!pieces.empty()) {
      line.back() = ',';
      line += concat("\"pieces\":{", pieces, "}}");
    }
  }
  return file_.append(safe_json(line + "\n"));
}

}  // namespace sluice::cli
