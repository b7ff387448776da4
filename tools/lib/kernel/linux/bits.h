/* SPDX-License-Identifier: MIT */
#pragma once

#define BIT(bit)		(1UL << (bit))
#define BIT_ULL(bit)		(1ULL << (bit))
#define GENMASK(high, low)	((2UL << (high)) - BIT(low))
