#include "app/terms.h"

#include <unistd.h>

#include <cerrno>

#include "app/diagnostics.h"
#include "app/output.h"
#include "app/private_file.h"
#include "app/shelf.h"
#include "app/text.h"
#include "base/format.h"
#include "pull/cache.h"
#include "pull/text.h"

namespace sluice::cli {
namespace {

constexpr size_t kMaxFile = 64 << 10;
constexpr size_t kMaxAnswer = 1000;  // bytes of a line that is typed

// The addresses of terms that were accepted, one a line; "" if none can be read.
std::string accepted_in(const std::string& path) {
  return read_whole_file(path, kMaxFile).value_or("");
}

// Reads one line, byte by byte: later input is for others.
std::string typed_line() {
  std::string line;
  for (char c = 0; line.size() < kMaxAnswer; line += c) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') break;
  }
  return line;
}

bool says_yes(const std::string& name, const Terms& terms) {
  std::string question = concat(name, ": ", terms.in_short);
  for (const std::string& line : wrapped(question, 78)) write_err(line + "\n");
  write_err(concat("The terms: ", terms.address, "\nAccept them? [y/N] "));
  const std::string answer = pull::lower(pull::trimmed(typed_line()));
  return answer == "y" || answer == "yes";
}

}  // namespace

Status accept_terms(const ModelSource& model, const pull::Settings& settings,
                    const pull::Located& located) {
  if (!model.offered || !model.offered->model->terms || located.kept_only) return {};
  const Terms& terms = *model.offered->model->terms;
  if (pull::is_cached(settings, located)) return {};
  const std::string path = settings.directory + "/accepted_terms";
  const std::string accepted = accepted_in(path);
  const std::string line = terms.address + "\n";
  if (concat("\n", accepted).find("\n" + line) != std::string::npos) return {};
  if (!model.download.accept_terms) {
    erase_status();
    const bool asks = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    if (!asks) {
      return fail(Code::invalid_argument, model.offered->model->name,
                  " has terms that bind whoever uses it, and nothing is downloaded before they are "
                  "accepted: ",
                  terms.in_short, " Read ", terms.address,
                  ", then give --accept-terms, or run this at a terminal");
    }
    if (!says_yes(model.offered->model->name, terms)) {
      return fail(Code::invalid_argument,
                  "the terms were not accepted, so nothing was downloaded; sluice models shows "
                  "models without such terms");
    }
  }
  SLUICE_TRY(pull::make_cache_directory(settings.directory));
  return write_private_file(path, accepted + line);
}

}  // namespace sluice::cli
