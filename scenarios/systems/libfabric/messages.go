// Sends messages from Go over libfabric's verbs provider (RDM endpoints of ofi_rxm) and compares every octet that comes back.
//
//	messages serve PORT COUNT
//	messages send ADDRESS PORT COUNT
//
// A message of each of COUNT rounds goes there filled with a pattern of its round, and comes back with every octet inverted.
package main

/*
#cgo LDFLAGS: -lfabric
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

static struct fi_info *wanted(void) {
	struct fi_info *hints = fi_allocinfo();
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
	return hints;
}
static uint32_t version(void) { return FI_VERSION(1, 17); }
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"
)

const (
	bytesMax    = 256 << 10
	nameMax     = 256
	waitMs      = 20000
	sizesInTurn = 6
)

func try(what string, code C.int) {
	if code < 0 {
		fmt.Fprintf(os.Stderr, "%s: %s\n", what, C.GoString(C.fi_strerror(-code)))
		os.Exit(1)
	}
}

// Memory that the provider knows.
type buffer struct {
	octets []byte
	at     unsafe.Pointer
	region *C.struct_fid_mr
}

type endpoint struct {
	info          *C.struct_fi_info
	fabric        *C.struct_fid_fabric
	domain        *C.struct_fid_domain
	book          *C.struct_fid_av
	sent, arrived *C.struct_fid_cq
	self          *C.struct_fid_ep
	out, in       buffer
}

func open(node, service string, flags C.uint64_t) *endpoint {
	e := &endpoint{}
	hints := C.wanted()
	var host *C.char
	if node != "" {
		host = C.CString(node)
	}
	try("fi_getinfo", C.fi_getinfo(C.version(), host, C.CString(service), flags, hints, &e.info))
	try("fi_fabric", C.fi_fabric(e.info.fabric_attr, &e.fabric, nil))
	try("fi_domain", C.fi_domain(e.fabric, e.info, &e.domain, nil))
	var books C.struct_fi_av_attr
	try("fi_av_open", C.fi_av_open(e.domain, &books, &e.book, nil))
	var queues C.struct_fi_cq_attr
	queues.format = C.FI_CQ_FORMAT_MSG
	queues.wait_obj = C.FI_WAIT_UNSPEC
	try("fi_cq_open", C.fi_cq_open(e.domain, &queues, &e.sent, nil))
	try("fi_cq_open", C.fi_cq_open(e.domain, &queues, &e.arrived, nil))
	try("fi_endpoint", C.fi_endpoint(e.domain, e.info, &e.self, nil))
	try("bind", C.fi_ep_bind(e.self, &e.book.fid, 0))
	try("bind", C.fi_ep_bind(e.self, &e.sent.fid, C.FI_TRANSMIT))
	try("bind", C.fi_ep_bind(e.self, &e.arrived.fid, C.FI_RECV))
	try("fi_enable", C.fi_enable(e.self))
	e.out, e.in = e.memory(1), e.memory(2)
	return e
}

func (e *endpoint) memory(key C.uint64_t) buffer {
	at := C.malloc(bytesMax)
	b := buffer{octets: unsafe.Slice((*byte)(at), bytesMax), at: at}
	try("fi_mr_reg", C.fi_mr_reg(e.domain, at, bytesMax, C.FI_SEND|C.FI_RECV, 0, key, 0, &b.region, nil))
	return b
}

// Posts, again as long as the provider has no room.
func (e *endpoint) post(what string, call func() C.ssize_t) {
	for {
		code := call()
		if code == -C.FI_EAGAIN {
			C.fi_cq_read(e.sent, nil, 0)
			C.fi_cq_read(e.arrived, nil, 0)
			continue
		}
		try(what, C.int(code))
		return
	}
}

func wait(queue *C.struct_fid_cq) int {
	var entry C.struct_fi_cq_msg_entry
	code := C.ssize_t(-C.FI_EINTR)
	for code == -C.FI_EINTR { // Go's scheduler interrupts its threads by signals
		code = C.fi_cq_sread(queue, unsafe.Pointer(&entry), 1, nil, waitMs)
	}
	if code == -C.FI_EAVAIL {
		var failed C.struct_fi_cq_err_entry
		C.fi_cq_readerr(queue, &failed, 0)
		try("completion", -failed.err)
	}
	try("fi_cq_sread", C.int(code))
	return int(entry.len)
}

func (e *endpoint) expect() {
	e.post("fi_recv", func() C.ssize_t {
		return C.fi_recv(e.self, e.in.at, bytesMax, C.fi_mr_desc(e.in.region), C.FI_ADDR_UNSPEC, nil)
	})
}

func (e *endpoint) send(to C.fi_addr_t, octets int) {
	e.post("fi_send", func() C.ssize_t {
		return C.fi_send(e.self, e.out.at, C.size_t(octets), C.fi_mr_desc(e.out.region), to, nil)
	})
	wait(e.sent)
}

func (e *endpoint) peer(address unsafe.Pointer) C.fi_addr_t {
	var to C.fi_addr_t
	if C.fi_av_insert(e.book, address, 1, &to, 0, nil) != 1 {
		fmt.Fprintln(os.Stderr, "fi_av_insert: the address is not understood")
		os.Exit(1)
	}
	return to
}

func size(round int) int { return []int{1, 64, 1000, 4096, 65536, bytesMax}[round%sizesInTurn] }

func pattern(round, place int) byte { return byte(round*31 + place*7 + place>>8) }

func fill(b buffer, round int, mask byte) {
	for place := range b.octets[:size(round)] {
		b.octets[place] = pattern(round, place) ^ mask
	}
}

func compare(b buffer, octets, round int, mask byte) {
	if octets != size(round) {
		fmt.Fprintf(os.Stderr, "round %d: %d octets instead of %d\n", round, octets, size(round))
		os.Exit(1)
	}
	for place, octet := range b.octets[:octets] {
		if octet != pattern(round, place)^mask {
			fmt.Fprintf(os.Stderr, "round %d: octet %d is wrong\n", round, place)
			os.Exit(1)
		}
	}
}

func serve(port string, count int) {
	e := open("", port, C.FI_SOURCE)
	e.expect()
	fmt.Println("waits for", port)
	wait(e.arrived) // its first message is its address
	to := e.peer(e.in.at)
	e.expect()
	e.send(to, 1)
	for round := 0; round < count; round++ {
		compare(e.in, wait(e.arrived), round, 0)
		e.expect()
		fill(e.out, round, 0xff)
		e.send(to, size(round))
	}
	wait(e.arrived) // who sent the last answer does not leave before it has arrived
	fmt.Println("all", count, "messages are right")
}

func send(node, port string, count int) {
	e := open(node, port, 0)
	to := e.peer(e.info.dest_addr)
	octets := C.size_t(nameMax)
	try("fi_getname", C.fi_getname(&e.self.fid, e.out.at, &octets))
	e.expect()
	e.send(to, int(octets))
	wait(e.arrived)
	for round := 0; round < count; round++ {
		e.expect()
		fill(e.out, round, 0)
		e.send(to, size(round))
		compare(e.in, wait(e.arrived), round, 0xff)
	}
	e.send(to, 1)
	fmt.Println("all", count, "answers are right")
}

func main() {
	words := os.Args[1:]
	if len(words) < 3 {
		fmt.Fprintln(os.Stderr, "messages serve PORT COUNT, messages send ADDRESS PORT COUNT")
		os.Exit(2)
	}
	count, err := strconv.Atoi(words[len(words)-1])
	switch {
	case err == nil && words[0] == "serve" && len(words) == 3:
		serve(words[1], count)
	case err == nil && words[0] == "send" && len(words) == 4:
		send(words[1], words[2], count)
	default:
		fmt.Fprintln(os.Stderr, "messages serve PORT COUNT, messages send ADDRESS PORT COUNT")
		os.Exit(2)
	}
}
