// config.json of a Hugging Face folder, read key by key. All that is wrong is kept: the first
// problem is status(). At the end finish() refuses keys that nobody asked for, unless they are
// known to change nothing about a model's results: what a config says is never ignored unread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/result.h"

namespace sluice {

class HfConfig {
 public:
  using Names = std::initializer_list<std::string_view>;  // the first one that is there counts
  static constexpr uint64_t kMostLayers = 512;
  static constexpr uint64_t kMostWidth = 1 << 24;
  static constexpr uint64_t kMostContext = 1 << 30;

  // The text of config.json. The object text_config is laid over the others. Fails with bad_file.
  static Result<HfConfig> parse(std::string_view text);

  // architectures[0], of text_config if that has one. Fails with bad_file if there is none.
  Result<std::string> class_name() const;

  // Whether a key is there and not null.
  bool has(std::string_view name) const;
  // The value, or null if there is none.
  const nlohmann::json* find(Names names);
  // A whole number from 1 to `most`. Without `fallback` it must be there.
  uint64_t integer(Names names, uint64_t most = kMostWidth, std::optional<uint64_t> fallback = {});
  // The same, but 0 may be.
  uint64_t integer_or_0(Names names, uint64_t most, uint64_t fallback);
  // A finite number.
  std::optional<double> number(Names names);
  double number(Names names, double fallback) { return number(names).value_or(fallback); }
  bool flag(std::string_view name, bool fallback);
  std::string text(Names names, std::string_view fallback);
  // An array of `n` texts; empty if there is none.
  std::vector<std::string> texts(std::string_view name, uint64_t n);

  // Refuses the model unless the text is one of `allowed`; if it isn't there, it is.
  void must_be(Names names, Names allowed);
  // Refuses the model unless the flag has this value; if it isn't there, it has.
  void must_be_flag(std::string_view name, bool value);
  // Refuses the model if the key is there with anything but null, false, 0, 0.0, "", {} or [].
  void must_be_unset(std::string_view name);
  // These keys change no result in this family.
  void ignore(Names names);

  // Sets the status, unless there is a problem already. `what`: "num_heads is 0".
  template <typename... Parts>
  void refuse(Code code, const Parts&... parts) {
    if (status_) status_ = fail(code, parts...);
  }
  // The model can't be expressed: unsupported_model, with the key and its value.
  void cannot_express(std::string_view name, std::string_view value);
  const Status& status() const { return status_; }
  // The status; unsupported_model for a key that nobody knows.
  Status finish();

  // Of a value within an object: number() and integer() of rope_parameters and the like.
  std::optional<double> number_in(const nlohmann::json& object, std::string_view name);

 private:
  nlohmann::json merged_;
  std::string class_;
  std::set<std::string, std::less<>> known_;
  Status status_;
};

}  // namespace sluice
