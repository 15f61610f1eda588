#include "app/model_use.h"

#include "app/text.h"
#include "base/format.h"
#include "engine/model_use.h"

namespace sluice::cli {

Status require_text(const Gguf& header) {
  const auto use = model_use(header);
  if (!use || use->makes.text) return {};
  return fail(
      Code::unsupported_model, "the model writes no text; it makes vectors of texts ",
      "(sluice embed)",
      use->makes.masks ? " and finds words that a text leaves open (sluice fill-mask)" : "");
}

Status require_masks(const Gguf& header) {
  const auto use = model_use(header);
  if (!use || use->makes.masks) return {};
  return fail(Code::unsupported_model,
              "the model has no head that finds masked words (tensors mlm.*); sluice convert "
              "writes it from a folder of a masked language model, whose class ends in ForMaskedLM",
              use->makes.text ? "" : ". For its vectors: sluice embed");
}

std::string try_it(const Gguf& header, const std::string& file) {
  const auto use = model_use(header);
  if (!use) return "";
  const std::string word = shell_word(printable(file, kMaxShownPath));
  if (use->makes.text) return concat("; try: sluice run ", word);
  if (use->makes.masks) return concat("; try: sluice fill-mask ", word, " -p TEXT");
  return concat("; try: sluice embed ", word, " -p TEXT");
}

Result<Opened> open_for_text(ModelSource& model, const LoadOptions& options) {
  // Of a model on the disk the engine reads the header anyway.
  const bool on_disk = !model.paths.empty();
  const auto check = [](const Gguf& header, LoadOptions&) { return require_text(header); };
  SLUICE_ASSIGN(Opened opened, open(model, options, on_disk ? nullptr : Adjust(check)));
  if (!opened.engine->makes().text) SLUICE_TRY(require_text(opened.engine->header()));
  return opened;
}

}  // namespace sluice::cli
