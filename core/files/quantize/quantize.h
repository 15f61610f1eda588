// Quantizes whole models, byte for byte as llama-quantize b11669 does: which type each tensor gets
// (mixes.h), the header, and the file.
#pragma once  // face

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "files/files.h"
#include "files/importance.h"
#include "gguf/gguf.h"
#include "quant/types.h"

namespace sluice {

// Tensors in whose names this pattern is found (name_pattern.h) get this type, and not the mix's.
struct TensorTypeRule {
  std::string pattern;  // its capitals count as small letters
  Type type = Type::F32;
};
// Reads PATTERN=TYPE. Fails with invalid_argument.
Result<TensorTypeRule> parse_tensor_type(std::string_view text);

struct QuantizeOptions {
  std::string type = {};  // "Q8_0", "Q4_K_M"; capitals or not
  // How large the inputs of each matrix are; null: unknown. It must outlive the plan.
  const Importance* importance = nullptr;
  std::string importance_file = {};  // its name, which the new file tells
  std::vector<TensorTypeRule> tensor_types =
      {};                         // the first that fits counts; F32, F16 and BF16 refuse them
  bool pure = false;              // all get the type itself, and not those of its mix
  bool leave_output = false;      // output.weight stays as it is
  bool allow_requantize = false;  // of tensors that are quantized already
  bool keep_split = false;        // as many files as the source has
};

struct QuantizePlan {
  struct Tensor {
    size_t source = 0;  // its index among the source's tensors
    size_t file = 0;    // the new file that has it
    Type from = Type::F32, to = Type::F32;
    // The type that it would have got if its rows were a multiple of that type's block.
    std::optional<Type> instead_of = std::nullopt;
    bool needs_importance = false;  // without it the type is of no use
  };

  std::string type;             // the mix's name: "Q4_K_M" also if Q4_K was asked for
  uint32_t file_type = 0;       // general.file_type
  std::vector<Gguf> files;      // the headers of the new files, with their tensors placed
  std::vector<Tensor> tensors;  // of all files, in their order

  uint64_t bytes() const;  // of all files
};

// Any type that has a name can be planned. Fails with invalid_argument if a name isn't known, or if
// a pattern is wrong, fits no tensor or only tensors that stay as they are; with unsupported_type
// if a tensor's rows can't have the type and no other takes its place, or with bad_file if the
// source's tensors don't belong to its layers.
Result<QuantizePlan> plan_quantization(const Gguf& source, const QuantizeOptions& options);

// Whether the plan can be carried out. Fails with unsupported_type, if there is no quantizer for a
// type, or with invalid_argument: a tensor is quantized already, or needs an importance matrix; or
// with bad_file if the importance matrix belongs to another model.
Status check_quantization(const Gguf& source, const QuantizePlan& plan,
                          const QuantizeOptions& options);

// Writes the new files, one to each sink. `header` is the source's. A piece at a time is read,
// rounded and written, by all workers of the pool; it takes under 150 MB however large the model
// is, besides the importance. Fails as check_quantization() does, with bad_file if the source can't
// be read or has values that are no finite numbers, as the sinks fail, or with `aborted`.
Status quantize(ByteSource& source, const Gguf& header, const QuantizePlan& plan,
                const QuantizeOptions& options, Pool& pool, std::span<ByteSink* const> sinks,
                const OnFileProgress& on_progress);

// The names of the types that can be written: "F32, F16, ..". Others can only be planned.
std::vector<std::string> quantize_types();
// The same as a text.
std::string quantize_type_names();
// Whether plan_quantization() knows the name.
bool is_quantize_type(std::string_view name);
// The type's name for a value of general.file_type: "Q4_K_M" of 15. "" if there is none.
std::string_view name_of_file_type(uint64_t file_type);

}  // namespace sluice
