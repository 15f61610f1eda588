// Unpacks packed strips to panels. A part of body.inl.

template <typename Format>
[[gnu::noinline]] void unpack_blocks(const uint8_t* strip, int64_t cols, Panel& panel) {
  constexpr int kWords = Format::kGroup / 4;
  uint8_t* codes = panel.codes;
  float* scales = panel.scales;
  float* mins = panel.mins;
  Format block(strip, 0);
  for (int64_t b = 0; b < cols / block_columns<Format>; ++b) {
    for (int v = 0; v < kVectors; ++v) {
      const auto head = block.head(v);
      for_groups<Format>([&](const auto& at) {
        // Reads all words before it writes any: to the compiler strip and panel might overlap.
        U words[kWords];
        SLUICE_UNROLL
        for (int w = 0; w < kWords; ++w) words[w] = block.codes(v, w, at);
        const F scale = block.scale(v, at, head);
        if constexpr (Format::kMin) {
          store(mins + 16 * at.group + v * kLanes, block.min(v, at, head));
        }
        store(scales + 16 * at.group + v * kLanes, scale);
        SLUICE_UNROLL
        for (int w = 0; w < kWords; ++w) {
          store(codes + 64 * (at.group * kWords + w) + v * kVectorBytes, words[w]);
        }
      });
    }
    codes += 16 * block_columns<Format>;
    scales += 16 * block_groups<Format>;
    if constexpr (Format::kMin) mins += 16 * block_groups<Format>;
    block.next();
  }
}

void unpack(Type type, const uint8_t* strip, int64_t cols, Panel& panel) {
  describe_panel(type, panel);
  for_packed_type(type, [&]<typename Format>() { unpack_blocks<Format>(strip, cols, panel); });
}
