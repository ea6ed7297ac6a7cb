// The entry point of every Boost.Test program.
#define BOOST_TEST_MODULE verbena
#include <boost/test/unit_test.hpp>
