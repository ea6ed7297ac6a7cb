// Packet scripts: the words of World::play(), a line for each packet of a connection, in the order in which they leave
// their ends. A script is a text; this header holds no declarations but what it includes.
//
//     # the third packet of a message is lost
//     expect a > b  send-middle psn=2 len=1024  then drop
//     expect b > a  acknowledge psn=2 syndrome=nak-psn-sequence-error within=20us
//     inject p > a  acknowledge psn=3 msn=1 syndrome=ack after=5us
//     silence 1ms
//
// expect FROM > TO OPCODE FIELDS [within=TIME] [then ACTION]
//     The next packet between the two is this one; a field that is not named may have any value. `within`: of the line
//     before (10 s of virtual time unless it is said). ACTION: drop, duplicate, corrupt (a bit of it flips, and its
//     ICRC is wrong), delay=TIME.
// inject FROM > TO OPCODE FIELDS [after=TIME]
//     FROM sends this packet, whatever its NIC, if it has one, would say; what is not named is 0, a syndrome is an ACK
//     without credits. The lines that follow are for what comes meanwhile, too.
// silence TIME
//     Neither end sends anything for so long.
//
// OPCODE as to_string(Opcode) has it: "send-only", "uc-write-first"; those of RC without "rc-".
// FIELDS, each once, of those that the opcode carries
//     psn=N            relative to the first PSN of the requester that the packet belongs to: of FROM for a request, of
//                      TO for a response; may be negative
//     len=N            octets of payload
//     msn=N            of an AETH, as is
//     syndrome=WORD    ack, rnr-nak, nak-psn-sequence-error, nak-invalid-request, nak-remote-access-error,
//                      nak-remote-operational-error; or the octet. `ack` and `rnr-nak` have any credits and timer
//     va=N rkey=N length=N     RETH or AtomicETH
//     swap=N compare=N original=N immediate=N invalidate=N qkey=N pkey=N dest-qp=N
//     ack-request solicited fecn becn, and with `no-` before it: not set
// Numbers are decimal, or 0x and hexadecimal. What follows a # is left out.
#pragma once

#include <verbena/world.h>
