/* SPDX-License-Identifier: MIT */
#pragma once

#define SZ_64K	0x10000
#define SZ_1M	0x100000
