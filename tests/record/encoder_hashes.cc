// encoder_hashes IDS FILE...    writes the hashes of encoders, a line for each file: of the vector
// of these ids (numbers and commas) and, if the model fills in masked words, of the last position's
// logits. tests/record/record_hashes.mjs records them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine.h"
#include "support/drive.h"

namespace sluice {
namespace {

Status run(const std::string& path, const std::vector<TokenId>& ids) {
  LoadOptions options;
  options.kernels = "generic";
  SLUICE_ASSIGN(const auto engine, Engine::open(path, options));
  SLUICE_TRY(engine->wait_ready());
  Session& session = engine->session();
  SLUICE_TRY(session.start_vectors({ids}, Pooling::none));
  SLUICE_TRY(drive_opened(*engine, session));
  std::fputs(logits_hash(session.vectors()).c_str(), stdout);
  if (engine->makes().masks) {
    SLUICE_TRY(session.start_logits(ids, 0));
    SLUICE_TRY(drive_opened(*engine, session));
    std::printf(" %s", logits_hash(session.logits()).c_str());
  }
  std::puts("");
  return {};
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<sluice::TokenId> ids;
  for (const char* at = argv[1]; *at != '\0';) {
    char* end = nullptr;
    ids.push_back(static_cast<sluice::TokenId>(std::strtol(at, &end, 10)));
    if (end == at) return 2;
    at = *end == ',' ? end + 1 : end;
  }
  for (int i = 2; i < argc; ++i) {
    const sluice::Status done = sluice::run(argv[i], ids);
    if (done.has_value()) continue;
    std::fprintf(stderr, "%s: %s\n", argv[i], done.error().message.c_str());
    return 1;
  }
  return 0;
}
