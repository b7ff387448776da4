// SPDX-License-Identifier: MIT
/*
 * libtwheel.hpp against what it promises; prints TAP
 */
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include <libtwheel.hpp>

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<twheel::timer>);

static int failed, number;

static void result(bool ok, const char *name)
{
	failed += !ok;
	std::printf("%sok %d - C++: %s\n", ok ? "" : "not ", ++number, name);
}

template <class Function> static int error_of(Function function)
{
	try {
		function();
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

static void timers_run()
{
	twheel::loop loop;
	int once = 0, often = 0;
	twheel::timer timer(loop, [&] { once++; });
	twheel::timer repeating(loop, [&](twheel::timer &self) {
		often += static_cast<int>(self.count());
		if (often >= 3)
			self.stop();
	});
	const auto began = std::chrono::steady_clock::now();

	timer.start(20ms);
	repeating.repeat(1ms, 1ms);
	result(timer.is_running() && timer.remaining() == 20ms && loop.count() == 2,
	       "timers that run are counted");
	timer.again(30ms);
	loop.run();
	result(once == 1 && often >= 3 && std::chrono::steady_clock::now() - began >= 30ms,
	       "timers expire, repeat, and are put off");
	result(!timer.is_running() && !timer.stop(), "a timer that expired does not run");
	timer.start_at(began);
	result(loop.wait(1s) == 1 && once == 2, "a deadline is a time of steady_clock");
	result(loop.wait(2ms) == 0, "a wait ends");
	timer.start(std::chrono::nanoseconds::max());
	result(timer.remaining() > 24h * 365 * 200, "a duration has no end");
	timer.start(std::chrono::duration<double>(1e300));
	result(timer.remaining() > 24h * 365 * 200, "nor has one of another representation");
	timer.start(-5s);
	result(loop.wait(1s) == 1, "a duration that is negative has passed");
	timer.start(std::chrono::duration<double>(0.5));
	result(timer.remaining() == 500ms, "a duration may be a floating-point number");
	timer.start(std::chrono::duration<int, std::pico>(1));
	result(timer.remaining() == 1ns, "a duration is rounded up");
	timer.again(5s);
	timer.stop();
	timer.again();
	result(timer.remaining() == 1ns, "again without a delay has that of the start");
}

static void calendar_time()
{
	twheel_loop_config config = { };
	int called = 0;

	config.clock = TWHEEL_CLOCK_REALTIME;
	twheel::loop loop(config);
	twheel::timer timer(loop, [&] { called++; });
	const auto deadline = std::chrono::system_clock::now() + 20ms;

	timer.start_at(deadline);
	loop.run();
	result(called == 1 && std::chrono::system_clock::now() >= deadline,
	       "a deadline is a time of system_clock");
}

static void callables_move()
{
	twheel::loop loop;
	int sum = 0;
	twheel::timer timer(loop, [&, part = std::make_unique<int>(1)] { sum += *part; });

	timer.start(0s);
	loop.post([&, part = std::make_unique<int>(2)] { sum += *part; });
	loop.run();
	result(sum == 3, "a callable need not be copyable");
}

static void errors_are_thrown()
{
	auto loop = std::make_unique<twheel::loop>();
	twheel::timer timer(*loop, [] { });
	twheel_loop_config config = { };

	result(error_of([&] { timer.again(1s); }) == EINVAL, "what fails throws");
	timer.start(1s);
	timer.start(5s);
	result(timer.remaining() > 2s, "a second start starts it again");
	config.reserved[0] = 1;
	result(error_of([&] { twheel::loop other(config); }) == EINVAL,
	       "a loop that cannot be made throws");
	loop.reset();
	result(error_of([&] { timer.again(1s); }) == ESTALE && !timer.is_running(),
	       "a timer may outlive its loop");
}

static void exceptions_pass()
{
	twheel::loop loop;
	int called = 0, caught = 0;
	auto thrower = [&] { called++; throw std::runtime_error("out"); };
	twheel::timer first(loop, thrower), second(loop, thrower);

	first.start(1ms);
	second.start(1ms);
	while (loop.count()) {
		try {
			loop.wait();
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	first.start(1ms);
	try {
		loop.run();
	} catch (const std::runtime_error &) {
		caught++;
	}
	result(called == 3 && caught == 3, "exceptions come out, and nothing is lost");
}

static void timers_may_go()
{
	twheel::loop loop;
	std::unique_ptr<twheel::timer> timer;
	std::vector<int> order;
	auto noted = std::make_shared<int>(7);

	timer = std::make_unique<twheel::timer>(loop, [&order, &timer, noted] {
		timer.reset();
		order.push_back(*noted);
	});
	timer->start(1ms);
	{
		twheel::timer gone(loop, [&] { order.push_back(0); });

		gone.start(1ms);
	}
	loop.run();
	result(order == std::vector<int>{ 7 }, "a callback may destroy its own timer");
}

static void other_threads_post()
{
	auto loop = std::make_unique<twheel::loop>();
	auto never = std::make_shared<int>(0);
	int called = 0;

	loop->ref();
	std::thread thread([&] {
		for (int i = 0; i < 100; i++)
			loop->post([&] { called++; });
		loop->post([&] { loop->unref(); });
	});
	loop->run();
	thread.join();
	result(called == 100, "other threads post functions");
	loop->post([never] { });
	loop.reset();
	result(never.use_count() == 1, "what was never called is destroyed");
}

int main()
{
	timers_run();
	calendar_time();
	callables_move();
	errors_are_thrown();
	exceptions_pass();
	timers_may_go();
	other_threads_post();
	std::printf("1..%d\n", number);
	return failed != 0;
}
