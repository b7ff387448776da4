// SPDX-License-Identifier: MIT
/*
 * The shop: serves customers, and checks each result of the wheel against the ledger
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "demo.h"
#include "libtwheel-device.h"

#define BATCH_MAX	1024
#define READ_MAX	256
/* How long after the last deadline an expiry counts as lost. */
#define GRACE_NS	SEC

struct shop shop;
uint64_t opening;

static int wheel;

void open_wheel(void)
{
	wheel = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (wheel < 0)
		err(1, "cannot open " TWHEEL_DEVICE);
}

static void place(const uint32_t *customer, uint32_t count)
{
	static struct twheel_add add[BATCH_MAX];

	for (uint32_t i = 0; i < count; i++) {
		add[i] = (struct twheel_add) {
			.time_ns = opening + shop.reservation[customer[i]].deadline,
			.data = customer[i],
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_add_batch(wheel, add, count) != (int)count)
		err(1, "cannot reserve");
	for (uint32_t i = 0; i < count; i++) {
		struct reservation *r = &shop.reservation[customer[i]];

		r->timer = add[i].id;
		r->state = HELD;
		shop.product[r->product].on_shelf -= r->units;
	}
	shop.placed += count;
}

static void take_payment(struct reservation *r, uint64_t now)
{
	if (r->state != HELD) {
		wrong("a timer was cancelled although it had been read");
		return;
	}
	r->state = PAID;
	r->settled = now;
	shop.product[r->product].sold += r->units;
	shop.paid++;
	if (now > r->deadline)
		shop.paid_late++;
}

/*
 * The wheel decides whether a payment is in time: a timer is either cancelled or read.
 * ENOENT for a reservation that the ledger still holds means that the wheel has lost its
 * timer; it stays held, which shows at the end.
 */
static void pay(const uint32_t *customer, uint32_t count)
{
	static uint64_t id[BATCH_MAX];
	static int error[BATCH_MAX];

	for (uint32_t k = 0; k < count; k++)
		id[k] = shop.reservation[customer[k]].timer;
	if (twheel_cancel_batch(wheel, id, error, count) < 0)
		err(1, "cannot cancel");
	for (uint32_t k = 0; k < count; k++) {
		if (error[k])
			shop.late_payments++;
		else
			take_payment(&shop.reservation[customer[k]], shop_time());
	}
}

static void extend(const uint32_t *customer, uint32_t count)
{
	static struct twheel_modify modify[BATCH_MAX];
	static int error[BATCH_MAX];
	const uint64_t extension = EXTENSION(option.hold_ns);

	for (uint32_t k = 0; k < count; k++) {
		const struct reservation *r = &shop.reservation[customer[k]];

		modify[k] = (struct twheel_modify) {
			.id = r->timer,
			.time_ns = opening + r->deadline + extension,
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_modify_batch(wheel, modify, error, count) < 0)
		err(1, "cannot postpone");
	for (uint32_t k = 0; k < count; k++) {
		shop.late_extensions += error[k] != 0;
		shop.extended += !error[k];
		if (!error[k])
			shop.reservation[customer[k]].deadline += extension;
	}
}

static void run_out(const struct twheel_event *event, uint64_t now)
{
	struct reservation *r;

	if (event->data >= option.count ||
	    shop.reservation[event->data].timer != event->id) {
		wrong("an event of a timer that the shop never had");
		return;
	}
	r = &shop.reservation[event->data];
	if (r->state != HELD) {
		wrong("an event of a reservation that was paid or had expired");
		return;
	}
	if (event->deadline_ns != opening + r->deadline || event->count != 1)
		wrong("an event with another deadline or count than in the ledger");
	if (now < r->deadline)
		shop.early++;
	r->state = EXPIRED;
	r->settled = now;
	shop.product[r->product].on_shelf += r->units;
	shop.expired++;
}

static void read_expiries(void)
{
	static struct twheel_event event[READ_MAX];
	ssize_t count;

	while ((count = twheel_read(wheel, event, READ_MAX)) > 0)
		for (ssize_t i = 0; i < count; i++)
			run_out(&event[i], shop_time());
	if (count < 0 && errno != EAGAIN)
		err(1, "cannot read the wheel");
}

static void serve_slot(uint32_t slot)
{
	static void (*const serve[ACTIONS])(const uint32_t *, uint32_t) = {
		[ARRIVE] = place,
		[EXTEND] = extend,
		[PAY] = pay,
	};
	static uint32_t customer[BATCH_MAX];
	const uint32_t *entry = &shop.calendar.entry[shop.calendar.first[slot]];
	const uint32_t *end = &shop.calendar.entry[shop.calendar.first[slot + 1]];

	while (entry < end) {
		const uint32_t action = *entry >> ACTION_SHIFT;
		uint32_t count = 0;

		while (entry < end && count < BATCH_MAX && *entry >> ACTION_SHIFT == action)
			customer[count++] = *entry++ & CUSTOMER_MASK;
		serve[action](customer, count);
	}
}

/* Read expired timers until the shop's clock reaches @until. */
static void wait_until(uint64_t until)
{
	struct pollfd pollfd = { .fd = wheel, .events = POLLIN };
	uint64_t now;

	while ((now = shop_time()) < until) {
		struct timespec left = timespec_of(until - now);
		int ready = ppoll(&pollfd, 1, &left, NULL);

		if (ready < 0)
			err(1, "ppoll");
		if (ready > 0)
			read_expiries();
	}
}

void run_shop(void)
{
	struct twheel_info info;
	uint64_t placed;

	opening = now_ns();
	for (uint32_t slot = 0; slot < shop.slots; slot++) {
		if (shop.calendar.first[slot] == shop.calendar.first[slot + 1])
			continue;
		wait_until((slot + 1) * SLOT_NS);
		placed = shop.placed;
		serve_slot(slot);
		if (shop.placed > placed && shop.placed == option.count &&
		    twheel_get_info(wheel, &shop.fullest))
			err(1, "cannot query the wheel");
		print_progress(shop_time());
	}
	while (held() && shop_time() < shop.closing + GRACE_NS) {
		wait_until(shop_time() + SEC / 4);
		print_progress(shop_time());
	}
	if (twheel_get_info(wheel, &info))
		err(1, "cannot query the wheel");
	shop.fullest.cascaded = info.cascaded;
	shop.fullest.fires = info.fires;
}
