// A template that makes a prompt: it is rendered, and tried out where nothing else tells what it
// knows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/input.h"
#include "jinja/template.h"

namespace sluice {

struct LearnedTemplate;

class TemplateUse {
 public:
  // `cache` may be null. `options`: its members besides messages, tools and documents are those of
  // the trials. Fails as Template::parse().
  static Result<TemplateUse> begin(TemplateCache* cache, std::string_view source,
                                   const ChatInput& options, const jinja::RenderOptions& time);

  Result<jinja::Rendered> render(const ChatInput& input);
  // So many renderings there were, trials included.
  size_t renderings() const { return renderings_; }

  // These fail only with Code::aborted.
  // Whether the template shows a user's content that is a text, or a list of parts.
  Result<bool> shows_text();
  Result<bool> shows_parts();
  // What it writes behind an answer; "" if it shows none.
  Result<std::string> behind_answer();

 private:
  TemplateUse(std::shared_ptr<LearnedTemplate> learned, ChatInput options,
              jinja::RenderOptions time);
  Result<std::string> try_out(jinja::Value messages, bool asks);
  Result<bool> shows(jinja::Value content);
  Result<std::string> behind(bool parts);

  std::shared_ptr<LearnedTemplate> learned_;
  ChatInput options_;
  jinja::RenderOptions time_;
  size_t renderings_ = 0;
};

}  // namespace sluice
