// SPDX-License-Identifier: MIT
/*
 * The screen of a build without ncurses: there is none; see screen.h
 */
#include "screen.h"

const char *screen_open(struct screen *screen)
{
	(void)screen;
	return "this build has no screen: build it with libncurses-dev, or use --once or --json";
}

void screen_close(void)
{
}

int screen_key(struct screen *screen, int timeout_ms)
{
	(void)screen;
	(void)timeout_ms;
	return SCREEN_GONE;
}

void screen_draw(char *text, uint64_t marked)
{
	(void)text;
	(void)marked;
}
