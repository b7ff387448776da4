/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
