// Engines of which a test says what stays in memory, whatever the budget; and an engine's model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine_state.h"
#include "weights/source_file.h"

namespace sluice {

struct PlannedEngine {
  // As Engine::open().
  static Result<std::unique_ptr<Engine>> open(const std::string& path, const LoadOptions& options,
                                              const PlanOverride& plan) {
    std::unique_ptr<Engine> engine(new Engine());
    engine->state_->plan_override = plan;
    SLUICE_ASSIGN(ModelFiles files, ModelFiles::open(path));
    SLUICE_TRY(engine->state_->open(std::move(files), options));
    return engine;
  }
  // As Engine::create(), for a file that is rereadable.
  static Result<std::unique_ptr<Engine>> create(const LoadOptions& options,
                                                std::vector<uint64_t> file_sizes,
                                                const PlanOverride& plan) {
    SLUICE_ASSIGN(auto engine, Engine::create(options, std::move(file_sizes), Access::rereadable));
    engine->state_->plan_override = plan;
    return engine;
  }
  static const Model& model(const Engine& engine) { return *engine.state_->model; }
};

}  // namespace sluice
