#include "commands/diff_text.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "app/text.h"
#include "base/format.h"
#include "commands/layer_names.h"
#include "files/quantize/quantize.h"
#include "files/value_text.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

std::string type_of(const TensorInfo& tensor) { return file_type(tensor.type).name; }

std::string extents_of(const TensorInfo& tensor) {
  std::string out;
  for (uint32_t i = 0; i < tensor.n_dims; ++i)
    out += concat(out.empty() ? "" : " x ", tensor.dims[i]);
  return out.empty() ? "one number" : out;
}

// What stands at the first difference of two values, or all of them.
std::string side_text(const FieldDifference& each, const MetadataValue* value, size_t width) {
  if (each.key == "general.file_type" && !value->is_array()) {
    const auto number = value->as_u64(0);
    const std::string_view type = number ? name_of_file_type(*number) : "";
    if (!type.empty()) return concat(*number, " (", type, ")");
  }
  if (!each.first) return value_text(*value, width);
  if (!value->is_array()) {
    constexpr size_t kBefore = 12;  // bytes that show where it is
    return element_text(*value, 0, width,
                        *each.first > kBefore ? static_cast<size_t>(*each.first) - kBefore : 0);
  }
  if (*each.first >= value->count) return concat("ends after ", value->count);
  return element_text(*value, *each.first, width);
}

std::string field_text(const FieldDifference& each, size_t width) {
  const size_t column = width - 15;  // quotes, dots on both sides, and the letter in front
  std::string out = concat("  ", printable(each.key, width - 2));
  if (each.a != nullptr && each.b != nullptr && each.first) {
    out += each.a->is_array() ? concat(", from element ", *each.first, " on") : std::string();
  }
  if (each.a != nullptr && each.b != nullptr &&
      (each.a->type != each.b->type || each.a->element != each.b->element))
    out += ", of another type";
  out += "\n";
  if (each.a != nullptr) out += concat("    A  ", side_text(each, each.a, column), "\n");
  if (each.b != nullptr) out += concat("    B  ", side_text(each, each.b, column), "\n");
  return out;
}

std::string types_of(const TensorDifference& each) {
  return each.a->type == each.b->type ? type_of(*each.a)
                                      : concat(type_of(*each.a), ">", type_of(*each.b));
}

// What is said of a tensor in place of figures; "" if it has some.
std::string remark_on(const TensorDifference& each) {
  switch (each.kind) {
    case TensorDifference::Kind::only_a:
      return concat("only in A: ", type_of(*each.a), ", ", extents_of(*each.a));
    case TensorDifference::Kind::only_b:
      return concat("only in B: ", type_of(*each.b), ", ", extents_of(*each.b));
    case TensorDifference::Kind::shape:
      return concat("shape ", extents_of(*each.a), " -> ", extents_of(*each.b));
    case TensorDifference::Kind::values:
      break;
  }
  return each.error ? "" : concat(types_of(each), ", not computed; other bytes");
}

// Errors of several tensors. Figures of one with numbers that aren't finite say nothing.
struct Errors {
  uint64_t n = 0;  // tensors with a relative error
  uint64_t n_not_finite = 0;
  double sum = 0, worst = 0;  // of relative errors
  double largest = 0;         // difference of two numbers
  double angle = 0;           // 1 - cosine, the largest
  const TensorInfo* worst_tensor = nullptr;

  void add(const TensorDifference& each) {
    const TensorError& error = *each.error;
    n_not_finite += error.n_not_finite;
    if (error.n_not_finite > 0) return;
    largest = std::max(largest, error.largest_difference);
    if (const auto cosine = error.cosine()) angle = std::max(angle, 1 - *cosine);
    const auto relative = error.relative();
    if (!relative) return;
    if (n++ == 0 || *relative > worst) {
      worst = *relative;
      worst_tensor = each.a;
    }
    sum += *relative;
  }
  std::string shown(const char* pattern, double value) const {
    if (n_not_finite > 0) return "nan";
    return n == 0 ? "-" : figure(pattern, value);
  }
  std::string mean() const { return shown("%.5f", n == 0 ? 0 : sum / static_cast<double>(n)); }
  // The end of a row: the largest difference, the angle, and what isn't finite.
  std::string rest() const {
    return concat(
        format("%9s %10s", n_not_finite > 0 ? "nan" : figure("%.3g", largest).c_str(),
               shown("%.2e", angle).c_str()),
        n_not_finite > 0 ? concat("\n      ", n_not_finite, " numbers are not finite") : "", "\n");
  }

 private:
  static std::string figure(const char* pattern, double value) {
    char out[64];
    std::snprintf(out, sizeof out, pattern, value);
    return out;
  }
};

std::string name_cell(const std::string& name, size_t width) {
  return format("%-*s", static_cast<int>(width),
                printable(name, name.size() > width ? width - 3 : width).c_str());
}

// A row for each tensor.
std::string tensors_text(const Difference& difference, size_t width) {
  const size_t names = std::clamp<size_t>(width < 52 ? 0 : width - 52, 26, 63);
  std::string others, rows;
  for (const TensorDifference& each : difference.tensors.different) {
    const TensorInfo& tensor = each.a != nullptr ? *each.a : *each.b;
    const std::string name = concat("  ", name_cell(tensor.name, names), " ");
    if (const std::string remark = remark_on(each); !remark.empty()) {
      others += concat(name, remark, "\n");
      continue;
    }
    Errors errors;
    errors.add(each);
    rows += concat(name, format("%-13s %11s ", types_of(each).c_str(), errors.mean().c_str()),
                   errors.rest());
  }
  if (rows.empty()) return others;
  return concat(others,
                format("  %-*s %-13s %11s %9s %10s\n", static_cast<int>(names), "tensor", "type",
                       "rel. error", "max |A-B|", "1 - cosine"),
                rows);
}

// The tensors of one kind ("attn_q.weight" of all layers) with the same types or the same remark.
struct TensorGroup {
  std::string kind, name, types, remark;
  uint64_t tensors = 0;
  std::vector<uint64_t> layers;
  Errors errors;
};

// In the order in which their kinds are met.
std::vector<TensorGroup> grouped_tensors(const Difference& difference) {
  std::map<std::string, size_t> kinds;
  std::map<std::tuple<size_t, std::string, std::string>, TensorGroup> found;
  for (const TensorDifference& each : difference.tensors.different) {
    const TensorInfo& tensor = each.a != nullptr ? *each.a : *each.b;
    std::string kind = tensor.name;
    const auto layer = take_layer(kind);
    const std::string key = concat(layer ? "blk." : "", kind);
    const size_t place = kinds.try_emplace(key, kinds.size()).first->second;
    const std::string remark = remark_on(each);
    const std::string types = remark.empty() ? types_of(each) : std::string();
    TensorGroup& group = found[{place, types, remark}];
    group.kind = key;
    group.types = types;
    group.remark = remark;
    group.name = ++group.tensors == 1 ? tensor.name : kind;
    if (layer) group.layers.push_back(*layer);
    if (remark.empty()) group.errors.add(each);
  }
  std::vector<TensorGroup> out;
  for (auto& [key, group] : found) {
    std::ranges::sort(group.layers);
    out.push_back(std::move(group));
  }
  return out;
}

// A row for each group; layers are told where a kind has several rows.
std::string groups_text(const Difference& difference, size_t width) {
  const size_t names = std::clamp<size_t>(width < 60 ? 0 : width - 60, 19, 63);
  const auto column = static_cast<int>(names);
  const std::vector<TensorGroup> groups = grouped_tensors(difference);
  std::string out;
  bool head = false;
  for (size_t i = 0; i < groups.size(); ++i) {
    const TensorGroup& group = groups[i];
    const std::string begin =
        concat("  ", name_cell(group.name, names),
               format(" %4llu ", static_cast<unsigned long long>(group.tensors)));
    if (!group.remark.empty()) {
      out += concat(begin, group.remark, "\n");
    } else {
      if (!head)
        out += format("  %-*s %4s %-11s %9s %9s %9s %10s\n", column, "tensors", "", "type",
                      "mean err.", "worst", "max |A-B|", "1 - cosine");
      head = true;
      out += concat(begin,
                    format("%-11s %9s %9s ", group.types.c_str(), group.errors.mean().c_str(),
                           group.errors.shown("%.5f", group.errors.worst).c_str()),
                    group.errors.rest());
    }
    const bool only = (i == 0 || groups[i - 1].kind != group.kind) &&
                      (i + 1 == groups.size() || groups[i + 1].kind != group.kind);
    if (group.tensors > 1 && !group.layers.empty() && !only) out += layers_text(group.layers);
  }
  return out;
}

// How many tensors differ in what, and the relative errors by type.
std::string summary_text(const Difference& difference) {
  uint64_t type = 0, same_type = 0, shape = 0, one = 0;
  std::map<std::string, Errors> by_type;
  Errors all;
  for (const TensorDifference& each : difference.tensors.different) {
    if (each.kind == TensorDifference::Kind::values)
      ++(each.a->type == each.b->type ? same_type : type);
    else
      ++(each.kind == TensorDifference::Kind::shape ? shape : one);
    if (!each.error) continue;
    by_type[types_of(each)].add(each);
    all.add(each);
  }
  std::string out = "\nSummary: " + counted(difference.tensors.n_equal, "tensor") + " equal";
  const auto part = [&out](uint64_t n, std::string_view what) {
    if (n > 0) out += concat(", ", n, what);
  };
  part(type, " of another type");
  part(same_type, " with other numbers");
  part(shape, " of another shape");
  part(one, " in one file only");
  out += "\n";
  if (all.n == 0) return out;
  out += format("  %-13s %7s %11s %11s  %s\n", "relative error", "tensors", "mean", "worst", "of");
  const auto row = [&](const std::string& name, const Errors& errors) {
    if (errors.n == 0) return;
    out += format("  %-14s %7llu %11.5f %11.5f  %s\n", name.c_str(),
                  static_cast<unsigned long long>(errors.n),
                  errors.sum / static_cast<double>(errors.n), errors.worst,
                  printable(errors.worst_tensor->name, 27).c_str());
  };
  for (const auto& [name, errors] : by_type) row(name, errors);
  if (by_type.size() > 1) row("all", all);
  if (all.n_not_finite > 0) out += "  without the tensors that have numbers that are not finite\n";
  return out;
}

std::string count_line(std::string_view what, uint64_t different, uint64_t equal) {
  return concat(what, ": ", different, different == 1 ? " differs, " : " differ, ", equal,
                equal == 1 ? " is equal\n" : " are equal\n");
}

}  // namespace

uint64_t Difference::n_equal_fields() const {
  const auto of_a = std::ranges::count_if(
      a.metadata, [](const auto& field) { return !is_layout_key(field.first); });
  const auto different =
      std::ranges::count_if(fields, [](const FieldDifference& each) { return each.a != nullptr; });
  return static_cast<uint64_t>(of_a - different);
}

std::string diff_text(const DiffReport& report, size_t width) {
  const Difference& difference = report.difference;
  std::string out = concat("A  ", printable(report.a, kMaxShownPath), "\nB  ",
                           printable(report.b, kMaxShownPath), "\n\n");
  out += count_line("Fields", difference.fields.size(), difference.n_equal_fields());
  for (const FieldDifference& each : difference.fields) out += field_text(each, width);
  if (report.all) {
    for (const auto& [key, value] : difference.a.metadata) {
      if (!is_layout_key(key) &&
          std::ranges::none_of(difference.fields,
                               [&](const FieldDifference& each) { return each.key == key; }))
        out += concat("  = ", printable(key, width - 4), "\n");
    }
  }
  out +=
      "\n" + count_line("Tensors", difference.tensors.different.size(), difference.tensors.n_equal);
  out += report.all ? tensors_text(difference, width) : groups_text(difference, width);
  if (report.all) {
    std::vector<std::string_view> names;
    for (const TensorDifference& each : difference.tensors.different)
      if (each.a != nullptr) names.push_back(each.a->name);
    std::ranges::sort(names);
    for (const TensorInfo& tensor : difference.a.tensors) {
      if (!std::ranges::binary_search(names, std::string_view(tensor.name)))
        out += concat("  = ", printable(tensor.name), "\n");
    }
  }
  if (!difference.tensors.different.empty()) out += summary_text(difference);
  return out;
}

}  // namespace sluice::cli
