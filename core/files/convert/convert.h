// A Hugging Face folder as a GGUF file.
#pragma once  // face

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads.h"
#include "files/convert/folder.h"
#include "files/files.h"
#include "gguf/gguf.h"
#include "quant/types.h"

namespace sluice {

struct ConvertOptions {
  // F32, F16, BF16 or Q8_0. Nothing: that of the weights if they are F16 or BF16, else F16.
  std::optional<Type> type;
  std::string name;  // general.name; "": made of the folder's name
};

// The type of this name, in any case; nothing for "auto". Fails with invalid_argument for others.
Result<std::optional<Type>> convert_type_named(const std::string& name);

// What a conversion will write.
class ConversionPlan {
 public:
  ConversionPlan(ConversionPlan&&) noexcept;
  ConversionPlan& operator=(ConversionPlan&&) noexcept;
  ~ConversionPlan();

  const Gguf& header() const;                       // its tensors are placed
  Type type() const;                                // of the matrices
  const std::string& class_name() const;            // "LlamaForCausalLM"
  const std::vector<std::string>& remarks() const;  // what a user should know of the result
  const Notes& notes() const;                       // of the vocabulary

 private:
  friend Result<ConversionPlan> plan_conversion(Folder& folder, const ConvertOptions& options);
  friend Status convert(const ConversionPlan& plan, Pool& pool, ByteSink& sink,
                        const OnFileProgress& progress);
  struct State;
  explicit ConversionPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Reads only config.json: whether its class is one that is converted. For a folder whose weights
// are still to be downloaded. Fails as plan_conversion() does.
Status check_convertible(Folder& folder);

// Reads the folder's config, vocabulary and the headers of its weights, and checks all of them
// against each other. Fails with bad_file if something is missing or damaged, with
// unsupported_model or unsupported_type for what can't be converted or computed here. Nothing is
// guessed: a class, key of the config or tensor that isn't known is refused by name.
Result<ConversionPlan> plan_conversion(Folder& folder, const ConvertOptions& options);

// Writes the file: its header, then the tensors, made by all threads of the pool in pieces, in at
// most about 200 MB of memory. Fails as reading and the sink do, with bad_file for weights that are
// no finite numbers, and with aborted if `progress` says so.
Status convert(const ConversionPlan& plan, Pool& pool, ByteSink& sink,
               const OnFileProgress& progress);

}  // namespace sluice
