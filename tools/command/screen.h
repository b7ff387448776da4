/* SPDX-License-Identifier: MIT */
/*
 * A terminal as a screen: text is drawn, keys are read
 *
 * It uses only termios and the control sequences that all common terminals have
 * (ECMA-48), as there are only lines to draw.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that are not characters, and other ends of a wait for a key. */
enum screen_key {
	KEY_NONE = 256,
	KEY_RESIZE,
	KEY_UP,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_ENTER,
	KEY_BACK,
	KEY_GONE,
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

bool screen_usable(void);
int screen_open(struct screen *screen);
void screen_close(void);
int screen_key(struct screen *screen, int timeout_ms);
int screen_draw(const struct screen *screen, const char *text, uint64_t marked);

#endif /* SCREEN_H */
