// SPDX-License-Identifier: MIT
/*
 * libtwheel for C++17: loops and timers that clean up, callbacks that are lambdas
 *
 *	twheel::loop loop;
 *	twheel::timer idle(loop, [&] { connection.close(); });
 *
 *	idle.start(60s);
 *	idle.again(60s);			after each message
 *	loop.run();				or: wait loop.timeout(), loop.dispatch()
 *
 * Failures throw std::system_error. Exceptions of callbacks leave through dispatch(), wait()
 * and run(), and the next of these calls the other timers. A loop and its timers belong to one
 * thread; post() is for the others. libtwheel(3) has the rest.
 */
#ifndef LIBTWHEEL_HPP
#define LIBTWHEEL_HPP

#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <type_traits>
#include <utility>
#include <libtwheel.h>

namespace twheel {

using nanoseconds = std::chrono::nanoseconds;

[[noreturn]] inline void fail(const char *what, int error = errno)
{
	throw std::system_error(error, std::generic_category(), what);
}

template <class Result> Result check(Result result, const char *what)
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

class loop {
public:
	explicit loop(const twheel_loop_config &config = twheel_loop_config())
		: loop_(twheel_loop_new(&config)) { check(loop_ ? 0 : -1, "twheel::loop"); }
	/* Adopts a wheel that has timers: see twheel_loop_adopt(3). */
	loop(int wheel, const twheel_loop_config &config)
		: loop_(twheel_loop_adopt(wheel, &config)) { check(loop_ ? 0 : -1, "twheel::loop"); }
	~loop() { twheel_loop_free(loop_); }

	twheel_loop *get() const { return loop_; }
	int fd() const { return check(twheel_loop_fd(loop_), "fd"); }
	nanoseconds timeout() { return nanoseconds(twheel_loop_timeout(loop_)); }
	nanoseconds now() const { return nanoseconds(twheel_loop_now(loop_)); }
	void update() { twheel_loop_update(loop_); }
	void flush() { check(twheel_loop_flush(loop_), "flush"); }
	int dispatch() { return check(twheel_loop_dispatch(loop_), "dispatch"); }
	int wait(delay time = nanoseconds::max())
	{
		return check(twheel_loop_wait(loop_, static_cast<std::int64_t>(time.ns)), "wait");
	}
	void run() { check(twheel_loop_run(loop_), "run"); }
	void stop() { check(twheel_loop_stop(loop_), "stop"); }
	std::int64_t count() const { return check(twheel_loop_count(loop_), "count"); }

	/* Calls a function in the loop's thread. The only member that other threads may use. */
	template <class Function> void post(Function function)
	{
		auto kept = std::make_shared<Function>(std::move(function));
		const std::lock_guard guard(lock_);
		auto place = posted_.insert(posted_.end(), { { arrive, nullptr }, this,
							     [kept] { (*kept)(); }, { } });
		place->place = place;
		if (!twheel_loop_post(loop_, &*place))
			return;
		const int error = errno;
		posted_.pop_back();
		fail("post", error);
	}

private:
	friend class timer;

	struct message : twheel_message {
		loop *owner;
		std::function<void()> function;
		std::list<message>::iterator place;
	};

	static void arrive(twheel_loop *, twheel_message *message_)
	{
		message *arrived = static_cast<message *>(message_);
		std::list<message> taken;
		std::unique_lock guard(arrived->owner->lock_);
		taken.splice(taken.end(), arrived->owner->posted_, arrived->place);
		guard.unlock();
		arrived->function();
	}

	std::mutex lock_;
	std::list<message> posted_;
	/* Expires with the loop, for timers that outlive it. */
	std::shared_ptr<char> alive_ = std::make_shared<char>();
	twheel_loop *loop_;
};

/* Can be neither copied nor moved. Its callback may destroy it. */
class timer {
public:
	/* The function takes nothing, or the timer. */
	template <class Function> timer(loop &in, Function function)
		: loop_(in.loop_), alive_(in.alive_), call_(call<Function>),
		  function_(std::make_shared<Function>(std::move(function)))
	{
		twheel_handle_init(&handle_, expire, this);
	}
	~timer()
	{
		/* The library would write to freed memory, except in the child of fork(). */
		if (!alive_.expired() && twheel_stop(&handle_) < 0 && errno != EOWNERDEAD)
			std::terminate();
	}
	timer &operator=(timer &&) = delete;

	void start(delay time) { check(twheel_start(live(), &handle_, time.ns), "start"); }
	/* The default clock of loops is steady_clock; system_clock is TWHEEL_CLOCK_REALTIME. */
	template <class Clock, class Duration>
	void start_at(std::chrono::time_point<Clock, Duration> deadline)
	{
		const delay time(deadline.time_since_epoch());
		check(twheel_start_at(live(), &handle_, time.ns), "start_at");
	}
	void repeat(delay time, delay interval)
	{
		check(twheel_repeat(live(), &handle_, time.ns, interval.ns), "repeat");
	}
	void again(delay time) { check((live(), twheel_again(&handle_, time.ns)), "again"); }
	/* With the delay of the last start, or its period. */
	void again() { check((live(), twheel_again(&handle_, TWHEEL_SAME_DELAY)), "again"); }
	void set_interval(delay interval)
	{
		check((live(), twheel_set_interval(&handle_, interval.ns)), "set_interval");
	}
	/* Returns whether it was running. */
	bool stop() { return !alive_.expired() && check(twheel_stop(&handle_), "stop"); }
	bool is_running() const { return !alive_.expired() && twheel_is_running(&handle_); }
	nanoseconds remaining() const
	{
		return nanoseconds(check((live(), twheel_remaining(&handle_)), "remaining"));
	}
	/* How many periods have passed, in the callback of a repeating timer. */
	std::uint64_t count() const { return handle_.count; }
	/* Whether loop::run() waits for it. */
	void ref() { check((live(), twheel_ref(&handle_)), "ref"); }
	void unref() { check((live(), twheel_unref(&handle_)), "unref"); }

private:
	template <class Function> static void call(void *kept, timer &self)
	{
		Function &function = *static_cast<Function *>(kept);
		if constexpr (std::is_invocable_v<Function &, timer &>)
			function(self);
		else
			function();
	}
	static void expire(twheel_loop *, twheel_handle *handle)
	{
		timer &self = *static_cast<timer *>(handle->data);
		const auto keep = self.function_; /* the callback may destroy the timer */
		self.call_(keep.get(), self);
	}
	twheel_loop *live() const
	{
		return alive_.expired() ? fail("twheel::timer", ESTALE), loop_ : loop_;
	}

	twheel_loop *loop_;
	std::weak_ptr<char> alive_;
	void (*call_)(void *, timer &);
	std::shared_ptr<void> function_;
	twheel_handle handle_;
};

} // namespace twheel

#endif // LIBTWHEEL_HPP
