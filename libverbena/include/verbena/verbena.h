// All of libverbena's public headers. Holds nothing of its own.
// Tested by: tests/libverbena/world_test.cc
#pragma once

#include <verbena/nic.h>
#include <verbena/packet.h>
#include <verbena/result.h>
#include <verbena/script.h>
#include <verbena/settings.h>
#include <verbena/world.h>
