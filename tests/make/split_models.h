// Splits a model into several files, as llama.cpp's gguf-split does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gguf_builder.h"

namespace sluice {

// The files of a split model, for changes. The first has the metadata. Each gets about as many
// tensors, in their order in `file`; with `first_empty` the first gets none.
std::vector<GgufBuilder> split_builders(std::string_view file, size_t n_files,
                                        bool first_empty = false);
// The same files' bytes.
std::vector<std::string> split_model(std::string_view file, size_t n_files,
                                     bool first_empty = false);

// A split model's files end to end, as the engine sees them: each up to the end of its last tensor.
std::string joined(const std::vector<std::string>& files);
std::vector<uint64_t> sizes_of(const std::vector<std::string>& files);

// "model-00001-of-00003.gguf" for ("model", 0, 3).
std::string split_name(std::string_view name, size_t index, size_t n_files);

// Splits the model in the file at `path` into files beside it, NAME-0000I-of-0000N.gguf. Reads and
// writes a piece at a time. Returns false if that fails.
bool split_file(const std::string& path, size_t n_files, std::vector<std::string>& written);

}  // namespace sluice
