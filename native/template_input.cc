#include "template_input.h"

#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/format.h"
#include "common.h"

namespace sluice::cli {

Result<jinja::RenderOptions> template_time() {
  jinja::RenderOptions time;
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH"); fixed != nullptr && *fixed != '\0') {
    char* end = nullptr;
    time.now = std::strtoll(fixed, &end, 10);
    if (*end == '\0') return time;
    return fail(Code::invalid_argument, "SOURCE_DATE_EPOCH is '", printable(fixed),
                "'; expected seconds since 1970");
  }
  const std::time_t now = std::time(nullptr);
  time.now = now;
  std::tm local = {};
  if (localtime_r(&now, &local) != nullptr)
    time.utc_offset_seconds = static_cast<int32_t>(local.tm_gmtoff);
  return time;
}

Result<std::string> contents_of(const std::string& file) { return read_text(file, "file"); }

}  // namespace sluice::cli
