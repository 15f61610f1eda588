#include "api/inspect.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/json_parts.h"
#include "api/vectors.h"
#include "base/format.h"
#include "engine/memory_plan.h"
#include "engine/model_sampling.h"
#include "engine/model_use.h"
#include "engine/notes.h"
#include "gguf/gguf.h"
#include "quant/quant.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

Json scalar_json(const MetadataValue& value, ValueType type, uint64_t i) {
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

Json value_json(const MetadataValue& value, uint64_t most) {
  if (!value.is_array()) return scalar_json(value, value.type, 0);
  Json first = Json::array();
  for (uint64_t i = 0; i < std::min(value.count, most); ++i) {
    first.push_back(scalar_json(value, value.element, i));
  }
  Json out = Json::object();
  append(out, "array", value_type_name(value.element));
  append(out, "count", value.count);
  append(out, "first", std::move(first));
  return out;
}

// A number from the metadata, or null. If the file has one for each layer, the largest.
Json number_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  std::optional<uint64_t> largest;
  for (uint64_t i = 0; value != nullptr && i < value->count; ++i) {
    if (const auto number = value->as_u64(i)) largest = std::max(largest.value_or(0), *number);
  }
  return largest ? Json(*largest) : Json(nullptr);
}

Json text_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  return value && value->type == ValueType::string ? Json(std::string(value->text())) : Json();
}

std::string type_name(uint32_t type) {
  const char* name = file_type(type).name;
  return name != nullptr ? std::string(name) : concat("type ", type);
}

Json tokenizer_json(const Gguf& header) {
  const MetadataValue* tokens = header.find("tokenizer.ggml.tokens");
  Json out = Json::object();
  append(out, "model", text_at(header, "tokenizer.ggml.model"));
  append(out, "pre", text_at(header, "tokenizer.ggml.pre"));
  append(out, "tokens", tokens != nullptr ? tokens->count : 0);
  append(out, "bos", number_at(header, "tokenizer.ggml.bos_token_id"));
  append(out, "eos", number_at(header, "tokenizer.ggml.eos_token_id"));
  return out;
}

// A size whose key begins with the architecture's name: the first of two keys that the file has.
struct Size {
  std::string_view name, key, other;
};
constexpr Size kSizes[] = {
    {"contextLength", "context_length", {}},
    {"layers", "block_count", {}},
    {"embedding", "embedding_length", {}},
    {"feedForward", "expert_feed_forward_length", "feed_forward_length"},
    {"experts", "expert_count", {}},
    {"expertsUsed", "expert_used_count", {}},
    {"heads", "attention.head_count", {}},
    {"kvHeads", "attention.head_count_kv", "attention.head_count"},
};

void append_sizes(Json& out, const Gguf& header, const std::string& architecture) {
  const auto size = [&](std::string_view key) {
    return number_at(header, concat(architecture, ".", key));
  };
  for (const auto& [name, key, other] : kSizes) {
    Json value = size(key);
    if (value.is_null() && !other.empty()) value = size(other);
    append(out, name, std::move(value));
  }
  Json head_dim = size("attention.key_length");
  if (head_dim.is_null()) {
    const Json embedding = size("embedding_length"), heads = size("attention.head_count");
    if (embedding.is_number() && heads.is_number() && heads != 0)
      head_dim = embedding.get<uint64_t>() / heads.get<uint64_t>();
  }
  append(out, "headDim", std::move(head_dim));
  const TensorInfo* embedded = header.find_tensor("token_embd.weight");
  Json tokenizer = tokenizer_json(header);
  append(out, "vocab", embedded != nullptr ? Json(embedded->dims[1]) : tokenizer["tokens"]);
  append(out, "tokenizer", std::move(tokenizer));
}

uint64_t elements(const TensorInfo& tensor) {
  return tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

Json tensors_json(const Gguf& header) {
  Json list = Json::array();
  for (const TensorInfo& tensor : header.tensors) {
    Json shape = Json::array();
    for (uint32_t d = 0; d < std::min(tensor.n_dims, 4u); ++d) shape.push_back(tensor.dims[d]);
    Json one = Json::object();
    append(one, "name", tensor.name);
    append(one, "type", type_name(tensor.type));
    append(one, "shape", std::move(shape));
    append(one, "bytes", tensor.bytes);
    append(one, "offset", tensor.offset);
    list.push_back(std::move(one));
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

// What the model makes of texts; nothing of one that can't be run.
void append_use(Json& out, const Gguf& header) {
  const auto use = model_use(header);
  if (!use) return;
  const std::pair<bool, const char*> all[] = {
      {use->makes.text, "text"}, {use->makes.vectors, "vectors"}, {use->makes.masks, "masks"}};
  Json makes = Json::array();
  for (const auto& [made, name] : all)
    if (made) makes.push_back(name);
  append(out, "makes", std::move(makes));
  append(out, "pooling", std::string(pooling_name(use->pooling)));
  append(out, "dimensions", use->vector_width);
}

void append_memory(Json& out, const Gguf& header, const LoadOptions& options, Access access,
                   Notes& notes) {
  auto plan = plan_memory(header, options, access);
  const auto tokenizer = Tokenizer::from_gguf(header);
  if (tokenizer) notes = tokenizer->warnings();
  if (plan && !tokenizer) plan = std::unexpected(tokenizer.error());
  if (!plan) {
    append(out, "memory", nullptr);
    append(out, "supported", false);
    Json error = Json::object();
    append(error, "code", code_name(plan.error().code));
    append(error, "message", plan.error().message);
    append_facts(error, plan.error().facts);
    append(out, "error", std::move(error));
    return;
  }
  const uint64_t context = plan->context_size;
  const Json own = out.value("contextLength", Json());
  add_context_note(context, own.is_number() ? own.get<uint64_t>() : context, notes);
  const Count bytes[] = {{"weights", plan->weights},       {"kv", plan->kv},
                         {"kvChunk", plan->kv_chunk},      {"activations", plan->activations},
                         {"constant", plan->constant},     {"start", plan->before_first_token()},
                         {"total", plan->total()},         {"all", plan->all},
                         {"least", plan->least},           {"budget", plan->budget},
                         {"rereadBytes", plan->reread},    {"bytesPerToken", plan->per_token},
                         {"leftOutBytes", plan->left_out}, {"session", plan->session}};
  Json memory = Json::object();
  append(memory, "contextSize", context);
  append(memory, "plannedTokens", plan->planned_tokens);
  append(memory, "kvType", options.kv_type);
  append_counts(memory, bytes);
  append(out, "memory", std::move(memory));
  append(out, "supported", true);
}

// {"temperature":0.6,..}: what the file recommends.
Json sampling_json(const ModelSampling& sampling) {
  Json json = Json::object();
  for (const auto& [name, value] : sampling.given) {
    const auto whole = static_cast<int64_t>(value);
    const bool is_whole = static_cast<float>(whole) == value;
    append(json, name, is_whole ? Json(whole) : Json(shortest(value)));
  }
  return json;
}

}  // namespace

std::string metadata_json(const MetadataValue& value, uint64_t most) {
  return dump(value_json(value, most));
}

std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size,
                         Access access, uint64_t most) {
  const Json architecture = text_at(header, "general.architecture");
  Json out = Json::object();
  append(out, "architecture", architecture);
  append(out, "name", text_at(header, "general.name"));
  uint64_t parameters = 0;
  for (const TensorInfo& tensor : header.tensors) parameters += elements(tensor);
  append(out, "parameters", parameters);
  append(out, "version", header.version);
  append(out, "files", header.files.size());
  append(out, "fileBytes", file_size != 0 ? file_size : header.file_bytes());
  append(out, "dataOffset", header.data_offset);
  append(out, "dataBytes", header.data_bytes);
  append_sizes(out, header, architecture.is_string() ? architecture.get<std::string>() : "");
  append_use(out, header);
  append(out, "types", types_json(header));
  const ModelSampling sampling = read_model_sampling(header);
  if (!sampling.given.empty()) append(out, "sampling", sampling_json(sampling));
  Notes notes;
  append_memory(out, header, options, access, notes);
  notes.insert(notes.end(), sampling.notes.begin(), sampling.notes.end());
  append(out, "notes", notes_list(notes));
  Json metadata = Json::object();
  for (const auto& [key, value] : header.metadata) append(metadata, key, value_json(value, most));
  append(out, "metadata", std::move(metadata));
  append(out, "tensors", tensors_json(header));
  return dump(out);
}

}  // namespace sluice
