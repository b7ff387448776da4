// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in C++17
 *
 * A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
 * the last, and the loop ends when the idle timeout has expired.
 *
 *	c++ -std=c++17 -O2 -o with-cxx timeouts.cc $(pkg-config --cflags --libs libtwheel)
 */
#include <iostream>
#include <libtwheel.hpp>

using namespace std::chrono_literals;

int main()
{
	twheel::loop loop;
	int beats = 0;

	twheel::timer idle(loop, [] { std::cout << "idle\n"; });
	twheel::timer heartbeat(loop, [&](twheel::timer &self) {
		std::cout << "heartbeat " << ++beats << "\n";
		idle.again(500ms);
		if (beats == 5)
			self.stop();
	});

	heartbeat.repeat(200ms, 200ms);
	idle.start(500ms);
	loop.run();
}
