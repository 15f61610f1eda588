#include "files/edit.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "files/compare.h"
#include "files/gguf_writer.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kChatTemplateKey = "tokenizer.chat_template";
constexpr size_t kMaxKey = 65535;  // bytes, by GGUF's description

struct ValueForm {
  ValueType type;  // of an array, its elements'
  bool array = false;
  bool operator==(const ValueForm&) const = default;
};

struct TypeWord {
  std::string_view word;
  ValueType type;
};
constexpr TypeWord kTypeWords[] = {
    {"u8", ValueType::u8},         {"i8", ValueType::i8},        {"u16", ValueType::u16},
    {"i16", ValueType::i16},       {"u32", ValueType::u32},      {"i32", ValueType::i32},
    {"u64", ValueType::u64},       {"i64", ValueType::i64},      {"f32", ValueType::f32},
    {"f64", ValueType::f64},       {"bool", ValueType::boolean}, {"str", ValueType::string},
    {"string", ValueType::string},
};

std::string form_text(const ValueForm& form) {
  std::string_view word;
  for (const TypeWord& each : kTypeWords)
    if (word.empty() && each.type == form.type) word = each.word;
  return concat(word, form.array ? "[]" : "");
}

// Takes "TYPE:" or "TYPE[]:" from the start of a text.
std::optional<ValueForm> take_form(std::string_view& text) {
  for (const TypeWord& each : kTypeWords) {
    std::string_view rest = text;
    if (!rest.starts_with(each.word)) continue;
    rest.remove_prefix(each.word.size());
    const bool array = rest.starts_with("[]");
    if (array) rest.remove_prefix(2);
    if (!rest.starts_with(':')) continue;
    text = rest.substr(1);
    return ValueForm{each.type, array};
  }
  return std::nullopt;
}

// Keys whose type the format's description or converters fix. '*' at the start stands for an
// architecture.
constexpr TypeWord kKnownKeys[] = {
    {"general.architecture", ValueType::string},
    {"general.type", ValueType::string},
    {"general.name", ValueType::string},
    {"general.basename", ValueType::string},
    {"general.finetune", ValueType::string},
    {"general.version", ValueType::string},
    {"general.organization", ValueType::string},
    {"general.author", ValueType::string},
    {"general.description", ValueType::string},
    {"general.size_label", ValueType::string},
    {"general.license", ValueType::string},
    {"general.license.name", ValueType::string},
    {"general.license.link", ValueType::string},
    {"general.url", ValueType::string},
    {"general.repo_url", ValueType::string},
    {"general.source.url", ValueType::string},
    {"general.file_type", ValueType::u32},
    {"general.quantization_version", ValueType::u32},
    {"general.sampling.top_k", ValueType::i32},
    {"general.sampling.top_p", ValueType::f32},
    {"general.sampling.min_p", ValueType::f32},
    {"general.sampling.temp", ValueType::f32},
    {"general.sampling.xtc_probability", ValueType::f32},
    {"general.sampling.xtc_threshold", ValueType::f32},
    {"general.sampling.penalty_last_n", ValueType::i32},
    {"general.sampling.penalty_repeat", ValueType::f32},
    {"tokenizer.ggml.model", ValueType::string},
    {"tokenizer.ggml.pre", ValueType::string},
    {kChatTemplateKey, ValueType::string},
    {"tokenizer.ggml.add_bos_token", ValueType::boolean},
    {"tokenizer.ggml.add_eos_token", ValueType::boolean},
    {"tokenizer.ggml.add_sep_token", ValueType::boolean},
    {"tokenizer.ggml.add_space_prefix", ValueType::boolean},
    {"*.context_length", ValueType::u32},
    {"*.attention.sliding_window", ValueType::u32},
    {"*.attention.scale", ValueType::f32},
    {"*.rope.freq_base", ValueType::f32},
    {"*.rope.scaling.type", ValueType::string},
    {"*.rope.scaling.factor", ValueType::f32},
    {"*.rope.scaling.attn_factor", ValueType::f32},
    {"*.rope.scaling.original_context_length", ValueType::u32},
    {"*.expert_used_count", ValueType::u32},
};

std::optional<ValueForm> known_form(std::string_view key) {
  if (key.starts_with("tokenizer.ggml.") && key.ends_with("_token_id"))
    return ValueForm{ValueType::u32};
  for (const TypeWord& each : kKnownKeys) {
    const bool any = each.word.starts_with('*');
    if (any ? key.ends_with(each.word.substr(1)) : key == each.word) return ValueForm{each.type};
  }
  return std::nullopt;
}

// --- one value -----------------------------------------------------------------------------------

// A scalar's bytes, or nothing: the type can't hold it.
template <typename T>
std::string bytes_of_number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
std::optional<std::string> integer_bytes(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return bytes_of_number(value);
}

std::optional<std::string> float_bytes(ValueType type, double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (type == ValueType::f64) return bytes_of_number(value);
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) return std::nullopt;
  return bytes_of_number(narrow);
}

std::optional<std::string> scalar_bytes(ValueType type, const std::string& text) {
  switch (type) {
    case ValueType::u8:
      return integer_bytes<uint8_t>(text);
    case ValueType::i8:
      return integer_bytes<int8_t>(text);
    case ValueType::u16:
      return integer_bytes<uint16_t>(text);
    case ValueType::i16:
      return integer_bytes<int16_t>(text);
    case ValueType::u32:
      return integer_bytes<uint32_t>(text);
    case ValueType::i32:
      return integer_bytes<int32_t>(text);
    case ValueType::u64:
      return integer_bytes<uint64_t>(text);
    case ValueType::i64:
      return integer_bytes<int64_t>(text);
    case ValueType::f32:
    case ValueType::f64: {
      const char* end = nullptr;
      const double value = read_decimal(text.c_str(), &end);
      if (end == text.c_str() || end != text.c_str() + text.size()) return std::nullopt;
      return float_bytes(type, value);
    }
    case ValueType::boolean:
      if (text == "true") return std::string(1, '\1');
      if (text == "false") return std::string(1, '\0');
      return std::nullopt;
    case ValueType::string:
      if (utf8_sanitize(text) != text) return std::nullopt;
      return text;
    case ValueType::array:
      break;
  }
  return std::nullopt;
}

// An element of a JSON array.
std::optional<std::string> element_bytes(ValueType type, const Json& element) {
  if (type == ValueType::string) {
    if (!element.is_string()) return std::nullopt;
    return element.get_ref<const std::string&>();
  }
  if (type == ValueType::boolean) {
    if (!element.is_boolean()) return std::nullopt;
    return std::string(1, element.get<bool>() ? '\1' : '\0');
  }
  if (!element.is_number()) return std::nullopt;
  if (type == ValueType::f32 || type == ValueType::f64)
    return float_bytes(type, element.get<double>());
  if (!element.is_number_integer()) return std::nullopt;
  return scalar_bytes(type, element.is_number_unsigned() ? std::to_string(element.get<uint64_t>())
                                                         : std::to_string(element.get<int64_t>()));
}

// "a whole number from 0 to 255", for messages.
std::string expected_of(ValueType type) {
  const auto range = [](auto low, auto high) {
    return concat("a whole number from ", low, " to ", high);
  };
  switch (type) {
    case ValueType::u8:
      return range(0, UINT8_MAX);
    case ValueType::i8:
      return range(INT8_MIN, INT8_MAX);
    case ValueType::u16:
      return range(0, UINT16_MAX);
    case ValueType::i16:
      return range(INT16_MIN, INT16_MAX);
    case ValueType::u32:
      return range(0, UINT32_MAX);
    case ValueType::i32:
      return range(INT32_MIN, INT32_MAX);
    case ValueType::u64:
      return range(0, UINT64_MAX);
    case ValueType::i64:
      return range(INT64_MIN, INT64_MAX);
    case ValueType::f32:
      return "a finite number that an f32 can hold";
    case ValueType::f64:
      return "a finite number that an f64 can hold";
    case ValueType::boolean:
      return "true or false";
    case ValueType::string:
      return "a text in UTF-8";
    case ValueType::array:
      break;
  }
  return "an array";
}

std::unexpected<Error> refuse(std::string_view key, std::string_view expected,
                              std::string_view found) {
  return fail(Code::invalid_argument, printable(key), ": expected ", expected, ", found '",
              printable(found), "'");
}

// The form of a new key's array by its elements.
std::optional<ValueForm> form_of(const Json& list) {
  const auto all = [&](auto is) { return std::ranges::all_of(list, is); };
  if (list.empty()) return std::nullopt;
  if (all([](const Json& each) { return each.is_string(); }))
    return ValueForm{ValueType::string, true};
  if (all([](const Json& each) { return each.is_boolean(); }))
    return ValueForm{ValueType::boolean, true};
  if (all([](const Json& each) { return each.is_number_integer(); }))
    return ValueForm{ValueType::i32, true};
  if (all([](const Json& each) { return each.is_number(); }))
    return ValueForm{ValueType::f32, true};
  return std::nullopt;
}

Result<MetadataValue> read_array(std::string_view key, std::optional<ValueForm> form,
                                 std::string_view text) {
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return refuse(key, "a JSON array, like [1, 2] or [\"a\", \"b\"]", text);
  if (!form) form = form_of(list);
  if (!form) {
    return fail(Code::invalid_argument, printable(key), " is a new array, and its elements don't ",
                "tell its type; give one, as in i32[]:[]");
  }
  MetadataValue out;
  out.type = ValueType::array;
  out.element = form->type;
  out.count = list.size();
  for (const Json& element : list) {
    const auto bytes = element_bytes(form->type, element);
    if (!bytes) {
      return refuse(key, concat("elements that are each ", expected_of(form->type)),
                    element.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    out.bytes += *bytes;
    if (form->type == ValueType::string)
      out.ends.push_back(static_cast<uint32_t>(out.bytes.size()));
  }
  return out;
}

// The type that a value looks like, as a word: "u32", "i32", "f32", "bool" or "str".
std::string_view likely_type(const std::string& text) {
  for (const ValueType type : {ValueType::boolean, ValueType::u32, ValueType::i32, ValueType::u64,
                               ValueType::i64, ValueType::f32}) {
    if (!scalar_bytes(type, text)) continue;
    for (const TypeWord& each : kTypeWords)
      if (each.type == type) return each.word;
  }
  return "str";
}

Result<MetadataValue> read_value(const MetadataValue* old, std::string_view key,
                                 std::string_view text) {
  const std::string_view whole = text;
  std::optional<ValueForm> form = take_form(text);
  if (old != nullptr) {
    const ValueForm own = old->is_array() ? ValueForm{old->element, true} : ValueForm{old->type};
    if (form && *form != own) {
      return fail(Code::invalid_argument, printable(key), " has the type ", form_text(own),
                  ", not ", form_text(*form), "; remove the key as well to give it another type",
                  own == ValueForm{ValueType::string}
                      ? concat(", or write str:", printable(whole), " for this text")
                      : std::string());
    }
    form = own;
  }
  if (!form) form = known_form(key);
  if (form ? form->array : text.starts_with('[')) return read_array(key, form, text);
  if (!form) {
    return fail(Code::invalid_argument, printable(key),
                " is new, so its value needs a type, as in ", printable(key), "=",
                likely_type(std::string(whole)), ":", printable(whole),
                "; types are u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, ",
                "bool, str, and with [] arrays of them");
  }
  const auto bytes = scalar_bytes(form->type, std::string(text));
  if (!bytes) return refuse(key, expected_of(form->type), text);
  MetadataValue out;
  out.type = form->type;
  out.bytes = *bytes;
  return out;
}

Status check_key(std::string_view key) {
  if (key.empty()) return fail(Code::invalid_argument, "a key is empty; expected KEY=VALUE");
  if (key.size() > kMaxKey)
    return fail(Code::invalid_argument, "the key '", printable(key), "' has ", key.size(),
                " bytes; a file can have keys of up to ", kMaxKey);
  if (utf8_sanitize(key) != key)
    return fail(Code::invalid_argument, "the key '", printable(key), "' is not valid UTF-8");
  if (key == kPaddingKey) {
    return fail(Code::invalid_argument, key,
                " only fills the header's place; a file that is written anew has none");
  }
  if (is_layout_key(key)) {
    return fail(Code::invalid_argument, printable(key),
                " says how the file is laid out, so it can't be changed without its data");
  }
  return {};
}

std::string with_padding(Gguf& gguf, size_t bytes) {
  set_value(gguf, kPaddingKey, text_value(std::string(bytes, ' ')));
  return header_bytes(gguf);
}

// The header without the padding before the data.
uint64_t packed_size(Gguf gguf) {
  gguf.alignment = 1;
  return header_bytes(gguf).size();
}

// Reads the header as everybody will.
Status check_readable(const Gguf& gguf, const std::string& header) {
  GgufParser parser;
  parser.set_file_size(header.size() + gguf.data_bytes);
  const auto taken = parser.push({reinterpret_cast<const uint8_t*>(header.data()), header.size()});
  const Status done = taken ? parser.finish() : std::unexpected(taken.error());
  if (done) return {};
  return fail(Code::invalid_argument,
              "by this edit the file couldn't be read any more: ", done.error().message);
}

}  // namespace

std::vector<std::string> well_known_keys() {
  std::vector<std::string> keys;
  for (const TypeWord& each : kKnownKeys)
    if (!each.word.starts_with('*')) keys.emplace_back(each.word);
  return keys;
}

Status edit_metadata(Gguf& gguf, const MetadataEdit& edit) {
  for (const std::string& key : edit.remove) {
    SLUICE_TRY(check_key(key));
    if (!remove_value(gguf, key))
      return fail(Code::not_found, "the file has no key '", printable(key), "' to remove");
  }
  for (const auto& [key, text] : edit.set) {
    SLUICE_TRY(check_key(key));
    SLUICE_ASSIGN(MetadataValue value, read_value(gguf.find(key), key, text));
    set_value(gguf, key, std::move(value));
  }
  if (edit.chat_template) {
    const MetadataValue* old = gguf.find(kChatTemplateKey);
    if (old != nullptr && old->type != ValueType::string)
      return fail(Code::invalid_argument, kChatTemplateKey, " is ", describe(*old),
                  " in this file; remove the key as well");
    if (utf8_sanitize(*edit.chat_template) != *edit.chat_template)
      return fail(Code::invalid_argument, "the chat template is not valid UTF-8");
    set_value(gguf, kChatTemplateKey, text_value(*edit.chat_template));
  }
  return {};
}

Result<std::string> edited_header(Gguf gguf) {
  remove_value(gguf, kPaddingKey);
  std::string out = header_bytes(gguf);
  SLUICE_TRY(check_readable(gguf, out));
  return out;
}

Result<std::string> edited_header(Gguf gguf, uint64_t room) {
  remove_value(gguf, kPaddingKey);
  std::string out = header_bytes(gguf);
  const uint64_t packed = packed_size(gguf);
  if (packed > room) {
    return fail(Code::invalid_argument,
                "the new header doesn't fit in the place of the old one: ", packed - room,
                packed - room == 1 ? " byte is" : " bytes are",
                " missing. Write another file: give OUT instead of --in-place (the file's own ",
                "name replaces it)");
  }
  if (out.size() != room) {
    // An empty text under the padding's key takes so much.
    Gguf padded = gguf;
    set_value(padded, kPaddingKey, text_value(""));
    const uint64_t least = packed_size(padded);
    if (least > room) {
      return fail(Code::invalid_argument, "the new header is ", room - packed,
                  " bytes shorter than the old one, too few to be filled up. Write another file: ",
                  "give OUT instead of --in-place (the file's own name replaces it)");
    }
    out = with_padding(gguf, room - least);
  }
  SLUICE_TRY(check_readable(gguf, out));
  return out;
}

}  // namespace sluice
