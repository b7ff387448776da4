// SPDX-License-Identifier: MIT
/*
 * libtwheel for C++17: loops and timers that clean up, callbacks that are lambdas
 *
 *	twheel::loop loop;
 *	twheel::timer idle(loop, [&] { connection.close(); });
 *
 *	idle.start(60s);
 *	idle.again(60s);			after each message
 *	loop.run();				or: wait for loop.fd(), loop.dispatch()
 *
 * Failures throw std::system_error. Exceptions of callbacks leave through dispatch(), wait()
 * and run(), and the next of these calls the other timers. The type has the clock: steady_clock,
 * or as in calendar_loop system_clock, boottime_clock or manual_clock. libtwheel(3) has the rest.
 */
#pragma once

#include <cerrno>
#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <libtwheel.h>

namespace twheel { inline namespace v1 { /* a new layout gets a new number */

using std::chrono::nanoseconds;

/* The clocks of loops; these have no now() of their own. */
struct boottime_clock { using duration = nanoseconds; };
struct manual_clock { using duration = nanoseconds; };
template <class Clock> constexpr std::uint32_t clock_number = TWHEEL_CLOCK_MONOTONIC;
template <> inline constexpr auto clock_number<std::chrono::system_clock> = TWHEEL_CLOCK_REALTIME;
template <> inline constexpr auto clock_number<boottime_clock> = TWHEEL_CLOCK_BOOTTIME;
template <> inline constexpr auto clock_number<manual_clock> = TWHEEL_CLOCK_MANUAL;

[[noreturn]] inline void fail(const char *what, int error = errno)
{
	throw std::system_error(error, std::generic_category(), what);
}

/* The error has the name of the member function that calls this. */
template <class Result> Result check(Result result, const char *what = __builtin_FUNCTION())
{
	return result < 0 ? fail(what), result : result;
}

/* Any duration, rounded up to nanoseconds. A negative one has passed; a long one saturates. */
struct delay {
	std::uint64_t ns;
	template <class Rep, class Period> delay(std::chrono::duration<Rep, Period> time) : ns(0)
	{
		if (std::chrono::duration<double>(time) >= nanoseconds::max())
			ns = TWHEEL_TIME_MAX_NS;
		else if (time > time.zero())
			ns = static_cast<std::uint64_t>(std::chrono::ceil<nanoseconds>(time).count());
	}
};

template <class Clock> class basic_timer;

template <class Clock> class basic_loop {
public:
	using time_point = std::chrono::time_point<Clock, nanoseconds>;

	explicit basic_loop(twheel_loop_config config = twheel_loop_config())
	{
		if (config.clock && config.clock != clock_number<Clock>)
			fail("the clock of another type of loop", EINVAL);
		config.clock = clock_number<Clock>;
		check((loop_ = twheel_loop_new(&config)) ? 0 : -1, "twheel::loop");
	}
	/* Adopts a wheel that has timers: see twheel_loop_adopt(3). */
	basic_loop(int wheel, const twheel_loop_config &config)
		: loop_(twheel_loop_adopt(wheel, &config)) { check(loop_ ? 0 : -1, "twheel::loop"); }
	~basic_loop() { twheel_loop_free(loop_); }

	twheel_loop *get() const { return loop_; }
	int fd() const { return check(twheel_loop_fd(loop_)); }
	/* Nothing, if no timer is running. */
	std::optional<nanoseconds> timeout()
	{
		const std::int64_t left = twheel_loop_timeout(loop_);
		if (errno)
			fail("timeout");
		return left < 0 ? std::nullopt : std::optional(nanoseconds(left));
	}
	time_point now() const { return time_point(nanoseconds(twheel_loop_now(loop_))); }
	int advance(delay time) { return check(twheel_loop_advance(loop_, time.ns)); }
	void update() { twheel_loop_update(loop_); }
	void flush() { check(twheel_loop_flush(loop_)); }
	int dispatch() { return check(twheel_loop_dispatch(loop_)); }
	/* Goes on after a signal, unless that @throws an EINTR. */
	int wait(delay time = nanoseconds::max(), bool throws = false)
	{
		const auto end = delay(std::chrono::steady_clock::now().time_since_epoch()).ns + time.ns;
		int called;
		do {
			const auto now = delay(std::chrono::steady_clock::now().time_since_epoch()).ns;
			called = twheel_loop_wait(loop_, now < end ? static_cast<std::int64_t>(end - now) : 0);
		} while (called < 0 && errno == EINTR && !throws);
		return check(called);
	}
	void run() { check(twheel_loop_run(loop_)); }
	void stop() { check(twheel_loop_stop(loop_)); }
	std::int64_t count() const { return check(twheel_loop_count(loop_)); }

	/* Calls a function in the loop's thread. The only member that other threads may use. */
	template <class Function> void post(Function function)
	{
		auto kept = std::make_shared<Function>(std::move(function));
		const std::lock_guard guard(lock_);
		posted_.push_back({ { arrive<Function>, nullptr }, this, std::move(kept) });
		if (!twheel_loop_post(loop_, &posted_.back()))
			return;
		const int error = errno;
		posted_.pop_back();
		fail("post", error);
	}

private:
	friend class basic_timer<Clock>;

	struct message : twheel_message {
		basic_loop *owner;
		std::shared_ptr<void> function;
	};

	/* They arrive in the order of posting. */
	template <class Function> static void arrive(twheel_loop *, twheel_message *arrived)
	{
		basic_loop *self = static_cast<message *>(arrived)->owner;
		std::list<message> taken;
		std::unique_lock guard(self->lock_);
		taken.splice(taken.end(), self->posted_, self->posted_.begin());
		guard.unlock();
		(*static_cast<Function *>(taken.front().function.get()))();
	}

	std::mutex lock_;
	std::list<message> posted_;
	/* Expires with the loop, for timers that outlive it. */
	std::shared_ptr<char> alive_ = std::make_shared<char>();
	twheel_loop *loop_;
};

/* Can be neither copied nor moved. Its callback may destroy it. */
template <class Clock> class basic_timer {
public:
	/* The function takes nothing, or the timer. */
	template <class Function> basic_timer(basic_loop<Clock> &in, Function function)
		: loop_(in.loop_), alive_(in.alive_),
		  function_(std::make_shared<Function>(std::move(function)))
	{
		twheel_handle_init(&handle_, expire<Function>, this);
	}
	~basic_timer()
	{
		/* The library would write to freed memory, except in the child of fork(). */
		if (!alive_.expired() && twheel_stop(&handle_) < 0 && errno != EOWNERDEAD)
			std::terminate();
	}
	basic_timer &operator=(basic_timer &&) = delete;

	void start(delay time) { check(twheel_start(live(), &handle_, time.ns)); }
	template <class Duration> void start_at(std::chrono::time_point<Clock, Duration> deadline)
	{
		check(twheel_start_at(live(), &handle_, delay(deadline.time_since_epoch()).ns));
	}
	void repeat(delay time, delay interval)
	{
		check(twheel_repeat(live(), &handle_, time.ns, interval.ns));
	}
	void again(delay time) { check((live(), twheel_again(&handle_, time.ns))); }
	/* With the delay of the last start, or its period. */
	void again() { check((live(), twheel_again(&handle_, TWHEEL_SAME_DELAY))); }
	void set_interval(delay time) { check((live(), twheel_set_interval(&handle_, time.ns))); }
	/* Returns whether it was running. */
	bool stop() { return !alive_.expired() && check(twheel_stop(&handle_)); }
	bool is_running() const { return !alive_.expired() && twheel_is_running(&handle_); }
	nanoseconds remaining() const
	{
		return nanoseconds(check((live(), twheel_remaining(&handle_))));
	}
	/* How many periods have passed, in the callback of a repeating timer. */
	std::uint64_t count() const { return handle_.count; }
	/* Let loop::run() wait for it, or not. */
	void ref() { check((live(), twheel_ref(&handle_))); }
	void unref() { check((live(), twheel_unref(&handle_))); }

private:
	template <class Function> static void expire(twheel_loop *, twheel_handle *handle)
	{
		basic_timer &self = *static_cast<basic_timer *>(handle->data);
		const auto keep = self.function_; /* the callback may destroy the timer */
		Function &function = *static_cast<Function *>(keep.get());
		if constexpr (std::is_invocable_v<Function &, basic_timer &>)
			function(self);
		else
			function();
	}
	twheel_loop *live() const
	{
		return alive_.expired() ? fail("twheel::timer", ESTALE), loop_ : loop_;
	}

	twheel_loop *loop_;
	std::weak_ptr<char> alive_;
	std::shared_ptr<void> function_;
	twheel_handle handle_;
};

using loop = basic_loop<std::chrono::steady_clock>;
using timer = basic_timer<std::chrono::steady_clock>;
using calendar_loop = basic_loop<std::chrono::system_clock>;
using calendar_timer = basic_timer<std::chrono::system_clock>;

} } // namespace twheel::v1
