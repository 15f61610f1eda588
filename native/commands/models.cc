// sluice models: the models on the shelf, and how they would run on this device.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/arguments.h"
#include "app/device.h"
#include "app/diagnostics.h"
#include "app/downloads.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/kept_models.h"
#include "app/memory.h"
#include "app/output.h"
#include "app/shelf.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine/decode_rate.h"
#include "pull/address.h"
#include "pull/cache.h"
#include "pull/pull.h"
#include "quant/types.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kModelsFooter[] =
    R"(Small models that run here, by the names that every MODEL takes: sluice chat
NAME downloads one and keeps it; those that find passages are for sluice similar
and embed. NAME:TYPE takes another of its files. Nothing is fetched for the
list. "fits" is said of the memory that is free now; a model that doesn't fit
runs from the disk, which is slower. Speed is an estimate, of those that write:
from the last text of a large model here, or else from a measurement of a
second. How long a download takes is said after a first one. Where terms bind
whoever uses a model, they are shown before its download.

With --json each model is a line {"id","name","goodFor","parameters","context",
"thinking","licence","terms","type","types","address","bytes","sha256","fits",
"tokensPerSecond","downloadSeconds","cached"}; what isn't known is null. fits is
"whole" or "streamed", tokensPerSecond [from, to], terms {"address","short"},
cached "whole", "part" or "no". With --names it prints the names alone.

Examples:
  sluice models
  sluice chat smollm2-135m
  sluice pull qwen3-0.6b:Q8_0)";

constexpr double kMeasureSeconds = 0.2;           // each type
constexpr uint64_t kBesideWeights = 150'000'000;  // cache, scratch and code of a short chat

// The share of the measured rate that decoding reaches.
struct Shares {
  double least, most;
};
constexpr Shares kMeasured = {0.7, 1.3};
constexpr Shares kLearned = {0.75, 1.1};

// Memory, rates and cached models of this device.
struct Here {
  uint64_t budget = 0;  // bytes of memory; 0: unknown
  // Bytes of weights a second in decoding, of four bits and of eight; 0: unknown.
  double rate = 0, rate8 = 0;
  Shares shares = kMeasured;
  double download = 0;
  std::vector<Kept> kept;
  std::string hub;
};

// How a model would run here.
struct Outlook {
  enum class Fits : uint8_t { unknown, whole, streamed } fits = Fits::unknown;
  double slowest = 0, fastest = 0;  // tokens a second; 0: unknown
  double download = 0;              // seconds; 0: unknown, or nothing to download
  enum class Cached : uint8_t { no, part, whole } cached = Cached::no;
};

Result<Here> look_here() {
  SLUICE_ASSIGN(const pull::Settings settings, download_settings({}));
  Here here;
  here.hub = settings.client.hub;
  SLUICE_ASSIGN(here.kept, kept_models(settings.directory));
  const uint64_t available = available_memory();
  here.budget = default_budget(available);
  const DeviceRates learned = read_device(settings.directory);
  here.download = learned.download;
  if (learned.decode > 0) {
    here.rate = here.rate8 = learned.decode;
    here.shares = kLearned;
    return here;
  }
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  here.rate = decode_rate(Type::Q4_0, threads, kMeasureSeconds);
  here.rate8 = decode_rate(Type::Q8_0, threads, kMeasureSeconds);
  return here;
}

Outlook outlook_of(const ShelfModel& model, const Here& here) {
  const ShelfFile& file = model.files.front();
  Outlook out;
  if (const auto address = pull::parse_address(file.address, here.hub)) {
    for (const Kept& kept : here.kept) {
      if (kept.source != address->url) continue;
      out.cached = kept.complete() ? Outlook::Cached::whole : Outlook::Cached::part;
    }
  }
  if (file.bytes == 0) return out;
  const auto bytes = static_cast<double>(file.bytes);
  if (here.budget > 0) {
    const bool whole = file.bytes + file.bytes / 16 + kBesideWeights <= here.budget;
    out.fits = whole ? Outlook::Fits::whole : Outlook::Fits::streamed;
  }
  if (out.fits != Outlook::Fits::streamed && !model.embedding) {
    const double rate = file.type.starts_with("Q8") ? here.rate8 : here.rate;
    out.slowest = here.shares.least * rate / bytes;
    out.fastest = here.shares.most * rate / bytes;
  }
  if (out.cached != Outlook::Cached::whole && here.download > 0)
    out.download = bytes / here.download;
  return out;
}

// Rounded to two digits, as an estimate.
std::string rough(double rate) {
  if (rate < 10) return format("%.2g", rate);
  const double step = std::pow(10, std::floor(std::log10(rate)) - 1);
  return format("%.0f", std::round(rate / step) * step);
}

// The known facts in a few words, with commas between them.
std::string facts_of(const ShelfFile& file, const Outlook& out) {
  std::vector<std::string> facts;
  if (file.bytes > 0) facts.push_back((file.verified ? "" : "about ") + human_bytes(file.bytes));
  if (out.fits == Outlook::Fits::whole) facts.emplace_back("fits");
  if (out.fits == Outlook::Fits::streamed)
    facts.emplace_back("doesn't fit whole: runs from the disk, slower");
  if (out.fastest > 0)
    facts.push_back(concat(rough(out.slowest), " to ", rough(out.fastest), " tokens/s"));
  if (out.cached == Outlook::Cached::whole) facts.emplace_back("in the cache");
  if (out.cached == Outlook::Cached::part) facts.emplace_back("a part of it in the cache");
  if (out.download > 0) facts.push_back(concat("download ", human_duration(out.download)));
  std::string text;
  for (const std::string& fact : facts) text += concat(text.empty() ? "" : ", ", fact);
  return text;
}

std::string licence_of(const ShelfModel& model) {
  if (model.terms) return concat("terms: ", model.licence, ", ", model.terms->address);
  return model.licence.empty() ? "" : concat("licence: ", model.licence);
}

void print_text(const ShelfModel& model, const Outlook& out, size_t width) {
  std::string text = model.id + "\n";
  const ShelfFile& file = model.files.front();
  for (const std::string& about :
       {concat(model.name, ": ", model.good_for), facts_of(file, out), licence_of(model)}) {
    if (about.empty()) continue;
    for (const std::string& line : wrapped(about, width - 2)) text += concat("  ", line, "\n");
  }
  write_shown(text);
}

template <typename T>
Json or_null(const T& value) {
  return value == T() ? Json() : Json(value);
}

Json json_of(const ShelfModel& model, const Outlook& out) {
  const ShelfFile& file = model.files.front();
  Json terms, types = Json::array();
  if (model.terms) terms = {{"address", model.terms->address}, {"short", model.terms->in_short}};
  for (const ShelfFile& each : model.files) {
    if (std::find(types.begin(), types.end(), Json(each.type)) == types.end())
      types.push_back(each.type);
  }
  Json speed;
  if (out.fastest > 0) speed = {out.slowest, out.fastest};
  const char* const fits[] = {"", "whole", "streamed"};
  const char* const cached[] = {"no", "part", "whole"};
  return {{"id", model.id},
          {"name", model.name},
          {"goodFor", model.good_for},
          {"parameters", or_null(model.parameters)},
          {"context", or_null(model.context)},
          {"thinking", model.thinking ? Json(*model.thinking) : Json()},
          {"licence", or_null(model.licence)},
          {"terms", terms},
          {"type", file.type},
          {"types", types},
          {"address", file.address},
          {"bytes", file.verified ? or_null(file.bytes) : Json()},
          {"sha256", or_null(file.sha256)},
          {"fits", or_null(std::string(fits[static_cast<size_t>(out.fits)]))},
          {"tokensPerSecond", speed},
          {"downloadSeconds", or_null(out.download)},
          {"cached", cached[static_cast<size_t>(out.cached)]}};
}

void print_names() {
  for (const ShelfModel& model : shelf()) write_shown(model.id + "\n");
}

int models(bool json) {
  const auto here = look_here();
  if (!here) return report(here.error(), json);
  const size_t width = std::clamp<size_t>(terminal_columns(STDOUT_FILENO), 20, 80);
  for (const ShelfModel& model : shelf()) {
    const Outlook out = outlook_of(model, *here);
    if (json) {
      write_json(json_of(model, out).dump() + "\n");
    } else {
      print_text(model, out, width);
    }
  }
  if (json) return kDone;
  for (const char* about :
       {"sluice chat NAME talks with one.",
        "sluice similar NAME -p QUERY -f FILE finds lines, with one for finding passages."}) {
    for (const std::string& line : wrapped(about, width)) write_shown(line + "\n");
  }
  return kDone;
}

}  // namespace

void add_models(CLI::App& program, int& status) {
  auto json = std::make_shared<bool>(false);
  auto names = std::make_shared<bool>(false);
  CLI::App* app = add_command(program, "models", "models to begin with, by name", kModelsFooter,
                              Environment::cache);
  add_json(*app, *json, "one JSON object a line for each model");
  add_flag(*app, "--names", *names, "only the name of each, one a line");
  app->callback([json, names, &status] {
    if (*names) return print_names();
    status = models(*json);
  });
}

}  // namespace sluice::cli
