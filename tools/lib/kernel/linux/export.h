/* SPDX-License-Identifier: MIT */
#pragma once

/* libtwheel.map lists the exported symbols. */
#define EXPORT_SYMBOL_GPL(name)	struct __twheel_nothing
