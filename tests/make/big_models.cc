// The shapes of real models, for benches, and one for tests of how models are read.
#include <algorithm>

#include "tiny_models.h"

namespace sluice {
namespace {

std::vector<TinyModel> make_big_models() {
  TinyModel smollm;
  smollm.name = "smollm2-135m";
  smollm.architecture = "llama";
  smollm.n_vocab = 49152;
  smollm.n_layers = 30;
  smollm.n_embd = 576;
  smollm.n_heads = 9;
  smollm.n_kv_heads = 3;
  smollm.head_dim = 64;
  smollm.n_ff = 1536;
  smollm.context = 8192;
  smollm.freq_base = 100000;
  smollm.rms_eps = 1e-5f;
  smollm.vocabulary = Vocabulary::smollm;
  smollm.tied = true;

  TinyModel qwen = smollm;
  qwen.name = "qwen3-0.6b";
  qwen.architecture = "qwen3";
  qwen.n_vocab = 151936;
  qwen.n_layers = 28;
  qwen.n_embd = 1024;
  qwen.n_heads = 16;
  qwen.n_kv_heads = 8;
  qwen.head_dim = 128;
  qwen.n_ff = 3072;
  qwen.context = 40960;
  qwen.freq_base = 1e6f;
  qwen.rms_eps = 1e-6f;
  qwen.vocabulary = Vocabulary::qwen2;

  TinyModel llama = smollm;
  llama.name = "llama-3.2-1b";
  llama.n_vocab = 128256;
  llama.n_layers = 16;
  llama.n_embd = 2048;
  llama.n_heads = 32;
  llama.n_kv_heads = 8;
  llama.head_dim = 64;
  llama.n_ff = 8192;
  llama.context = 131072;
  llama.freq_base = 500000;
  llama.vocabulary = Vocabulary::llama_bpe;
  llama.rope_freqs = true;

  TinyModel large = llama;
  large.name = "llama-3.1-8b";
  large.n_layers = 32;
  large.n_embd = 4096;
  large.head_dim = 128;
  large.n_ff = 14336;
  large.tied = false;
  large.q6_head = true;

  TinyModel lfm = smollm;  // of which six layers of 16 attend, here five
  lfm.name = "lfm2-350m";
  lfm.architecture = "lfm2";
  lfm.n_vocab = 65536;
  lfm.n_layers = 16;
  lfm.n_embd = 1024;
  lfm.n_heads = 16;
  lfm.n_kv_heads = 8;
  lfm.n_ff = 4608;
  lfm.conv_tokens = 3;
  lfm.context = 128000;
  lfm.freq_base = 1e6f;

  TinyModel gemma = smollm;
  gemma.name = "gemma-3-1b";
  gemma.architecture = "gemma3";
  gemma.n_vocab = 262144;
  gemma.n_layers = 26;
  gemma.n_embd = 1152;
  gemma.n_heads = 4;
  gemma.n_kv_heads = 1;
  gemma.head_dim = 256;
  gemma.n_ff = 6912;
  gemma.context = 32768;
  gemma.freq_base = 1e6f;
  gemma.rms_eps = 1e-6f;
  gemma.window = 512;
  gemma.vocabulary = Vocabulary::spm;

  TinyModel encoder = gemma;
  encoder.name = "embeddinggemma-300m";
  encoder.architecture = "gemma-embedding";
  encoder.n_layers = 24;
  encoder.n_embd = 768;
  encoder.n_heads = 3;
  encoder.n_ff = 1152;
  encoder.context = 2048;
  encoder.pooling = 1;
  encoder.dense[0] = 3072;
  encoder.dense[1] = 768;

  TinyModel gemma4;
  gemma4.name = "gemma4-e2b";
  gemma4.architecture = "gemma4";
  gemma4.n_vocab = 262144;
  gemma4.n_layers = 35;
  gemma4.n_embd = 1536;
  gemma4.n_heads = 8;
  gemma4.n_kv_heads = 1;
  gemma4.global_kv_heads = 1;
  gemma4.head_dim = 512;
  gemma4.local_head_dim = 256;
  gemma4.period = 5;
  gemma4.n_ff = 6144;
  gemma4.n_shared = 20;
  gemma4.shared_ff = 12288;
  gemma4.input_width = 256;
  gemma4.window = 512;
  gemma4.context = 131072;
  gemma4.freq_base = 1e6f;
  gemma4.rope_freqs = true;
  gemma4.tied = true;

  // Small, but its table of the layers' inputs is nearly all of the file, as in no real model.
  TinyModel inputs = gemma4;
  inputs.name = "gemma4-inputs";
  inputs.n_vocab = 4096;
  inputs.n_layers = 7;  // the third and the sixth see all
  inputs.n_embd = 64;
  inputs.n_heads = 4;
  inputs.head_dim = 32;
  inputs.local_head_dim = 16;
  inputs.period = 3;
  inputs.n_ff = 96;
  inputs.n_shared = 4;
  inputs.shared_ff = 160;
  inputs.window = 10;
  inputs.context = 512;

  TinyModel mixture = qwen;
  mixture.name = "qwen3-30b-a3b-6-layers";
  mixture.architecture = "qwen3moe";
  mixture.n_layers = 6;
  mixture.n_embd = 2048;
  mixture.n_heads = 32;
  mixture.n_kv_heads = 4;
  mixture.n_ff = 768;
  mixture.n_experts = 128;
  mixture.n_used = 8;
  mixture.tied = false;
  mixture.q6_head = true;

  TinyModel delta = qwen;
  delta.name = "qwen3.5-0.8b";
  delta.architecture = "qwen35";
  delta.n_vocab = 248320;
  delta.n_layers = 24;
  delta.n_heads = 8;
  delta.n_kv_heads = 2;
  delta.head_dim = 256;
  delta.n_ff = 3584;
  delta.delta_dim = 128;
  delta.n_key_heads = 16;
  delta.n_value_heads = 16;
  delta.context = 262144;
  delta.freq_base = 1e7f;
  return {smollm, qwen, llama, large, lfm, gemma, encoder, gemma4, inputs, mixture, delta};
}

}  // namespace

const TinyModel* big_model(std::string_view name) {
  static const std::vector<TinyModel> models = make_big_models();
  const auto found = std::ranges::find(models, name, &TinyModel::name);
  return found == models.end() ? nullptr : &*found;
}

}  // namespace sluice
