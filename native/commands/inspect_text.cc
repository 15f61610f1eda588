#include "commands/inspect_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "app/text.h"
#include "base/format.h"
#include "base/makes.h"
#include "files/quantize/quantize.h"
#include "files/value_text.h"
#include "kernels/kv_chunk.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kWidth = 80;

std::string text_of(const Json& value, size_t max_bytes = kWidth) {
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get<std::string>(), max_bytes);
  return value.dump();
}

uint64_t whole(const Json& value) {
  return value.is_number_unsigned() || value.is_number_integer() ? value.get<uint64_t>() : 0;
}

// A count for people: "1.19 billion".
std::string human_count(uint64_t n) {
  constexpr const char* kWords[] = {"", " thousand", " million", " billion", " trillion"};
  double value = static_cast<double>(n);
  size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return unit == 0 ? std::to_string(n) : format("%.2f%s", value, kWords[unit]);
}

// "  name             value"
std::string row(const std::string& name, const std::string& value, int width = 18) {
  return format("  %-*s %s\n", width, name.c_str(), value.c_str());
}

std::string heading(const std::string& text) { return "\n" + text + "\n"; }

// True of the files of sluice imatrix and llama-imatrix.
bool is_importance(const Json& info) {
  const auto type = info["metadata"].find("general.type");
  return type != info["metadata"].end() && type->is_string() && *type == "imatrix";
}

// "vectors of 384 numbers (pooling mean), words for masks". The vectors of a model that writes text
// are shown only if its file says how to pool them.
std::string uses(const Json& info) {
  const Json& makes = info["makes"];
  const auto has = [&](const char* what) { return std::ranges::find(makes, what) != makes.end(); };
  std::string out = has("text") ? "text" : "";
  const auto add = [&](const std::string& what) { out += concat(out.empty() ? "" : ", ", what); };
  const std::string key = concat(text_of(info["architecture"]), ".pooling_type");
  if (has("vectors") && (!has("text") || info["metadata"].contains(key)))
    add(concat("vectors of ", counted(whole(info["dimensions"]), "number"), " (pooling ",
               text_of(info["pooling"]), ")"));
  if (has("masks")) add("words for masks");
  return out;
}

// What sluice embed and similar put before texts: a row for each kind of text that has some.
std::string prompts(const Json& info) {
  std::string out;
  if (!info.contains("prompts")) return out;
  for (const auto& [kind, words] : info["prompts"].items()) {
    const std::string text = words.get<std::string>();
    if (!text.empty()) out += row(concat("before a ", kind), quoted_text(text, 57));
  }
  return out;
}

std::string overview(const Json& info) {
  const Json& tokenizer = info["tokenizer"];
  std::string out;
  out += row("name", text_of(info["name"], 58));
  out += row("architecture", text_of(info["architecture"], 58));
  out +=
      row("header", concat(counted(info["metadata"].size(), "field"), ", ",
                           counted(info["tensors"].size(), "tensor"),
                           info["tensors"].empty()
                               ? std::string()
                               : concat("; data from byte ", text_of(info["dataOffset"]), " on")));
  if (!is_importance(info)) out += row("parameters", human_count(whole(info["parameters"])));
  if (info.contains("makes")) out += row("makes", uses(info)) + prompts(info);
  // Not every file is one of a model: an importance matrix has none of these.
  const auto known = [&](const char* name) { return !info[name].is_null(); };
  if (known("layers")) out += row("layers", text_of(info["layers"]));
  if (known("embedding"))
    out += row("width",
               concat(text_of(info["embedding"]), ", feed-forward ", text_of(info["feedForward"]),
                      info["experts"].is_null() ? std::string()
                                                : concat(", ", text_of(info["expertsUsed"]), " of ",
                                                         text_of(info["experts"]), " experts")));
  if (known("heads"))
    out += row("attention", concat(text_of(info["heads"]), " heads of ", text_of(info["headDim"]),
                                   ", ", text_of(info["kvHeads"]), " for keys and values"));
  if (known("contextLength")) out += row("trained context", text_of(info["contextLength"]));
  if (whole(info["vocab"]) > 0)
    out +=
        row("vocabulary",
            concat(text_of(info["vocab"]), " tokens, tokenizer ", text_of(tokenizer["model"], 20),
                   tokenizer["pre"].is_null() ? std::string()
                                              : concat(" (", text_of(tokenizer["pre"], 20), ")"),
                   ", BOS ", text_of(tokenizer["bos"]), ", EOS ", text_of(tokenizer["eos"])));
  if (!info.contains("sampling")) return out;
  std::string sampling;
  for (const auto& [name, value] : info["sampling"].items())
    sampling += concat(sampling.empty() ? "" : ", ", name, " ", text_of(value));
  out += row("sampling", sampling);
  return out;
}

std::string memory(const Json& info) {
  if (is_importance(info))
    return heading("An importance matrix, not a model") +
           "  It tells how large the inputs of a model's matrices are, column by column;\n"
           "  sluice quantize --imatrix uses it.\n";
  if (!info["supported"].get<bool>()) {
    const Json& error = info["error"];
    std::string out = heading("It can't be run here (" + text_of(error["code"]) + ")");
    for (const std::string& line : wrapped(text_of(error["message"], 400), kWidth - 2)) {
      out += "  " + line + "\n";
    }
    return out;
  }
  const Json& memory = info["memory"];
  // Of a model that writes no text there is no cache: a layer's keys and values go with it.
  const bool writes = std::ranges::find(info["makes"], "text") != info["makes"].end();
  std::string out =
      heading(writes ? concat("Memory to run it with a context of ", text_of(memory["contextSize"]),
                              " (KV cache in ", text_of(memory["kvType"]), ")")
                     : concat("Memory to run it with texts of up to ",
                              text_of(memory["plannedTokens"]), " tokens",
                              memory["plannedTokens"] == memory["contextSize"]
                                  ? std::string()
                                  : concat("; longer ones, up to ", text_of(memory["contextSize"]),
                                           ", take more")));
  const auto memory_row = [&](const std::string& name, uint64_t bytes, const std::string& remark,
                              bool at_least = false) {
    out += format("  %-18s %12s  %s", name.c_str(), human_bytes(bytes, at_least).c_str(),
                  remark.c_str());
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  };
  const uint64_t left_out = whole(memory["leftOutBytes"]);
  memory_row("weights", whole(memory["weights"]),
             left_out == 0
                 ? ""
                 : concat(human_bytes(left_out), " more stay in the file, read row by row"));
  memory_row("constant", whole(memory["constant"]), "code, stacks, the tokenizer's tables");
  memory_row("at the start", whole(memory["start"]), writes ? "held with an empty context" : "");
  // Of a model that writes no text several texts are computed at a time, if they are short.
  const uint64_t positions =
      std::max<uint64_t>(whole(memory["plannedTokens"]), writes ? 0 : kBatchTokens);
  const uint64_t chunks = (positions + kKvChunk - 1) / kKvChunk;
  const uint64_t chunk = whole(memory["kvChunk"]);
  const uint64_t bounded = whole(memory["kv"]) - chunks * chunk;
  memory_row(writes ? "KV cache" : "keys and values", chunks * chunk,
             concat("grows to this, ", human_bytes(chunk), " for each ", kKvChunk, " tokens"));
  if (bounded > 0) memory_row("windows, states", bounded, "at most, however long the text is");
  memory_row("activations", whole(memory["activations"]),
             writes ? "of the longest prompt" : "of the longest text");
  // Rounded up, so that a budget of the shown size is enough, and no size looks larger than the
  // budget.
  memory_row("at most", whole(memory["total"]), writes ? "with the context full" : "", true);
  const uint64_t least = whole(memory["least"]), budget = whole(memory["budget"]);
  const uint64_t reread = whole(memory["rereadBytes"]);
  memory_row("least budget", least,
             budget != 0 && budget < least ? "more than the budget: it can't be run"
                                           : "--memory-budget; then weights are read again",
             true);
  if (reread > 0) {
    memory_row("read again", reread,
               concat("for each token, under the budget of ", human_bytes(budget, true)));
  }
  return out;
}

std::string notes(const Json& info) {
  if (info["notes"].empty()) return "";
  std::string out = heading("Notes");
  for (const Json& note : info["notes"]) {
    for (const std::string& line : wrapped(text_of(note["message"], 400), kWidth - 2))
      out += "  " + line + "\n";
  }
  return out;
}

std::string types(const Json& info) {
  if (info["types"].empty()) return "";
  std::string out =
      heading("Types") + format("  %-18s %12s %9s %8s\n", "type", "bytes", "tensors", "share");
  const double all = static_cast<double>(std::max<uint64_t>(1, whole(info["dataBytes"])));
  std::vector<std::pair<std::string, Json>> sorted;
  for (const auto& [name, type] : info["types"].items()) sorted.emplace_back(name, type);
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    const uint64_t of_a = whole(a.second["bytes"]), of_b = whole(b.second["bytes"]);
    return of_a != of_b ? of_a > of_b : a.first < b.first;
  });
  for (const auto& [name, type] : sorted) {
    out += format("  %-18s %12s %9llu %7.1f%%\n", name.c_str(),
                  human_bytes(whole(type["bytes"])).c_str(),
                  static_cast<unsigned long long>(whole(type["tensors"])),
                  100 * static_cast<double>(whole(type["bytes"])) / all);
  }
  return out;
}

std::string shape_of(const Json& tensor) {
  std::string out;
  for (const Json& extent : tensor["shape"]) out += (out.empty() ? "" : " x ") + extent.dump();
  return out;
}

constexpr size_t kLargest = 5;  // tensors that are shown as the largest

std::string largest_tensors(const Json& info) {
  std::vector<const Json*> all;
  for (const Json& tensor : info["tensors"]) all.push_back(&tensor);
  if (all.size() <= kLargest) return "";
  std::ranges::sort(all, [](const Json* a, const Json* b) {
    const uint64_t of_a = whole((*a)["bytes"]), of_b = whole((*b)["bytes"]);
    return of_a != of_b ? of_a > of_b : a < b;  // they stand in one array
  });
  std::string out = heading("Largest tensors");
  for (const Json* tensor : std::span(all).first(kLargest)) {
    const std::string name = printable((*tensor)["name"].get<std::string>(), 60);
    out += format("  %-34s %-8s %18s %12s\n", name.c_str(), text_of((*tensor)["type"]).c_str(),
                  shape_of(*tensor).c_str(), human_bytes(whole((*tensor)["bytes"])).c_str());
  }
  return out;
}

std::string metadata_value(const Json& value, size_t width) {
  if (!value.is_object()) {
    return value.is_string() ? quoted_text(value.get<std::string>(), width - 5) : text_of(value);
  }
  std::string out = concat(text_of(value["count"]), " ", text_of(value["array"]), ": ");
  std::string separator;
  uint64_t shown = 0;
  for (const Json& element : value["first"]) {
    const std::string next = separator + text_of(element, 20);
    if (out.size() + next.size() + 5 > width) break;
    out += next;
    ++shown;
    separator = ", ";
  }
  if (separator.empty()) return out + (value["count"] == 0 ? "none" : "...");
  return value["count"] > shown ? out + ", ..." : out;
}

// " (Q4_K_M)" behind the number of general.file_type.
std::string file_type_remark(const std::string& key, const Json& value) {
  if (key != "general.file_type" || !value.is_number_unsigned()) return "";
  const std::string_view name = name_of_file_type(value.get<uint64_t>());
  return name.empty() ? "" : concat(" (", name, ")");
}

std::string metadata(const Json& info) {
  std::string out = heading(concat("Metadata (", info["metadata"].size(), ")"));
  for (const auto& [key, value] : info["metadata"].items()) {
    const std::string name = printable(key, 60);
    const size_t column = std::max<size_t>(40, name.size() + 1);
    out += row(name,
               metadata_value(value, std::max<size_t>(24, kWidth - 3 - column)) +
                   file_type_remark(key, value),
               static_cast<int>(column - 1));
  }
  return out;
}

std::string tensor_row(const std::string& name, const Json& tensor) {
  return format("    %-32s %-8s %18s %12s\n", name.c_str(), text_of(tensor["type"]).c_str(),
                shape_of(tensor).c_str(), human_bytes(whole(tensor["bytes"])).c_str());
}

// --- all of it -----------------------------------------------------------------------------------

std::string all_metadata(const Json& info) {
  std::string out = heading(concat("Metadata (", info["metadata"].size(), ")"));
  for (const auto& [key, value] : info["metadata"].items()) {
    out += concat("  ", printable(key, 200), "  ");
    if (!value.is_object()) {
      // A text with lines keeps them.
      const bool text = value.is_string();
      out += concat(text ? "\"" : "", text ? value.get<std::string>() : text_of(value),
                    text ? "\"" : file_type_remark(key, value), "\n");
      continue;
    }
    out += concat(text_of(value["count"]), " ", text_of(value["array"]), "\n");
    std::string line;
    const auto end_line = [&] {
      if (!line.empty()) out += concat("   ", line, "\n");
      line.clear();
    };
    for (const Json& element : value["first"]) {
      const std::string next =
          element.is_string() ? concat(" \"", printable(element.get<std::string>(), SIZE_MAX), "\"")
                              : concat(" ", text_of(element));
      if (line.size() + next.size() + 3 > kWidth) end_line();
      line += next;
    }
    end_line();
  }
  return out;
}

std::string all_tensors(const Json& info) {
  std::string out = heading(concat("Tensors (", info["tensors"].size(), ")"));
  out += format("  %-34s %-7s %18s %15s\n", "name", "type", "shape", "place in data");
  for (const Json& tensor : info["tensors"]) {
    out += format("  %-34s %-7s %18s %15llu\n",
                  printable(tensor["name"].get<std::string>(), 63).c_str(),
                  text_of(tensor["type"]).c_str(), shape_of(tensor).c_str(),
                  static_cast<unsigned long long>(whole(tensor["offset"])));
  }
  return out;
}

// The tensors of one layer ("blk.7.*"), or of no layer (-1), as rows of text.
struct Group {
  int64_t layer = -1;
  std::string rows;
  uint64_t bytes = 0;
};

// Returns N of "blk.N.name" and sets `name` to the rest; -1 for other names.
int64_t layer_of(const std::string& full, std::string& name) {
  name = full;
  if (!full.starts_with("blk.")) return -1;
  const size_t dot = full.find('.', 4);
  if (dot == std::string::npos || dot == 4 || dot > 10 ||
      !std::all_of(full.begin() + 4, full.begin() + static_cast<std::ptrdiff_t>(dot),
                   [](char c) { return c >= '0' && c <= '9'; })) {
    return -1;
  }
  name = full.substr(dot + 1);
  return std::stoll(full.substr(4, dot - 4));
}

std::vector<Group> group_tensors(const Json& tensors) {
  std::map<int64_t, Group> groups;
  for (const Json& tensor : tensors) {
    std::string name;
    const int64_t layer = layer_of(tensor["name"].get<std::string>(), name);
    Group& group = groups[layer];
    group.layer = layer;
    group.rows += tensor_row(printable(name, 60), tensor);
    group.bytes += whole(tensor["bytes"]);
  }
  std::vector<Group> out;
  for (auto& [layer, group] : groups) out.push_back(std::move(group));
  return out;
}

// Neighbouring layers with the same rows are shown once.
std::string tensors(const Json& info) {
  std::string out = heading(concat("Tensors (", info["tensors"].size(), ")"));
  const std::vector<Group> groups = group_tensors(info["tensors"]);
  for (size_t i = 0; i < groups.size();) {
    size_t end = i + 1;
    while (end < groups.size() && groups[i].layer >= 0 && groups[end].rows == groups[i].rows &&
           groups[end].layer == groups[end - 1].layer + 1) {
      ++end;
    }
    std::string title = "outside the layers";
    if (groups[i].layer >= 0 && end == i + 1) title = concat("layer ", groups[i].layer);
    if (end > i + 1) {
      title = concat("layers ", groups[i].layer, " to ", groups[end - 1].layer, ", each");
    }
    out += concat("  ", title, " (", human_bytes(groups[i].bytes), ")\n", groups[i].rows);
    i = end;
  }
  return out;
}

}  // namespace

std::string inspect_text(const std::string& path, const std::string& json, bool all) {
  const Json info = Json::parse(json, nullptr, false);
  const uint64_t files = whole(info["files"]);
  return concat(printable(path, 200), ": GGUF version ", text_of(info["version"]), ", ",
                human_bytes(whole(info["fileBytes"])),
                files > 1 ? concat(" in ", files, " files") : std::string(), "\n\n", overview(info),
                memory(info), notes(info), types(info), largest_tensors(info),
                all ? all_metadata(info) + all_tensors(info) : metadata(info) + tensors(info));
}

}  // namespace sluice::cli
