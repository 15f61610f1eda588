// make_models OUTDIR                            writes the tests' tiny models
// make_models OUTDIR --big SHAPE --type TYPE    writes random weights in the shape of a real model
// With --reverse behind it, the last tensor comes first, and the files are named
// NAME-reversed.gguf. With --split N, each model is written in N files, NAME-0000I-of-0000N.gguf.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "split_models.h"
#include "tiny_models.h"

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: make_models OUTDIR [--big SHAPE --type TYPE] [--reverse] [--split N]\n"
               "SHAPE: smollm2-135m, qwen3-0.6b, llama-3.2-1b, llama-3.1-8b, lfm2-350m,\n"
               "gemma-3-1b, embeddinggemma-300m, gemma4-e2b, gemma4-inputs, qwen3.5-0.8b or\n"
               "qwen3-30b-a3b-6-layers\n"
               "TYPE: %s or Q4_K_M\n"
               "N: 1 to 999 files for each model\n",
               sluice::computed_type_names().c_str());
  return 2;
}

template <typename Write>
bool write_file(const std::string& path, Write write) {
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) {
    std::perror(path.c_str());
    return false;
  }
  const bool written = write(out);
  if (std::fclose(out) != 0 || !written) {
    std::perror(path.c_str());
    return false;
  }
  return true;
}

// Splits the file into n_files, unless that is 0, and says what was written.
bool finish(const std::string& path, size_t n_files) {
  if (n_files == 0) {
    std::puts(path.c_str());
    return true;
  }
  std::vector<std::string> written;
  if (!sluice::split_file(path, n_files, written)) {
    std::perror(path.c_str());
    return false;
  }
  std::filesystem::remove(path);
  for (const std::string& part : written) std::puts(part.c_str());
  return true;
}

const sluice::TypeTraits* traits_named(const std::string& name) {
  const auto* const found = std::ranges::find(sluice::kTypes, name, &sluice::TypeTraits::name);
  return found != std::end(sluice::kTypes) && found->computed ? found : nullptr;
}

struct How {
  bool reversed = false;
  size_t n_files = 0;  // 0: one, with its own name
};

std::string file_name(const std::string& name, const How& how) {
  return name + (how.reversed ? "-reversed" : "") + ".gguf";
}

int write_big(const std::string& dir, const std::string& shape, const std::string& type, How how) {
  const sluice::TinyModel* found = sluice::big_model(shape);
  if (found == nullptr) return usage();
  sluice::TinyModel model = *found;
  model.k_m = type == "Q4_K_M";
  const sluice::TypeTraits* traits = traits_named(model.k_m ? "Q4_K" : type);
  if (traits == nullptr) return usage();
  model.type = traits->type;
  model.reversed = how.reversed;
  const std::string path = dir + "/" + file_name(shape + "-" + sluice::lower_case(type), how);
  const bool written =
      write_file(path, [&](std::FILE* out) { return write_big_model(model, out); });
  return written && finish(path, how.n_files) ? 0 : 1;
}

int write_tiny(const std::string& dir, How how) {
  std::vector<sluice::TinyModel> models = sluice::tiny_models();
  models.insert(models.end(), sluice::tiny_encoders().begin(), sluice::tiny_encoders().end());
  for (sluice::TinyModel model : models) {
    model.reversed = how.reversed;
    const std::string bytes = build_tiny_model(model);
    const std::string path = dir + "/" + file_name(model.name, how);
    const bool written = write_file(path, [&](std::FILE* out) {
      return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    });
    if (!written || !finish(path, how.n_files)) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  How how;
  if (argc > 3 && std::strcmp(argv[argc - 2], "--split") == 0) {
    how.n_files = std::strtoul(argv[argc - 1], nullptr, 10);
    if (how.n_files < 1 || how.n_files > 999) return usage();
    argc -= 2;
  }
  if (argc > 2 && std::strcmp(argv[argc - 1], "--reverse") == 0) {
    how.reversed = true;
    --argc;
  }
  const bool big =
      argc == 6 && std::strcmp(argv[2], "--big") == 0 && std::strcmp(argv[4], "--type") == 0;
  if (argc != 2 && !big) return usage();
  if (std::strncmp(argv[1], "-", 1) == 0) return usage();
  std::error_code error;
  std::filesystem::create_directories(argv[1], error);
  return big ? write_big(argv[1], argv[3], argv[5], how) : write_tiny(argv[1], how);
}
