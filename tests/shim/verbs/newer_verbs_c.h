// The verbs of newer releases of rdma-core, as a program of such a release declares them.
#pragma once

#include "verbs-shim/verbs/newer_verbs.h"

extern "C" {
void* ibv_alloc_buf(ibv_pd* pd, std::size_t size, ibv_buf** buffer);
void ibv_free_buf(ibv_buf* buffer);
ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access);
ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attributes);
int ibv_export_buf_dmabuf_fd(ibv_buf* buffer);
int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed);
ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attributes);
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr* attributes);
int ibv_read_comp_cntr(ibv_comp_cntr* counter, std::uint64_t* value);
int ibv_dm_export_dmabuf_fd(ibv_dm* dm);
int _ibv_query_comp_cntr_caps(ibv_context* context, void* capabilities, std::size_t size);
}
