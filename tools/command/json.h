/* SPDX-License-Identifier: MIT */
/*
 * JSON as save files have it: an object on a line, without objects or arrays in it
 *
 * The object is read a member at a time. Nothing is copied or decoded: names and values point
 * into the line, strings without their quotes. All of the grammar of RFC 8259 that can occur in
 * such an object is checked, UTF-8 included.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
	JSON_STRING,
	JSON_NUMBER,
	JSON_WORD,	/* true, false or null */
};

/**
 * struct json_text - a part of the line
 * @start: its first byte.
 * @len: how many bytes.
 */
struct json_text {
	const char *start;
	size_t len;
};

/**
 * struct json_member - a member of an object
 * @name: its name.
 * @value: its value.
 * @type: what the value is.
 */
struct json_member {
	struct json_text name;
	struct json_text value;
	enum json_type type;
};

/**
 * struct json_object - an object that is read
 * @at: the rest of the line.
 * @begun: the brace has been read.
 * @error: what is wrong, or NULL.
 */
struct json_object {
	const char *at;
	bool begun;
	const char *error;
};

bool json_next(struct json_object *object, struct json_member *member);
bool json_is(const struct json_text *text, const char *word);
int json_number(const struct json_member *member, uint64_t *number);

#endif /* JSON_H */
