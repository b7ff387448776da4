# SPDX-License-Identifier: MIT
"""Draws the results with gnuplot."""

import collections
import glob
import os
import shutil
import subprocess

from plan import BUILD, FACILITIES, Error
from tables import grouped

# One colour for each facility, also for colour-blind readers.
COLOURS = {
    "twheel": "#000000", "libtwheel": "#7f3b08", "libtwheel-user": "#b35806",
    "core": "#888888", "timerfd": "#d55e00",
    "posix": "#e69f00", "io_uring": "#cc79a7", "libevent": "#0072b2",
    "libev": "#56b4e9", "hrtimer": "#009e73", "timer_list": "#b8a800",
}
PANELS = (("add", "add"), ("cancel", "cancel, random order"),
          ("modify", "modify"), ("expire", "expire and deliver, all at once"))


def curves(results, op):
    """The rows to draw of an operation: of twheel, single calls and the largest batch."""
    found = collections.defaultdict(list)
    for r in results.of(op):
        if r.value is None or r.batch not in (1, 1024) or r.facility not in COLOURS:
            continue
        found[r.facility, r.batch].append((r.pending, r.value))
    for (facility, batch), points in sorted(
            found.items(), key=lambda item: list(COLOURS).index(item[0][0])):
        yield facility, batch, sorted(points)


def gnuplot(script):
    done = subprocess.run(["gnuplot"], input=script, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Error("gnuplot: " + done.stdout)


def datablock(name, points):
    return "$%s << EOD\n%s\nEOD\n" % (
        name, "\n".join("%g %g" % point for point in points))


FONT = 13
STYLE = """
set border 3 lc rgb '#444444'
set tics nomirror out textcolor rgb '#222222'
set grid ytics lc rgb '#dddddd' lt 1 lw 0.7
set logscale xy
"""


def line_style(facility, batch):
    """How a curve looks, and what it is called."""
    batches = len(FACILITIES[facility].batches) > 1
    twheel = facility == "twheel"
    label = facility
    if FACILITIES[facility].kernel:
        label += ", in the kernel"
    if batches:
        label += ", single calls" if batch == 1 else ", batches of 1024"
    return "with linespoints lc rgb '%s' lw %.1f pt %d ps 0.7 dt %d" % (
        COLOURS[facility], 3.5 if twheel else 1.8, 5 if twheel else 7,
        2 if batches and batch == 1 else 1), label


def panel(results, op, title, legend):
    """A chart of the cost over the number of pending timers."""
    script, plots = "", []
    for number, (facility, batch, points) in enumerate(curves(results, op)):
        name = "%s%d" % (op, number)
        script += datablock(name, points)
        style, _ = line_style(facility, batch)
        plots.append("$%s %s notitle" % (name, style))
    if legend:
        plots += ["keyentry %s title '%s' noenhanced" % line for line in legend]
    return script + "set title '%s' font 'sans,%d'\nplot %s\n" % (
        title, FONT + 2, ", \\\n".join(plots))


def cost_chart(results, terminal, path):
    """A panel for each operation, one scale and one legend for all."""
    panels = [(op, title) for op, title in PANELS if any(curves(results, op))]
    if not panels:
        return
    keys = {curve[:2] for op, _ in panels for curve in curves(results, op)}
    keys = sorted(keys, key=lambda key: (list(COLOURS).index(key[0]), key[1]))
    legend = list(dict.fromkeys(line_style(*key) for key in keys))
    rows, columns = (len(panels) + 1) // 2, min(2, len(panels))
    width, height = 420 + 460 * columns, 80 + 430 * rows
    gnuplot("set terminal %s\nset output '%s'\n" % (
        terminal % (width, height), path) + STYLE + """
set multiplot layout %d,%d margins screen %f,%f,%f,%f spacing screen %f,%f
set format xy '10^{%%L}'
set yrange [10:1e6]
set xrange [700:1.4e7]
set xlabel 'pending timers'
set ylabel 'instructions per timer'
set key at screen %f,screen 0.5 left center Left reverse samplen 3 spacing 1.3
""" % (rows, columns, 80 / width, 1 - 320 / width, 75 / height, 1 - 50 / height,
       75 / width, 125 / height, 1 - 300 / width) + "".join(
           panel(results, op, title, legend if number == 0 else ())
           for number, (op, title) in enumerate(panels)) + "unset multiplot\n")


def lateness_chart(results, late, terminal, path):
    """How many of the timers are later than so much."""
    points = [(value / 1000, 1 - share) for value, share in late if share < 1]
    measured = results.of("lateness_max")
    if not points or len(measured) != 1:
        return
    gnuplot("set terminal %s\nset output '%s'\n" % (terminal % (900, 520), path) +
            STYLE + datablock("late", points) + """
set title 'Lateness: %s timers pending, uniform over 30 minutes'
set xlabel 'past the tick boundary, in thousands of instructions \
(= microseconds at one per ns)'
set ylabel 'share of the timers that are later'
set format y '%g %%'
set format x '%.0f'
set yrange [*:150]
unset key
plot $late using 1:(100 * $2) with steps lc rgb '#0072b2' lw 2.5
""".replace("%s", grouped(measured[0].pending)))


def mark(path):
    """Says in a chart that was just drawn what every file here says of itself."""
    if not os.path.exists(path):
        return
    with open(path) as file:
        declaration, rest = file.read().split("?>", 1)
    with open(path, "w") as file:
        file.write(declaration + "?>\n<!-- SPDX-License-Identifier: MIT -->" + rest)


def draw(results, late):
    if not shutil.which("gnuplot"):
        raise Error("gnuplot is missing; run tools/vm/deps")
    for path in glob.glob(os.path.join(BUILD, "bench-*.???")):
        os.remove(path)
    for kind, terminal in (
            ("svg", "svg size %%d,%%d font 'sans,%d' background '#ffffff'"),
            ("png", "pngcairo size %%d,%%d font 'sans,%d'")):
        terminal = terminal % FONT
        cost_chart(results, terminal, os.path.join(BUILD, "bench-cost." + kind))
        lateness_chart(results, late, terminal,
                       os.path.join(BUILD, "bench-lateness." + kind))
    for chart in ("cost", "lateness"):
        mark(os.path.join(BUILD, "bench-%s.svg" % chart))
