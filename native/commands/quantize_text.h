// What sluice quantize prints of a plan.
#pragma once

#include <cstdint>
#include <string>

#include "files/quantize/quantize.h"
#include "gguf/gguf.h"

namespace sluice::cli {

// A table for people in 80 columns: the types by kind of tensor. `bytes_before`: of the source's
// files.
std::string quantize_text(const std::string& model, const Gguf& source, const QuantizePlan& plan,
                          uint64_t bytes_before);
// {"type","fileType","bytesBefore","bytesAfter","tensors":[{"name","from","to","bytes"}]}
std::string quantize_json(const Gguf& source, const QuantizePlan& plan, uint64_t bytes_before);

}  // namespace sluice::cli
