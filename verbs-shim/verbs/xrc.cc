// XRC domains and the QPs opened in them: ibv_open_xrcd, ibv_close_xrcd, ibv_open_qp, ibv_get_srq_num.
//
// A domain belongs to a file: who opens the same inode gets the same domain, within this process (docs/deviations.md).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "wire/assert.h"

namespace verbena::shim {

/// What all descriptors of one file share. Guarded by the engine's lock.
struct SharedXrcDomain {
  const host::Engine* engine = nullptr;  // handles of an earlier engine, or of the parent's, mean nothing
  dev_t device = 0;
  ino_t inode = 0;
  nic::XrcDomainHandle nic;
  std::uint32_t holders = 0;
};

namespace {

/// Those of files; made at first use and never destroyed.
std::vector<std::shared_ptr<SharedXrcDomain>>& shared_domains() {
  static auto* const domains = new std::vector<std::shared_ptr<SharedXrcDomain>>;
  return *domains;
}

/// The domain of the file, or a new one. 0 or an errno value; the order of refusals is the kernel's.
int join_domain(nic::Nic& nic, const host::Engine& engine, const ibv_xrcd_init_attr& attributes,
                const struct stat* file, Xrcd& xrcd) {
  auto& domains = shared_domains();
  if (file != nullptr) {
    const auto found = std::ranges::find_if(domains, [&](const auto& domain) {
      return domain->engine == &engine && domain->device == file->st_dev && domain->inode == file->st_ino;
    });
    if (found != domains.end()) {
      if ((attributes.oflags & O_EXCL) != 0) return EINVAL;
      xrcd.domain = *found;
      ++xrcd.domain->holders;
      return 0;
    }
    if ((attributes.oflags & O_CREAT) == 0) return EAGAIN;
  }
  const auto made = nic.create_xrc_domain();
  if (!made) return errno_of(made);
  xrcd.domain = std::make_shared<SharedXrcDomain>();
  *xrcd.domain = {.engine = &engine, .nic = *made, .holders = 1};
  if (file == nullptr) return 0;
  xrcd.domain->device = file->st_dev;
  xrcd.domain->inode = file->st_ino;
  domains.push_back(xrcd.domain);
  return 0;
}

}  // namespace

nic::XrcDomainHandle domain_of(const Xrcd& xrcd) {
  return xrcd.domain->nic;
}

int leave_domain(nic::Nic& nic, Xrcd& xrcd) {
  if (xrcd.domain == nullptr) return 0;
  VERBENA_ASSERT(xrcd.domain->holders != 0);
  if (xrcd.domain->holders == 1) {
    const auto gone = nic.destroy_xrc_domain(xrcd.domain->nic);
    if (!gone) return errno_of(gone);
    std::erase(shared_domains(), xrcd.domain);
  }
  --xrcd.domain->holders;
  xrcd.domain = nullptr;
  return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (const int error = refusal_by_device(context, host::Refusable::xrc); error != 0) return fail(error);
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (attributes->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED) return fail(EOPNOTSUPP);
  if ((attributes->comp_mask & kNeeded) != kNeeded) return fail(EINVAL);
  struct stat file{};
  const bool has_file = attributes->fd != -1;
  if (has_file && fstat(attributes->fd, &file) != 0) return fail(EBADF);
  auto* const xrcd = new (std::nothrow) Xrcd();
  if (xrcd == nullptr) return fail(ENOMEM);
  xrcd->context = context;
  const int error = engine->run(
      [&](nic::Nic& nic, Time) { return join_domain(nic, *engine, *attributes, has_file ? &file : nullptr, *xrcd); });
  if (error != 0) {
    delete xrcd;
    return fail(error);
  }
  Process::instance().enlist(Kind::xrc_domain, xrcd, context);
  return xrcd;
}

int close_xrcd(ibv_xrcd* xrcd) {
  auto* const object = static_cast<Xrcd*>(xrcd);
  Process& process = Process::instance();
  if (!is_live(xrcd)) return missing(xrcd);
  if (object->users.in_use()) return EBUSY;
  if (host::Engine* const engine = engine_of(object->context)) {
    const int error = engine->run([object](nic::Nic& nic, Time) { return leave_domain(nic, *object); });
    if (error != 0) return error;
  }
  process.withdraw(Kind::xrc_domain, object);
  release(context_of(object->context));
  delete object;
  return 0;
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  const auto engine = live_engine(srq);
  if (!engine) return engine.error();
  const auto found = (*engine)->run([srq](nic::Nic& nic, Time) { return nic.srq_number(static_cast<Srq*>(srq)->nic); });
  if (!found) return EOPNOTSUPP;  // only XRC SRQs have a number that anybody could use
  *number = found->value();
  return 0;
}

}  // namespace verbena::shim
