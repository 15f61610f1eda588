// make_models OUTDIR                            the tiny models of the tests, as files
// make_models OUTDIR --big SHAPE --type TYPE    a model of random weights in a real one's shape
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "tiny_models.h"

namespace {

int usage() {
  std::fputs(
      "usage: make_models OUTDIR [--big smollm2-135m|qwen3-0.6b|llama-3.2-1b --type Q4_0|Q8_0]\n",
      stderr);
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
  std::puts(path.c_str());
  return true;
}

int write_big(const std::string& dir, const std::string& shape, const std::string& type) {
  const sluice::TinyModel* found = sluice::big_model(shape);
  if (found == nullptr || (type != "Q4_0" && type != "Q8_0")) return usage();
  sluice::TinyModel model = *found;
  model.type = type == "Q4_0" ? sluice::Type::Q4_0 : sluice::Type::Q8_0;
  const std::string path = dir + "/" + shape + (type == "Q4_0" ? "-q4_0.gguf" : "-q8_0.gguf");
  return write_file(path, [&](std::FILE* out) { return write_big_model(model, out); }) ? 0 : 1;
}

int write_tiny(const std::string& dir) {
  for (const sluice::TinyModel& model : sluice::tiny_models()) {
    const std::string bytes = build_tiny_model(model);
    const bool written = write_file(dir + "/" + model.name + ".gguf", [&](std::FILE* out) {
      return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    });
    if (!written) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool big =
      argc == 6 && std::strcmp(argv[2], "--big") == 0 && std::strcmp(argv[4], "--type") == 0;
  if (argc != 2 && !big) return usage();
  if (std::strncmp(argv[1], "-", 1) == 0) return usage();
  std::error_code error;
  std::filesystem::create_directories(argv[1], error);
  return big ? write_big(argv[1], argv[3], argv[5]) : write_tiny(argv[1]);
}
