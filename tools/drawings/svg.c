// SPDX-License-Identifier: MIT
/*
 * SVG on standard output, for light and dark
 */
#include <stdarg.h>
#include <stdio.h>

#include "draw.h"

/* l0, l1 and l2 are the levels; all drawings use the same colours. */
static const char style[] =
	"text { font: 14px sans-serif; fill: #1d2731 }\n"
	".dim { fill: #5a6673 } .middle { text-anchor: middle } .right { text-anchor: end }\n"
	".small { font-size: 12px } .strong { font-weight: bold }\n"
	".paper { fill: #ffffff } .box { fill: #f3f5f7; stroke: #a3adb8 }\n"
	".clock { fill: #fff1c9; stroke: #b58a00 } .rule { stroke: #a3adb8 }\n"
	".zoom { stroke: #a3adb8; stroke-dasharray: 4 3 } .mark { stroke: #1d2731 }\n"
	".l0 { fill: #c2500a; stroke: #c2500a } .l1 { fill: #1f6fb8; stroke: #1f6fb8 }\n"
	".l2 { fill: #7c8a99; stroke: #7c8a99 } .dot { stroke: none } .wide { stroke-width: 3 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e4e9ee } .dim { fill: #a0abb6 }\n"
	".paper { fill: #14191f } .box { fill: #20272f; stroke: #5a6673 }\n"
	".clock { fill: #463a12; stroke: #d0aa3a } .rule, .zoom { stroke: #5a6673 }\n"
	".mark { stroke: #e4e9ee }\n"
	".l0 { fill: #ff9d5c; stroke: #ff9d5c } .l1 { fill: #62b0f5; stroke: #62b0f5 }\n"
	".l2 { fill: #8995a1; stroke: #8995a1 }\n"
	"}\n";

void svg_begin(unsigned int width, unsigned int height, const char *title)
{
	printf("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
	       "<!-- SPDX%cLicense-Identifier: MIT -->\n"
	       "<!-- Made by \"make drawings\" from a run of the core. -->\n"
	       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\">\n"
	       "<title>%s</title>\n<style>\n%s</style>\n",
	       '-', width, height, width, height, title, style);
	svg_rect("paper", 0, 0, width, height);
}

void svg_rect(const char *class, double x, double y, double width, double height)
{
	printf("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
	       class, x, y, width, height);
}

void svg_line(const char *class, double x1, double y1, double x2, double y2)
{
	printf("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
	       class, x1, y1, x2, y2);
}

void svg_dot(const char *class, double x, double y, double r)
{
	printf("<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class, x, y, r);
}

void svg_text(const char *class, double x, double y, const char *format, ...)
{
	va_list args;

	printf("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("</text>\n");
}

void svg_end(void)
{
	printf("</svg>\n");
}
