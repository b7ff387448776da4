// SPDX-License-Identifier: MIT
/*
 * libtwheel.hpp against what it promises; prints the checks that fail
 */
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
#include <poll.h>
#include <sys/time.h>

#include <libtwheel.hpp>

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/* No function of the C header hides the structure that has the name of an ioctl. */
static_assert(std::is_class_v<twheel_add> && std::is_class_v<twheel_info>);
static_assert(!std::is_copy_constructible_v<twheel::timer>);

/* Programs may make loops before main(), in any order with the library's own constructors. */
static twheel::loop early_loop;

static int failed;

#define CHECK(condition)	check(condition, #condition, __LINE__)

static void check(bool ok, const char *condition, int line)
{
	failed += !ok;
	if (!ok)
		std::printf("cxx.cc:%d: %s\n", line, condition);
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
	CHECK(timer.is_running() && timer.remaining() == 20ms && loop.count() == 2);
	timer.again(30ms);
	loop.run();
	CHECK(once == 1 && often >= 3 && std::chrono::steady_clock::now() - began >= 30ms);
	CHECK(!timer.is_running() && !timer.stop());
	timer.start_at(began);
	CHECK(loop.wait(1s) == 1 && once == 2 && loop.wait(2ms) == 0);
	timer.start(-5s);
	CHECK(loop.wait(1s) == 1);
}

/* A duration has any representation and no end, and is rounded up. */
static void durations_convert()
{
	twheel::loop loop;
	twheel::timer timer(loop, [] { });
	const auto delay = [&](twheel::delay time) {
		timer.start(time);
		return timer.remaining();
	};

	CHECK(delay(nanoseconds::max()) > 24h * 365 * 200);
	CHECK(delay(std::chrono::duration<double>(1e300)) > 24h * 365 * 200);
	CHECK(delay(std::chrono::duration<double>(0.5)) == 500ms);
	CHECK(delay(std::chrono::duration<int, std::pico>(1)) == 1ns);
	timer.again(5s);
	timer.stop();
	timer.again();
	CHECK(timer.remaining() == 1ns);
}

static void calendar_time()
{
	twheel_loop_config config = { };
	int called = 0;
	twheel::calendar_loop loop;
	twheel::calendar_timer timer(loop, [&] { called++; });
	const auto deadline = std::chrono::system_clock::now() + 20ms;

	timer.start_at(deadline);
	loop.run();
	CHECK(called == 1 && std::chrono::system_clock::now() >= deadline);
	config.clock = TWHEEL_CLOCK_REALTIME;
	CHECK(error_of([&] { twheel::loop other(config); }) == EINVAL);
}

/* A deadline on another clock than the loop's does not compile. */
template <class Timer, class Deadline, class = void> struct takes : std::false_type { };
template <class Timer, class Deadline>
struct takes<Timer, Deadline, std::void_t<decltype(std::declval<Timer &>().start_at(
	std::declval<Deadline>()))>> : std::true_type { };
static_assert(takes<twheel::timer, std::chrono::steady_clock::time_point>::value);
static_assert(!takes<twheel::timer, std::chrono::system_clock::time_point>::value);
static_assert(takes<twheel::calendar_timer, std::chrono::system_clock::time_point>::value);
static_assert(!takes<twheel::calendar_timer, std::chrono::steady_clock::time_point>::value);

static void a_manual_clock_is_advanced()
{
	twheel::basic_loop<twheel::manual_clock> loop;
	int called = 0;
	twheel::basic_timer<twheel::manual_clock> timer(loop, [&] { called++; });

	CHECK(!loop.timeout());
	timer.start_at(loop.now() + 24h);
	CHECK(loop.timeout() == 24h && loop.advance(23h) == 0 && loop.advance(1h) == 1);
	CHECK(called == 1 && loop.now().time_since_epoch() == 24h);
	CHECK(error_of([&] { loop.wait(0s); }) == EINVAL);
}

/* At a limit, the error of the flush comes out. */
static void a_timeout_throws()
{
	twheel_loop_config config = { };

	config.max_timers = 1;
	config.flags = TWHEEL_LOOP_TIMEOUT;
	twheel::loop loop(config);
	twheel::timer first(loop, [] { }), second(loop, [] { });

	CHECK(!loop.timeout());
	first.start(10s);
	CHECK(loop.timeout() <= 11s);
	second.start(50ms);
	CHECK(error_of([&] { loop.timeout(); }) == ENOSPC);
}

static void signals_do_not_end_a_wait()
{
	const itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { };
	twheel::loop loop;
	twheel::timer timer(loop, [] { });

	std::signal(SIGALRM, [](int) { });
	setitimer(ITIMER_REAL, &often, nullptr);
	timer.start(50ms);
	CHECK(loop.wait() == 1);
	CHECK(loop.wait(20ms) == 0);
	CHECK(error_of([&] { loop.wait(10s, true); }) == EINTR);
	setitimer(ITIMER_REAL, &never, nullptr);
}

/* A callable need not be copyable. */
static void callables_move()
{
	twheel::loop loop;
	int sum = 0;
	twheel::timer timer(loop, [&, part = std::make_unique<int>(1)] { sum += *part; });

	timer.start(0s);
	loop.post([&, part = std::make_unique<int>(2)] { sum += *part; });
	loop.run();
	CHECK(sum == 3);
}

static void errors_are_thrown()
{
	auto loop = std::make_unique<twheel::loop>();
	twheel::timer timer(*loop, [] { });
	twheel_loop_config config = { };

	CHECK(error_of([&] { timer.again(1s); }) == EINVAL);
	timer.start(1s);
	config.reserved[0] = 1;
	CHECK(error_of([&] { twheel::loop other(config); }) == EINVAL);
	/* A timer may outlive its loop. */
	loop.reset();
	CHECK(error_of([&] { timer.again(1s); }) == ESTALE && !timer.is_running());
}

/* Exceptions come out and end the turn, and the descriptor shows the timers that are left. */
static void exceptions_pass()
{
	twheel::loop loop;
	int called = 0, caught = 0;
	auto thrower = [&] { called++; throw std::runtime_error("out"); };
	twheel::timer first(loop, thrower), second(loop, thrower);
	const auto catches = [&](auto function) {
		try {
			function();
		} catch (const std::runtime_error &) {
			const auto now = std::chrono::steady_clock::now();

			caught++;
			CHECK(loop.now() >= now);
		}
	};
	pollfd pollfd = { loop.fd(), POLLIN, 0 };

	first.start(1ms);
	second.start(1ms);
	while (caught < 2 && poll(&pollfd, 1, 1000) == 1)
		catches([&] { loop.dispatch(); });
	first.start(1ms);
	catches([&] { loop.run(); });
	CHECK(called == 3 && caught == 3);
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
	CHECK(order == std::vector<int>{ 7 });
}

static void other_threads_post()
{
	auto loop = std::make_unique<twheel::loop>();
	auto never = std::make_shared<int>(0);
	int called = 0;

	twheel::timer keep(*loop, [] { });
	keep.start(nanoseconds::max());
	std::thread thread([&] {
		for (int i = 0; i < 100; i++)
			loop->post([&] { called++; });
		loop->post([&] { keep.unref(); });
	});
	loop->run();
	thread.join();
	CHECK(called == 100);
	/* A message that was never called is destroyed. */
	loop->post([never] { });
	loop.reset();
	CHECK(never.use_count() == 1);
}

int main()
{
	timers_run();
	durations_convert();
	calendar_time();
	a_manual_clock_is_advanced();
	a_timeout_throws();
	signals_do_not_end_a_wait();
	callables_move();
	errors_are_thrown();
	exceptions_pass();
	timers_may_go();
	other_threads_post();
	return failed != 0;
}
