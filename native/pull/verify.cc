#include "pull/verify.h"

#include "base/format.h"
#include "pull/block_file.h"
#include "pull/journal.h"
#include "pull/lock.h"

namespace sluice::pull {

Status verify_entry(const std::string& directory, const Cached& entry, Verified& verified,
                    const std::function<void(uint64_t)>& shown) {
  const EntryPaths paths(directory, entry.key);
  SLUICE_ASSIGN(auto lock, Lock::try_take(paths.lock, Hold::exclusive));
  if (!lock) {
    return fail(Code::busy, "another process is using ", printable(entry.meta.address, 300));
  }
  SLUICE_ASSIGN(const auto still, meta_of(directory, entry.key));
  if (!still) {
    lock->remove_file();
    return fail(Code::not_found, "another process has deleted ",
                printable(entry.meta.address, 300));
  }
  SLUICE_ASSIGN(BlockFile file, BlockFile::open_to_write(directory, entry.meta.address));
  const bool whole = file.complete();
  verified.whole = verified.whole && whole;
  // The copy is of the table before damaged blocks are forgotten.
  if (const auto copy = check_copy(directory, entry.key, file.table(), file.total())) {
    verified.copy.bytes += copy->bytes;
    verified.copy.damaged += copy->damaged;
    verified.copy.removed = verified.copy.removed || copy->removed;
  }
  PassingSum sum;
  SLUICE_ASSIGN(const auto damaged, file.check(true, whole ? &sum : nullptr, shown));
  verified.bytes += file.stored();
  verified.damaged.insert(verified.damaged.end(), damaged.begin(), damaged.end());
  if (!whole || !damaged.empty()) return {};
  verified.sha256 = sum.hex();
  Meta meta = file.meta();
  if (meta.sha256.empty()) return file.finish();
  verified.sum_fits = verified.sum_fits && meta.sha256 == verified.sha256;
  meta.verified = meta.sha256 == verified.sha256;
  SLUICE_TRY(file.note(meta));
  return meta.verified ? file.finish() : Status();
}

}  // namespace sluice::pull
