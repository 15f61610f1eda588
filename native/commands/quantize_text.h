// What sluice quantize prints of a plan.
#pragma once

#include <cstdint>
#include <string>

#include "files/quantize/quantize.h"
#include "gguf/gguf.h"

namespace sluice::cli {

// All of it is the caller's.
struct QuantizeReport {
  const std::string& model;
  const Gguf& source;
  const QuantizePlan& plan;
  const QuantizeOptions& options;
  uint64_t bytes_before = 0;  // of the source's files
  std::string written = {};   // the new file, of several the first; "": nothing was written
  bool runs = false;          // Sluice runs the new file
};

// A table for people in 80 columns: the types by kind of tensor, and what was written.
std::string quantize_text(const QuantizeReport& report);
// {"file","type","fileType","bytesBefore","bytesAfter","importanceTensors","tensors":[{"name",
// "from","to","bytes","insteadOf"}]}: no file if nothing was written, no importanceTensors without
// an importance matrix, insteadOf only where another type's blocks don't divide the rows.
std::string quantize_json(const QuantizeReport& report);

}  // namespace sluice::cli
