// Terms that bind whoever uses a model: they are shown before its download, and accepted once.
#pragma once

#include "app/model.h"
#include "pull/pull.h"

namespace sluice::cli {

// Does nothing for a model without terms, one that the cache has, and terms that were accepted
// before. Else `--accept-terms` or a `y` at the terminal accepts them, and the file accepted_terms
// of the cache records it. Fails with invalid_argument.
Status accept_terms(const ModelSource& model, const pull::Settings& settings,
                    const pull::Located& located);

}  // namespace sluice::cli
