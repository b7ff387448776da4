// SPDX-License-Identifier: MIT
/*
 * An echo server with io_uring that closes idle connections: by a wheel that its ring
 * polls and changes, or by timeouts of the ring, to compare
 *
 *	cc -O2 -o uring-echo uring-echo.c $(pkg-config --cflags libtwheel) -luring
 *	./uring-echo twheel 7000 60000	on port 7000, closes what has been idle for 60 s
 *	./uring-echo link 7000 60000	the same by IORING_OP_LINK_TIMEOUT for each read
 *	./uring-echo timeout 7000 60000	the same by IORING_OP_TIMEOUT for each connection
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <libtwheel-uring.h>

/* The kind of request that a completion belongs to, in the low bits of its user data. */
enum what { QUIET, ACCEPT, POLL, RECV, SEND, ADD, CANCEL, TIMEOUT, WHAT = 7 };

struct connection {
	struct twheel_add timer;	/* with twheel */
	int fd;
	int requests;			/* that are in flight */
	int closing;
	int timed;			/* there is a timer */
	char text[512];
} __attribute__((aligned(8)));

static enum { TWHEEL, LINK, RING } by;
static struct io_uring ring;
static int listener, wheel;
static uint64_t idle_ns;
static struct __kernel_timespec idle;

static struct io_uring_sqe *request(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe) { /* the queue is full: the kernel takes all of it */
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	if (!sqe)
		errx(1, "the queue stays full");
	return sqe;
}

static void expect(struct io_uring_sqe *sqe, struct connection *c, enum what what)
{
	sqe->user_data = (uintptr_t)c | what;
	if (c)
		c->requests++;
}

/* Only failures complete, and they do not matter: an expired connection is closed. */
static void expect_nothing(struct io_uring_sqe *sqe)
{
	sqe->user_data = QUIET;
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static void start_timer(struct connection *c)
{
	struct io_uring_sqe *sqe;

	if (by == LINK)
		return;
	sqe = request();
	if (by == TWHEEL) {
		c->timer = (struct twheel_add){ .time_ns = idle_ns, .data = (uintptr_t)c };
		twheel_prep_add(sqe, wheel, &c->timer);
	} else {
		io_uring_prep_timeout(sqe, &idle, 0, 0);
		c->timed = 1;
	}
	expect(sqe, c, by == TWHEEL ? ADD : TIMEOUT);
}

static void put_timer_off(struct connection *c)
{
	struct io_uring_sqe *sqe;

	if (!c->timed)
		return;
	sqe = request();
	if (by == TWHEEL)
		twheel_prep_modify(sqe, wheel, c->timer.id, idle_ns);
	else
		io_uring_prep_timeout_update(sqe, &idle, (uintptr_t)c | TIMEOUT, 0);
	expect_nothing(sqe);
}

static void stop_timer(struct connection *c)
{
	struct io_uring_sqe *sqe;

	if (!c->timed)
		return;
	sqe = request();
	if (by == TWHEEL) {
		twheel_prep_cancel(sqe, wheel, c->timer.id);
		expect(sqe, c, CANCEL);
	} else {
		io_uring_prep_timeout_remove(sqe, (uintptr_t)c | TIMEOUT, 0);
		expect_nothing(sqe);
	}
}

static void receive(struct connection *c)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_recv(sqe, c->fd, c->text, sizeof(c->text), 0);
	expect(sqe, c, RECV);
	if (by == LINK) {
		sqe->flags |= IOSQE_IO_LINK;
		sqe = request();
		io_uring_prep_link_timeout(sqe, &idle, 0);
		sqe->user_data = QUIET;
	}
}

static void listen_on(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
	expect(sqe, NULL, ACCEPT);
}

static void accepted(int fd)
{
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	if (!c) { /* "ulimit -n" shows the limit */
		close(fd);
		return;
	}
	c->fd = fd;
	start_timer(c);
	receive(c);
}

static void close_connection(struct connection *c)
{
	if (c->closing++)
		return;
	stop_timer(c);
	shutdown(c->fd, SHUT_RDWR);
}

static void watch_wheel(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_poll_multishot(sqe, wheel, POLLIN);
	expect(sqe, NULL, POLL);
}

/* Read without waiting: after a poll, there may be nothing to read. */
static void read_wheel(void)
{
	struct twheel_event event[64];
	ssize_t size, i;

	while ((size = read(wheel, event, sizeof(event))) > 0) {
		for (i = 0; i < size / (ssize_t)sizeof(event[0]); i++) {
			struct connection *c = (void *)(uintptr_t)event[i].data;

			c->timed = 0;
			close_connection(c);
		}
	}
}

static void completed(const struct io_uring_cqe *cqe)
{
	struct connection *c = (void *)(uintptr_t)(cqe->user_data & ~(uint64_t)WHAT);
	struct io_uring_sqe *sqe;

	switch (cqe->user_data & WHAT) {
	case ACCEPT:
		accepted(cqe->res);
		if (!(cqe->flags & IORING_CQE_F_MORE))
			listen_on();
		return;
	case POLL:
		read_wheel();
		if (!(cqe->flags & IORING_CQE_F_MORE))
			watch_wheel();
		return;
	case ADD:
		if (cqe->res)
			errx(1, "no timer: %s", strerror(-cqe->res));
		c->timed = 1;
		if (c->closing)
			stop_timer(c);
		break;
	case TIMEOUT:
		c->timed = 0;
		if (cqe->res == -ETIME)
			close_connection(c);
		break;
	case RECV:
		if (cqe->res <= 0 || c->closing) {
			close_connection(c);
			break;
		}
		put_timer_off(c);
		sqe = request();
		io_uring_prep_send(sqe, c->fd, c->text, cqe->res, MSG_NOSIGNAL);
		expect(sqe, c, SEND);
		break;
	case SEND:
		if (cqe->res <= 0 || c->closing)
			close_connection(c);
		else
			receive(c);
		break;
	case CANCEL: /* if it failed, the event has been read */
		c->timed = 0;
		break;
	default:
		return;
	}
	/* From here on, no event of its timer is read. */
	if (!--c->requests && c->closing && !c->timed) {
		close(c->fd);
		free(c);
	}
}

static void listen_at(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, SOMAXCONN))
		err(1, "port %u", port);
	listen_on();
}

int main(int argc, char **argv)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring_cqe *cqe;

	if (argc != 4)
		errx(2, "Usage: uring-echo twheel|link|timeout PORT IDLE_MS");
	by = !strcmp(argv[1], "twheel") ? TWHEEL : !strcmp(argv[1], "link") ? LINK : RING;
	idle_ns = strtoull(argv[3], NULL, 10) * 1000000;
	idle = (struct __kernel_timespec){ idle_ns / 1000000000, idle_ns % 1000000000 };
	errno = -io_uring_queue_init_params(1024, &ring, &params);
	if (errno)
		err(1, "io_uring");
	listen_at(atoi(argv[2]));
	if (by == TWHEEL) {
		wheel = open("/dev/twheel", O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (wheel < 0)
			err(1, "/dev/twheel");
		watch_wheel();
	}
	/* One call submits the requests of this turn, and waits. */
	while (io_uring_submit_and_wait(&ring, 1) >= 0 || errno == EINTR) {
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			completed(cqe);
			io_uring_cqe_seen(&ring, cqe);
		}
	}
}
