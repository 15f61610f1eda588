// The commands of the program, a file each.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice::cli {

// Each adds one command, which writes its exit status to `status`.
void add_run(CLI::App& program, int& status);
void add_replay(CLI::App& program, int& status);
void add_chat(CLI::App& program, int& status);
void add_convert(CLI::App& program, int& status);
void add_inspect(CLI::App& program, int& status);
void add_tokenize(CLI::App& program, int& status);
void add_detokenize(CLI::App& program, int& status);
void add_template(CLI::App& program, int& status);
void add_logits(CLI::App& program, int& status);
void add_embed(CLI::App& program, int& status);
void add_similar(CLI::App& program, int& status);
void add_probe(CLI::App& program, int& status);
void add_fill_mask(CLI::App& program, int& status);
void add_imatrix(CLI::App& program, int& status);
void add_quantize(CLI::App& program, int& status);
void add_bench(CLI::App& program, int& status);
void add_edit(CLI::App& program, int& status);
void add_diff(CLI::App& program, int& status);
void add_pull(CLI::App& program, int& status);
void add_cache(CLI::App& program, int& status);
void add_models(CLI::App& program, int& status);
void add_completion(CLI::App& program, int& status);
void add_manual(CLI::App& program, int& status);

}  // namespace sluice::cli
