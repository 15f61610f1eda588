// Fuzzes the JSON of options and events. The core's parser takes what nlohmann-json takes. Options
// from any bytes are parsed or refused with invalid_argument, and events with any text are written
// as valid JSON.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "api/json.h"
#include "base/parse_json.h"
#include "options/rows.h"

namespace {

using namespace sluice;
using Json = nlohmann::ordered_json;

void require(bool condition) {
  if (!condition) std::abort();
}

Json written(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  require(json.is_object());
  require(text.find('\n') == std::string::npos);
  return json;
}

struct TakesAll final : JsonReceiver {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool negative_integer(int64_t) override { return true; }
  bool integer(uint64_t) override { return true; }
  bool number(double) override { return true; }
  bool string(std::string) override { return true; }
  bool start_object() override { return true; }
  bool key(std::string) override { return true; }
  bool end_object() override { return true; }
  bool start_array() override { return true; }
  bool end_array() override { return true; }
};

void compare_parsers(std::string_view text) {
  // nlohmann-json takes a byte 0 as the end of the text.
  if (text.find('\0') != std::string_view::npos) return;
  TakesAll takes_all;
  require(parse_json(text, takes_all) == Json::accept(text));
}

void read_options(std::string_view text) {
  if (const auto load = load_options_from_json(text)) {
    require(load->threads >= 0 && load->threads <= 64 && load->context_size <= 1u << 20);
  } else {
    require(load.error().code == Code::invalid_argument);
    written(error_json(load.error()));
  }
  if (const auto generate = generate_options_from_json(text)) {
    require(check_options(*generate).has_value());
    require(generate->max_tokens >= -1 && generate->top_logprobs <= 100);
    for (const std::string& stop : generate->stop) require(!stop.empty());
  } else {
    require(generate.error().code == Code::invalid_argument);
    written(error_json(generate.error()));
  }
}

void check_events(std::string_view text) {
  Event event;
  event.kind = Event::Kind::token;
  event.text = text;
  if (text.size() >= 8) {
    std::memcpy(&event.id, text.data(), 4);
    std::memcpy(&event.logprob, text.data() + 4, 4);
    event.top = {{event.id, event.logprob}};
  }
  Stats stats;
  stats.kernels = text;
  const Json token = written(event_json(event, stats));
  require(token["event"] == "token" && token["text"].is_string());
  require(token["id"] == event.id);
  event.kind = Event::Kind::done;
  const Json done = written(event_json(event, stats));
  require(done["stats"]["kernels"].is_string());
  require(written(error_json({Code::bad_file, std::string(text)}))["message"].is_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  compare_parsers(text);
  read_options(text);
  check_events(text);
  return 0;
}
