// What the tests of families do with models that they make: build them, and look at the rows of a
// pass.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "make/gguf_builder.h"
#include "models/registry.h"
#include "pass/model.h"
#include "pass/observer.h"

namespace sluice {

// The model of a file's header, without weights. If it is refused, the test fails and the result is
// null.
inline std::unique_ptr<Model> model_of(const GgufBuilder& file, const Cut& cut = {}) {
  const auto header = parse_gguf(as_bytes(file.build()));
  if (!header.has_value()) return nullptr;
  auto model = make_model(*header, cut);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.has_value() ? std::move(*model) : nullptr;
}

// The rows that matrices are multiplied by, by tensor and position.
class Inputs final : public Observer {
 public:
  Points points(int64_t) const override { return {.linear_input = true}; }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override {
    for (int64_t i = 0; i < rows.n_tokens; ++i) {
      const auto row = rows.row(i);
      kept_[{std::string(matrix.tensor), rows.position(i)}].assign(row.begin(), row.end());
    }
  }
  void visit(const PointRows<float>&) override {}
  const std::vector<float>& at(const std::string& tensor, int64_t position) const {
    return kept_.at({tensor, position});
  }

 private:
  std::map<std::pair<std::string, int64_t>, std::vector<float>> kept_;
};

}  // namespace sluice
