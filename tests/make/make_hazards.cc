// make_hazards DIR: writes the most telling malformed files, a good one, and index.json, which
// lists the malformed ones with the error that each must give:
// [{"file":"..","code":"..","says":".."}, ..]. The tests of the wasm module and of the page use
// them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gguf_builder.h"
#include "hazards.h"

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: make_hazards DIR\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream file(folder / name, std::ios::binary);
    file << bytes;
    if (!file.flush()) {
      std::fprintf(stderr, "can't write %s\n", (folder / name).c_str());
      std::exit(1);
    }
  };
  nlohmann::ordered_json index = nlohmann::ordered_json::array();
  for (const sluice::Hazard& hazard : sluice::all_hazards()) {
    if (!hazard.telling) continue;
    const std::string name = hazard.name + ".gguf";
    write(name, hazard.bytes);
    index.push_back(
        {{"file", name}, {"code", sluice::code_name(hazard.code)}, {"says", hazard.says}});
  }
  write("index.json", index.dump(1) + "\n");
  write("good.gguf", sluice::tiny_model().build());
  return 0;
}
