// SPDX-License-Identifier: MIT
/*
 * JSON as save files have it; see json.h
 *
 * A library would decode and allocate each member: at a million lines, that is most of the time.
 */
#include <errno.h>
#include <string.h>

#include "helpers.h"
#include "json.h"
#include "output.h"

static bool fail(struct json_object *object, const char *error)
{
	object->error = error;
	return false;
}

/* strspn() makes a table of 256 bytes at each call. */
static void skip_blanks(struct json_object *object)
{
	while (*object->at == ' ' || *object->at == '\t' || *object->at == '\r' ||
	       *object->at == '\n')
		object->at++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take one character, if it comes next. */
static bool take(struct json_object *object, char c)
{
	if (*object->at != c)
		return false;
	object->at++;
	return true;
}

/* Return the length of an escape sequence; 0 if it is not valid. */
static size_t escape_length(const char *at)
{
	if (at[1] == 'u')
		return strspn(at + 2, "0123456789abcdefABCDEF") >= 4 ? 6 : 0;
	return at[1] && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
}

static bool take_string(struct json_object *object, struct json_text *text)
{
	const char *at = object->at + 1;
	size_t len;

	text->start = at;
	for (; *at != '"'; at += len) {
		if ((unsigned char)*at < ' ')
			return fail(object, *at ? "a control character in a string" :
				    "a string without an end");
		if (*at == '\\')
			len = escape_length(at);
		else
			len = *at > 0 ? 1 : utf8_length(at);
		if (!len)
			return fail(object, *at == '\\' ? "a backslash with an unknown letter" :
				    "bytes that are not UTF-8");
	}
	text->len = (size_t)(at - text->start);
	object->at = at + 1;
	return true;
}

static bool take_digits(struct json_object *object)
{
	const char *start = object->at;

	while (is_digit(*object->at))
		object->at++;
	return object->at > start;
}

static bool take_number(struct json_object *object, struct json_text *text)
{
	text->start = object->at;
	take(object, '-');
	if (!take(object, '0') && !take_digits(object))
		return fail(object, "a number without digits");
	if (take(object, '.') && !take_digits(object))
		return fail(object, "a number without digits after the point");
	if (take(object, 'e') || take(object, 'E')) {
		if (!take(object, '-'))
			take(object, '+');
		if (!take_digits(object))
			return fail(object, "a number without digits in the exponent");
	}
	text->len = (size_t)(object->at - text->start);
	return true;
}

static bool take_word(struct json_object *object, struct json_text *text)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		text->len = strlen(words[i]);
		if (strncmp(object->at, words[i], text->len))
			continue;
		text->start = object->at;
		object->at += text->len;
		return true;
	}
	return fail(object, "no value after a name");
}

static bool take_value(struct json_object *object, struct json_member *member)
{
	switch (*object->at) {
	case '"':
		member->type = JSON_STRING;
		return take_string(object, &member->value);
	case '-':
	case '0' ... '9':
		member->type = JSON_NUMBER;
		return take_number(object, &member->value);
	case '{':
	case '[':
		return fail(object, "an object or an array as a value");
	default:
		member->type = JSON_WORD;
		return take_word(object, &member->value);
	}
}

static bool finish(struct json_object *object)
{
	skip_blanks(object);
	return *object->at ? fail(object, "text after the object") : false;
}

/**
 * json_next() - read a member
 * @object: the object; at first, all but @object->at is zero.
 * @member: set to the member.
 *
 * Return: whether there was one. If not, the object and the line have ended, or
 * @object->error is set.
 */
bool json_next(struct json_object *object, struct json_member *member)
{
	bool first = !object->begun;

	skip_blanks(object);
	if (first) {
		if (!take(object, '{'))
			return fail(object, "not a JSON object");
		object->begun = true;
		skip_blanks(object);
	}
	if (take(object, '}'))
		return finish(object);
	if (!first) {
		if (!take(object, ','))
			return fail(object, "neither a comma nor a brace after a value");
		skip_blanks(object);
	}
	if (*object->at != '"')
		return fail(object, "a member without a name");
	if (!take_string(object, &member->name))
		return false;
	skip_blanks(object);
	if (!take(object, ':'))
		return fail(object, "no colon after a name");
	skip_blanks(object);
	return take_value(object, member);
}

/**
 * json_is() - compare a name or a string
 * @text: the string, as it is in the line.
 * @word: what it may be: characters that need no backslash.
 *
 * Return: whether they are equal.
 */
bool json_is(const struct json_text *text, const char *word)
{
	return strlen(word) == text->len && !memcmp(text->start, word, text->len);
}

/**
 * json_number() - the value of a member that is a whole number, or a string of its digits
 * @member: the member.
 * @number: set to the value.
 *
 * Return: 0; -EINVAL when it is something else, a fraction or negative; -ERANGE when it is
 * larger than 64 bits hold.
 */
int json_number(const struct json_member *member, uint64_t *number)
{
	const struct json_text *text = &member->value;
	uint64_t sum = 0;
	size_t i;

	if (member->type == JSON_WORD || !text->len)
		return -EINVAL;
	for (i = 0; i < text->len; i++) {
		if (!is_digit(text->start[i]))
			return -EINVAL;
	}
	for (i = 0; i < text->len; i++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, text->start[i] - '0', &sum))
			return -ERANGE;
	}
	*number = sum;
	return 0;
}
