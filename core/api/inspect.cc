#include "api/inspect.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

constexpr std::string_view kArchitecture = "general.architecture";

void append_scalar(JsonText& out, const MetadataValue& value, ValueType type, uint64_t i) {
  switch (type) {
    case ValueType::string:
      return out.text(value.text(i));
    case ValueType::boolean:
      return out.flag(value.as_bool(i).value_or(false));
    case ValueType::f32:
      return out.real(shortest(static_cast<float>(value.as_f64(i).value_or(0))));
    case ValueType::f64:
      return out.real(value.as_f64(i).value_or(0));
    default:
      if (const auto number = value.as_u64(i)) return out.count(*number);
      return out.whole(value.as_i64(i).value_or(0));
  }
}

void append_value(JsonText& out, const MetadataValue& value, uint64_t most) {
  if (!value.is_array()) return append_scalar(out, value, value.type, 0);
  out.open('{');
  out.text("array", value_type_name(value.element));
  out.count("count", value.count);
  out.open("first", '[');
  for (uint64_t i = 0; i < std::min(value.count, most); ++i)
    append_scalar(out, value, value.element, i);
  out.close(']');
  out.close('}');
}

// A number from the metadata. If the file has one for each layer, the largest.
std::optional<uint64_t> number_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  std::optional<uint64_t> largest;
  for (uint64_t i = 0; value != nullptr && i < value->count; ++i) {
    if (const auto number = value->as_u64(i)) largest = std::max(largest.value_or(0), *number);
  }
  return largest;
}

void append_number(JsonText& out, std::string_view name, std::optional<uint64_t> value) {
  value ? out.count(name, *value) : out.null(name);
}

std::optional<std::string_view> text_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  if (value == nullptr || value->type != ValueType::string) return {};
  return value->text();
}

void append_text_at(JsonText& out, std::string_view name, const Gguf& header,
                    std::string_view key) {
  const auto text = text_at(header, key);
  text ? out.text(name, *text) : out.null(name);
}

std::string type_name(uint32_t type) {
  const char* name = file_type(type).name;
  return name != nullptr ? std::string(name) : concat("type ", type);
}

uint64_t tokens_of(const Gguf& header) {
  const MetadataValue* tokens = header.find("tokenizer.ggml.tokens");
  return tokens != nullptr ? tokens->count : 0;
}

void append_tokenizer(JsonText& out, const Gguf& header) {
  out.open("tokenizer", '{');
  append_text_at(out, "model", header, "tokenizer.ggml.model");
  append_text_at(out, "pre", header, "tokenizer.ggml.pre");
  out.count("tokens", tokens_of(header));
  append_number(out, "bos", number_at(header, "tokenizer.ggml.bos_token_id"));
  append_number(out, "eos", number_at(header, "tokenizer.ggml.eos_token_id"));
  out.close('}');
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

std::optional<uint64_t> size_at(const Gguf& header, std::string_view key) {
  const std::string_view architecture = text_at(header, kArchitecture).value_or("");
  return number_at(header, concat(architecture, ".", key));
}

void append_sizes(JsonText& out, const Gguf& header) {
  for (const auto& [name, key, other] : kSizes) {
    auto value = size_at(header, key);
    if (!value && !other.empty()) value = size_at(header, other);
    append_number(out, name, value);
  }
  auto head_dim = size_at(header, "attention.key_length");
  if (!head_dim) {
    const auto embedding = size_at(header, "embedding_length");
    const auto heads = size_at(header, "attention.head_count");
    if (embedding && heads && *heads != 0) head_dim = *embedding / *heads;
  }
  append_number(out, "headDim", head_dim);
  const TensorInfo* embedded = header.find_tensor("token_embd.weight");
  out.count("vocab", embedded != nullptr ? embedded->dims[1] : tokens_of(header));
  append_tokenizer(out, header);
}

uint64_t elements(const TensorInfo& tensor) {
  return tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

void append_tensors(JsonText& out, const Gguf& header) {
  out.open("tensors", '[');
  for (const TensorInfo& tensor : header.tensors) {
    out.open('{');
    out.text("name", tensor.name);
    out.text("type", type_name(tensor.type));
    out.open("shape", '[');
    for (uint32_t d = 0; d < std::min(tensor.n_dims, 4u); ++d) out.count(tensor.dims[d]);
    out.close(']');
    out.count("bytes", tensor.bytes);
    out.count("offset", tensor.offset);
    out.close('}');
  }
  out.close(']');
}

void append_types(JsonText& out, const Gguf& header) {
  struct Total {
    std::string type;
    uint64_t tensors, bytes;
  };
  std::vector<Total> totals;
  for (const TensorInfo& tensor : header.tensors) {
    const std::string type = type_name(tensor.type);
    auto total = std::ranges::find(totals, type, &Total::type);
    if (total == totals.end()) total = totals.insert(total, {type, 0, 0});
    ++total->tensors;
    total->bytes += tensor.bytes;
  }
  out.open("types", '{');
  for (const auto& [type, tensors, bytes] : totals) {
    out.open(type, '{');
    out.count("tensors", tensors);
    out.count("bytes", bytes);
    out.close('}');
  }
  out.close('}');
}

// What the model makes of texts; nothing of one that can't be run.
void append_use(JsonText& out, const Gguf& header) {
  const auto use = model_use(header);
  if (!use) return;
  out.open("makes", '[');
  if (use->makes.text) out.text("text");
  if (use->makes.vectors) out.text("vectors");
  if (use->makes.masks) out.text("masks");
  out.close(']');
  out.text("pooling", pooling_name(use->pooling));
  out.whole("dimensions", use->vector_width);
}

void append_memory(JsonText& out, const Gguf& header, const LoadOptions& options, Access access,
                   Notes& notes) {
  auto plan = plan_memory(header, options, access);
  const auto tokenizer = Tokenizer::from_gguf(header);
  if (tokenizer) notes = tokenizer->warnings();
  if (plan && !tokenizer) plan = std::unexpected(tokenizer.error());
  if (!plan) {
    out.null("memory");
    out.flag("supported", false);
    out.open("error", '{');
    out.error(plan.error());
    out.close('}');
    return;
  }
  const uint64_t context = plan->context_size;
  add_context_note(context, size_at(header, "context_length").value_or(context), notes);
  out.open("memory", '{');
  out.count("contextSize", context);
  out.count("plannedTokens", plan->planned_tokens);
  out.text("kvType", options.kv_type);
  out.count("weights", plan->weights);
  out.count("kv", plan->kv);
  out.count("kvChunk", plan->kv_chunk);
  out.count("activations", plan->activations);
  out.count("constant", plan->constant);
  out.count("start", plan->before_first_token());
  out.count("total", plan->total());
  out.count("all", plan->all);
  out.count("least", plan->least);
  out.count("budget", plan->budget);
  out.count("rereadBytes", plan->reread);
  out.count("bytesPerToken", plan->per_token);
  out.count("leftOutBytes", plan->left_out);
  out.count("session", plan->session);
  out.close('}');
  out.flag("supported", true);
}

// {"temperature":0.6,..}: what the file recommends.
void append_sampling(JsonText& out, const ModelSampling& sampling) {
  if (sampling.given.empty()) return;
  out.open("sampling", '{');
  for (const auto& [name, value] : sampling.given) {
    const auto whole = static_cast<int64_t>(value);
    const bool is_whole = static_cast<float>(whole) == value;
    is_whole ? out.whole(name, whole) : out.real(name, shortest(value));
  }
  out.close('}');
}

}  // namespace

std::string metadata_json(const MetadataValue& value, uint64_t most) {
  JsonText out;
  append_value(out, value, most);
  return out.take();
}

std::string inspect_json(const Gguf& header, const LoadOptions& options, uint64_t file_size,
                         Access access, uint64_t most) {
  JsonText out;
  out.open('{');
  append_text_at(out, "architecture", header, kArchitecture);
  append_text_at(out, "name", header, "general.name");
  uint64_t parameters = 0;
  for (const TensorInfo& tensor : header.tensors) parameters += elements(tensor);
  out.count("parameters", parameters);
  out.count("version", header.version);
  out.count("files", header.files.size());
  out.count("fileBytes", file_size != 0 ? file_size : header.file_bytes());
  out.count("dataOffset", header.data_offset);
  out.count("dataBytes", header.data_bytes);
  append_sizes(out, header);
  append_use(out, header);
  append_types(out, header);
  const ModelSampling sampling = read_model_sampling(header);
  append_sampling(out, sampling);
  Notes notes;
  append_memory(out, header, options, access, notes);
  notes.insert(notes.end(), sampling.notes.begin(), sampling.notes.end());
  out.key("notes");
  out.notes(notes);
  out.open("metadata", '{');
  for (const auto& [key, value] : header.metadata) {
    out.key(key);
    append_value(out, value, most);
  }
  out.close('}');
  append_tensors(out, header);
  out.close('}');
  return out.take();
}

}  // namespace sluice
