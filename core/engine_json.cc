// The JSON of options, events and headers: one text for the program, the wasm module and the page.
//
// nlohmann-json is used without exceptions: parsing reports through is_discarded(), values are read
// only after a look at their type, and text that is not UTF-8 is replaced when it is written.
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "engine.h"
#include "engine_state.h"
#ifndef __EMSCRIPTEN__
#include <sys/resource.h>
#endif

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxOptionsBytes = 64 << 10;
constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 1024;
constexpr int64_t kMaxExact = int64_t{1} << 53;  // beyond it a JavaScript number is not exact
constexpr uint64_t kShownElements = 8;           // of an array in the metadata

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Appends a member whose name is known to be new: Json's own operator[] looks through all of them.
void append(Json& object, std::string key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::move(key), std::move(value));
}

// The double whose shortest text is the float's: 0.1f is written 0.1 and not 0.10000000149011612.
double shortest(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);  // written as null
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return std::strtod(text, nullptr);
}

// --- options -------------------------------------------------------------------------------------

Error wrong_type(std::string_view name, std::string_view expected, const Json& found) {
  return {Code::invalid_argument,
          concat(name, " must be ", expected, ", found ", found.type_name(),
                 found.is_null() ? " (JSON has no NaN and no infinity: they become null)" : "")};
}

// A whole number in [low, high], also where it is written like 2e9.
Result<int64_t> read_integer(std::string_view name, const Json& value, int64_t low, int64_t high) {
  double number = 0;
  if (value.is_number_unsigned()) {
    const uint64_t whole = value.get<uint64_t>();
    if (whole <= static_cast<uint64_t>(high) && static_cast<int64_t>(whole) >= low) {
      return static_cast<int64_t>(whole);
    }
    number = static_cast<double>(whole);
  } else if (value.is_number_integer()) {
    const int64_t whole = value.get<int64_t>();
    if (whole >= low && whole <= high) return whole;
    number = static_cast<double>(whole);
  } else if (value.is_number_float()) {
    number = value.get<double>();
    if (number == std::floor(number) && std::fabs(number) <= static_cast<double>(kMaxExact)) {
      const int64_t whole = static_cast<int64_t>(number);
      if (whole >= low && whole <= high) return whole;
    }
  } else {
    return std::unexpected(wrong_type(name, "a whole number", value));
  }
  return fail(Code::invalid_argument, name, " must be a whole number from ", low, " to ", high,
              ", found ", number);
}

Result<float> read_float(std::string_view name, const Json& value) {
  if (!value.is_number()) return std::unexpected(wrong_type(name, "a number", value));
  const double number = value.get<double>();
  if (!(std::fabs(number) <= static_cast<double>(FLT_MAX))) {
    return fail(Code::invalid_argument, name, " is out of range: ", number);
  }
  return static_cast<float>(number);
}

Result<bool> read_bool(std::string_view name, const Json& value) {
  if (!value.is_boolean()) return std::unexpected(wrong_type(name, "true or false", value));
  return value.get<bool>();
}

Result<std::string> read_string(std::string_view name, const Json& value) {
  if (!value.is_string()) return std::unexpected(wrong_type(name, "a string", value));
  return value.get<std::string>();
}

Result<KvType> read_kv_type(std::string_view name, const Json& value) {
  SLUICE_ASSIGN(const std::string text, read_string(name, value));
  if (text == "f32") return KvType::f32;
  if (text == "f16") return KvType::f16;
  if (text == "q8_0") return KvType::q8_0;
  return fail(Code::invalid_argument, name, " must be f32, f16 or q8_0, found '", printable(text),
              "'");
}

// The seed goes through as a whole number of 64 bits.
Result<uint64_t> read_seed(std::string_view name, const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  SLUICE_ASSIGN(const int64_t seed, read_integer(name, value, 0, kMaxExact));
  return static_cast<uint64_t>(seed);
}

// One string or a list of them.
Result<std::vector<std::string>> read_stops(std::string_view name, const Json& value) {
  std::vector<std::string> stops;
  const Json list = value.is_string() ? Json::array({value}) : value;
  if (!list.is_array()) {
    return std::unexpected(wrong_type(name, "a string or a list of strings", value));
  }
  if (list.size() > kMaxStops) {
    return fail(Code::invalid_argument, name, " has ", list.size(), " strings; at most ", kMaxStops,
                " are taken");
  }
  for (const Json& item : list) {
    SLUICE_ASSIGN(std::string text, read_string(name, item));
    if (text.empty() || text.size() > kMaxStopBytes) {
      return fail(Code::invalid_argument, "each string of ", name, " must have 1 to ",
                  kMaxStopBytes, " bytes, found ", text.size());
    }
    stops.push_back(std::move(text));
  }
  return stops;
}

// The half of a surrogate pair that an escape like \ud800 at the start of `text` stands for, or 0.
uint32_t surrogate_at(std::string_view text) {
  uint32_t unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  const bool surrogate = end == text.data() + 6 && unit >= 0xd800 && unit < 0xe000;
  return error == std::errc() && surrogate ? unit : 0;
}

// Whether JSON text holds whole characters alone: valid UTF-8, and no half of a surrogate pair.
bool has_whole_characters(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    if (!c.valid) return false;
    size_t length = static_cast<size_t>(c.length);
    if (const uint32_t first = surrogate_at(text); first != 0) {
      const uint32_t second = surrogate_at(text.substr(6));
      if (first >= 0xdc00 || second < 0xdc00) return false;
      length = 12;
    } else if (c.code_point == '\\') {
      length = 2;
    }
    text.remove_prefix(std::min(length, text.size()));
  }
  return true;
}

// The members of an options object; "" stands for {}.
Result<Json> parse_options(std::string_view text) {
  if (text.empty()) return Json::object();
  if (text.size() > kMaxOptionsBytes) {
    return fail(Code::invalid_argument, "the options have ", text.size(), " bytes; at most ",
                kMaxOptionsBytes, " are taken");
  }
  std::string name;  // of the option that is being read
  const auto note_name = [&name](int depth, Json::parse_event_t event, Json& parsed) {
    using enum Json::parse_event_t;
    if (depth == 1 && event != array_start) name = event == key ? parsed.get<std::string>() : "";
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), note_name, false);
  if (json.is_discarded() && !has_whole_characters(text)) {
    return fail(Code::invalid_argument,
                name.empty() ? "the options hold" : printable(name) + " holds",
                " text that is not valid Unicode (half of a surrogate pair, such as \\ud800 alone, "
                "or bytes that are not UTF-8); give whole characters");
  }
  if (json.is_discarded()) return fail(Code::invalid_argument, "the options are not valid JSON");
  if (!json.is_object()) return std::unexpected(wrong_type("the options", "an object", json));
  return json;
}

std::unexpected<Error> unknown_option(std::string_view name, std::string_view known) {
  return fail(Code::invalid_argument, "unknown option '", printable(name), "'; the options are ",
              known);
}

// --- the header ----------------------------------------------------------------------------------

Json scalar_json(const Value& value, ValueType type, uint64_t i) {
  switch (type) {
    case ValueType::string:
      return std::string(value.text(i));
    case ValueType::boolean:
      return value.as_bool(i).value_or(false);
    case ValueType::f32:
      return shortest(static_cast<float>(value.as_f64(i).value_or(0)));
    case ValueType::f64:
      return value.as_f64(i).value_or(0);
    default:
      if (const auto number = value.as_u64(i)) return *number;
      return value.as_i64(i).value_or(0);
  }
}

Json value_json(const Value& value) {
  if (!value.is_array()) return scalar_json(value, value.type, 0);
  Json first = Json::array();
  for (uint64_t i = 0; i < std::min(value.count, kShownElements); ++i) {
    first.push_back(scalar_json(value, value.element, i));
  }
  return {{"array", value_type_name(value.element)}, {"count", value.count}, {"first", first}};
}

// A number from the metadata (the largest, where the file gives one a layer), or null.
Json number_at(const Gguf& header, std::string_view key) {
  const Value* value = header.find(key);
  std::optional<uint64_t> largest;
  for (uint64_t i = 0; value != nullptr && i < value->count; ++i) {
    if (const auto number = value->as_u64(i)) largest = std::max(largest.value_or(0), *number);
  }
  return largest ? Json(*largest) : Json(nullptr);
}

Json text_at(const Gguf& header, std::string_view key) {
  const Value* value = header.find(key);
  return value && value->type == ValueType::string ? Json(std::string(value->text())) : Json();
}

std::string type_name(uint32_t type) {
  const char* name = file_type(type).name;
  return name != nullptr ? std::string(name) : concat("type ", type);
}

Json tokenizer_json(const Gguf& header) {
  const Value* tokens = header.find("tokenizer.ggml.tokens");
  return {{"model", text_at(header, "tokenizer.ggml.model")},
          {"pre", text_at(header, "tokenizer.ggml.pre")},
          {"tokens", tokens != nullptr ? tokens->count : 0},
          {"bos", number_at(header, "tokenizer.ggml.bos_token_id")},
          {"eos", number_at(header, "tokenizer.ggml.eos_token_id")}};
}

std::string_view kv_type_name(KvType type) {
  return type == KvType::f32 ? "f32" : type == KvType::f16 ? "f16" : "q8_0";
}

// Sizes that every family states under its own name.
void append_sizes(Json& out, const Gguf& header, const std::string& architecture) {
  const auto size = [&](std::string_view key) {
    return number_at(header, concat(architecture, ".", key));
  };
  const Json embedding = size("embedding_length");
  const Json heads = size("attention.head_count");
  Json head_dim = size("attention.key_length");
  if (head_dim.is_null() && embedding.is_number() && heads.is_number() && heads != 0) {
    head_dim = embedding.get<uint64_t>() / heads.get<uint64_t>();
  }
  const Json kv_heads = size("attention.head_count_kv");
  const TensorInfo* embedded = header.find_tensor("token_embd.weight");
  const Json tokenizer = tokenizer_json(header);
  append(out, "contextLength", size("context_length"));
  append(out, "layers", size("block_count"));
  append(out, "embedding", embedding);
  append(out, "feedForward", size("feed_forward_length"));
  append(out, "heads", heads);
  append(out, "kvHeads", kv_heads.is_null() ? heads : kv_heads);
  append(out, "headDim", head_dim);
  append(out, "vocab", embedded != nullptr ? Json(embedded->dims[1]) : tokenizer["tokens"]);
  append(out, "tokenizer", tokenizer);
}

uint64_t elements(const TensorInfo& tensor) {
  return tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

Json tensors_json(const Gguf& header) {
  Json list = Json::array();
  for (const TensorInfo& tensor : header.tensors) {
    Json shape = Json::array();
    for (uint32_t d = 0; d < std::min(tensor.n_dims, 4u); ++d) shape.push_back(tensor.dims[d]);
    list.push_back({{"name", tensor.name},
                    {"type", type_name(tensor.type)},
                    {"shape", shape},
                    {"bytes", tensor.bytes},
                    {"offset", tensor.offset}});
  }
  return list;
}

Json types_json(const Gguf& header) {
  Json types = Json::object();
  for (const TensorInfo& tensor : header.tensors) {
    Json& row = types[type_name(tensor.type)];
    if (row.is_null()) row = {{"tensors", 0}, {"bytes", 0}};
    row["tensors"] = row["tensors"].get<uint64_t>() + 1;
    row["bytes"] = row["bytes"].get<uint64_t>() + tensor.bytes;
  }
  return types;
}

void append_memory(Json& out, const Gguf& header, const LoadOptions& options,
                   std::vector<std::string>& notes) {
  auto plan = plan_memory(header, options);
  const auto tokenizer = Tokenizer::from_gguf(header);
  if (tokenizer) notes = tokenizer->warnings();
  if (plan && !tokenizer) plan = std::unexpected(tokenizer.error());
  if (!plan) {
    append(out, "memory", nullptr);
    append(out, "supported", false);
    append(out, "error",
           {{"code", code_name(plan.error().code)}, {"message", plan.error().message}});
    return;
  }
  const Json own = out.value("contextLength", Json());
  const uint64_t trained = own.is_number() ? own.get<uint64_t>() : 4096;
  const uint64_t context =
      options.context_size != 0 ? options.context_size : std::min<uint64_t>(trained, 4096);
  if (std::string note = context_note(context, trained); !note.empty()) {
    notes.push_back(std::move(note));
  }
  append(out, "memory",
         {{"contextSize", context},
          {"kvType", kv_type_name(options.kv_type)},
          {"weights", plan->weights},
          {"kv", plan->kv},
          {"activations", plan->activations},
          {"constant", plan->constant},
          {"start", plan->start()},
          {"total", plan->total()}});
  append(out, "supported", true);
}

// [[id, logprob], ..]
Json top_json(const std::vector<std::pair<TokenId, float>>& top) {
  Json list = Json::array();
  for (const auto& [id, logprob] : top) list.push_back(Json::array({id, shortest(logprob)}));
  return list;
}

// Memory that the process has taken: the wasm heap, or natively the largest resident set so far.
uint64_t heap_bytes() {
#ifdef __EMSCRIPTEN__
  return static_cast<uint64_t>(__builtin_wasm_memory_size(0)) * 65536;
#else
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
#endif
}

// Milliseconds and rates: three decimals are more than the clock gives.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json stats_object(const Stats& stats) {
  return {{"kernels", stats.kernels},
          {"threads", stats.threads},
          {"decodeThreads", stats.decode_threads},
          {"contextSize", stats.context_size},
          {"loadMs", rounded(stats.load_ms)},
          {"ttftMs", rounded(stats.ttft_ms)},
          {"waitedMs", rounded(stats.waited_ms)},
          {"promptTokens", stats.prompt_tokens},
          {"reusedTokens", stats.reused_tokens},
          {"promptTokensPerSecond", rounded(stats.prompt_tps)},
          {"tokens", stats.tokens},
          {"tokensPerSecond", rounded(stats.tps)},
          {"residentBytes", stats.resident_bytes},
          {"streamedBytes", stats.streamed_bytes},
          {"bytesPerToken", stats.bytes_per_token},
          {"heapBytes", heap_bytes()},
          {"seed", stats.seed}};
}

}  // namespace

Result<LoadOptions> load_options_from_json(std::string_view json) {
  SLUICE_ASSIGN(const Json options, parse_options(json));
  LoadOptions out;
  for (const auto& [name, value] : options.items()) {
    if (name == "threads") {
      SLUICE_ASSIGN(const int64_t threads, read_integer(name, value, 0, 64));
      out.threads = static_cast<int32_t>(threads);
    } else if (name == "tuneThreads") {
      SLUICE_ASSIGN(out.tune_threads, read_bool(name, value));
    } else if (name == "contextSize") {
      SLUICE_ASSIGN(const int64_t size, read_integer(name, value, 0, 1 << 20));
      out.context_size = static_cast<uint32_t>(size);
    } else if (name == "kvType") {
      SLUICE_ASSIGN(out.kv_type, read_kv_type(name, value));
    } else if (name == "memoryBudget") {
      SLUICE_ASSIGN(const int64_t bytes, read_integer(name, value, 0, kMaxExact));
      out.memory_budget = static_cast<uint64_t>(bytes);
    } else if (name == "kernels") {
      SLUICE_ASSIGN(out.kernels, read_string(name, value));
    } else {
      return unknown_option(name,
                            "threads, tuneThreads, contextSize, kvType, memoryBudget and kernels");
    }
  }
  return out;
}

Result<GenerateOptions> generate_options_from_json(std::string_view json) {
  SLUICE_ASSIGN(const Json options, parse_options(json));
  GenerateOptions out;
  for (const auto& [name, value] : options.items()) {
    if (name == "maxTokens") {
      SLUICE_ASSIGN(out.max_tokens, read_integer(name, value, -1, kMaxExact));
    } else if (name == "temperature") {
      SLUICE_ASSIGN(out.sampler.temperature, read_float(name, value));
    } else if (name == "topK") {
      SLUICE_ASSIGN(const int64_t top_k, read_integer(name, value, 0, INT32_MAX));
      out.sampler.top_k = static_cast<int32_t>(top_k);
    } else if (name == "topP") {
      SLUICE_ASSIGN(out.sampler.top_p, read_float(name, value));
    } else if (name == "minP") {
      SLUICE_ASSIGN(out.sampler.min_p, read_float(name, value));
    } else if (name == "repeatPenalty") {
      SLUICE_ASSIGN(out.sampler.repeat_penalty, read_float(name, value));
    } else if (name == "seed") {
      SLUICE_ASSIGN(out.sampler.seed, read_seed(name, value));
      out.has_seed = true;
    } else if (name == "stop") {
      SLUICE_ASSIGN(out.stop, read_stops(name, value));
    } else if (name == "ignoreEos") {
      SLUICE_ASSIGN(out.ignore_eos, read_bool(name, value));
    } else if (name == "special") {
      SLUICE_ASSIGN(out.special, read_bool(name, value));
    } else if (name == "topLogprobs") {
      SLUICE_ASSIGN(const int64_t n, read_integer(name, value, 0, 100));
      out.top_logprobs = static_cast<int32_t>(n);
    } else {
      return unknown_option(name,
                            "maxTokens, temperature, topK, topP, minP, repeatPenalty, seed, stop, "
                            "ignoreEos, special and topLogprobs");
    }
  }
  SLUICE_TRY(validate(out.sampler));
  return out;
}

std::string event_json(const Event& event, const Stats& stats) {
  switch (event.kind) {
    case Event::Kind::working:
      return dump({{"event", "working"}});
    case Event::Kind::waiting:
      return dump({{"event", "waiting"}});
    case Event::Kind::token:
      break;
    case Event::Kind::done:
      return dump({{"event", "done"},
                   {"finish", finish_name(event.finish)},
                   {"stats", stats_object(stats)}});
  }
  Json out = {{"event", "token"},
              {"id", event.id},
              {"text", event.text},
              {"logprob", shortest(event.logprob)}};
  if (!event.top.empty()) {
    append(out, "top", top_json(event.top));
  }
  return dump(out);
}

std::string logits_json(std::span<const float> logits, int top, bool hash) {
  Json out = Json::object();
  if (hash) append(out, "hash", logits_hash(logits));
  append(out, "top", top_json(top_logprobs(logits, top)));
  return dump(out);
}

std::string notes_json(const std::vector<std::string>& notes) { return dump(Json(notes)); }

std::string stats_json(const Stats& stats) { return dump(stats_object(stats)); }

std::string error_json(const Error& error) {
  return dump({{"event", "error"}, {"code", code_name(error.code)}, {"message", error.message}});
}

std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size) {
  const Json architecture = text_at(header, "general.architecture");
  Json out = Json::object();
  append(out, "architecture", architecture);
  append(out, "name", text_at(header, "general.name"));
  uint64_t parameters = 0;
  for (const TensorInfo& tensor : header.tensors) parameters += elements(tensor);
  append(out, "parameters", parameters);
  append(out, "version", header.version);
  append(out, "fileBytes", file_size != 0 ? file_size : header.file_bytes());
  append(out, "dataOffset", header.data_offset);
  append(out, "dataBytes", header.data_bytes);
  append_sizes(out, header, architecture.is_string() ? architecture.get<std::string>() : "");
  append(out, "types", types_json(header));
  std::vector<std::string> notes;
  append_memory(out, header, options, notes);
  append(out, "notes", notes);
  Json metadata = Json::object();
  for (const auto& [key, value] : header.metadata) append(metadata, key, value_json(value));
  append(out, "metadata", std::move(metadata));
  append(out, "tensors", tensors_json(header));
  return dump(out);
}

}  // namespace sluice
