// The models that the program offers by name: web/app/public/models/shelf.json, which is built in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

struct ShelfFile {
  std::string type;     // Q4_K_M, ...
  std::string address;  // hf:OWNER/REPO:FILE[@REVISION]
  uint64_t bytes = 0;   // 0: unknown
  std::string sha256;   // "": unknown
  bool verified = false;
};

// Terms that bind whoever uses a model.
struct Terms {
  std::string address;
  std::string in_short;  // a sentence
};

// What no source confirmed is "", 0 or nothing.
struct ShelfModel {
  std::string id;  // the name to type
  std::string name;
  std::string good_for;
  std::string parameters;
  std::string family;      // general.architecture
  bool embedding = false;  // it makes vectors of texts, and writes none
  uint64_t context = 0;
  std::optional<bool> thinking;
  std::string licence;
  std::optional<Terms> terms;
  std::vector<ShelfFile> files;  // the first one is taken
};

// All of them, in the order in which they are shown.
const std::vector<ShelfModel>& shelf();

struct OnShelf {
  const ShelfModel* model;
  const ShelfFile* file;
};
// The file that NAME or NAME:TYPE means; nothing if the shelf has no such name. Case is
// ignored. Fails with invalid_argument if the model has no file of that type.
Result<std::optional<OnShelf>> find_on_shelf(std::string_view word);

}  // namespace sluice::cli
