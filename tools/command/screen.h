/* SPDX-License-Identifier: MIT */
/*
 * A terminal as a screen: text is drawn, keys are read
 *
 * By ncurses, in screen.c. Where that is missing, no-screen.c is compiled instead.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that are not characters, and other ends of a wait for a key. */
enum screen_key {
	SCREEN_GONE = -8,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_ENTER,
	SCREEN_BACK,
	SCREEN_NONE,
};

/**
 * struct screen - the properties of the terminal
 * @rows: how many lines it has.
 * @columns: how many characters in a line.
 * @utf8: it can show more than ASCII.
 */
struct screen {
	int rows;
	int columns;
	bool utf8;
};

const char *screen_open(struct screen *screen);
void screen_close(void);
int screen_key(struct screen *screen, int timeout_ms);
void screen_draw(char *text, uint64_t marked);

#endif /* SCREEN_H */
