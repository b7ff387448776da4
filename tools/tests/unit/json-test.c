// SPDX-License-Identifier: MIT
/*
 * TAP test of json.c: runs on the host, needs no wheel.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "tap.h"

/* Each value with the first letter of its type: name=Svalue name=Nvalue, and then the error. */
static const struct {
	const char *line;
	const char *read;
} lines[] = {
	/* Objects */
	{ "{}", "" },
	{ " {\t} \r", "" },
	{ "{\"a\":1}", "a=N1 " },
	{ "{ \"a\" : 1 , \"b\" : \"x\" }", "a=N1 b=Sx " },
	{ "{\"a\":1,\"a\":2}", "a=N1 a=N2 " },
	{ "{\"\":\"\"}", "=S " },
	{ "{\"a\":true,\"b\":false,\"c\":null}", "a=Wtrue b=Wfalse c=Wnull " },

	/* Numbers */
	{ "{\"a\":0}", "a=N0 " },
	{ "{\"a\":-0.5e+10}", "a=N-0.5e+10 " },
	{ "{\"a\":1E-9}", "a=N1E-9 " },
	{ "{\"a\":18446744073709551616}", "a=N18446744073709551616 " },
	{ "{\"a\":01}", "a=N0 !neither a comma nor a brace after a value" },
	{ "{\"a\":+1}", "!no value after a name" },
	{ "{\"a\":-}", "!a number without digits" },
	{ "{\"a\":.5}", "!no value after a name" },
	{ "{\"a\":1.}", "!a number without digits after the point" },
	{ "{\"a\":1e}", "!a number without digits in the exponent" },
	{ "{\"a\":0x10}", "a=N0 !neither a comma nor a brace after a value" },
	{ "{\"a\":NaN}", "!no value after a name" },

	/* Strings */
	{ "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00eF\"}",
	  "a=S\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00eF " },
	{ "{\"a\":\"\303\251\"}", "a=S\303\251 " },
	{ "{\"a\":\"x}", "!a string without an end" },
	{ "{\"a\":\"x\\\"}", "!a string without an end" },
	{ "{\"a\":\"\\x\"}", "!a backslash with an unknown letter" },
	{ "{\"a\":\"\\", "!a backslash with an unknown letter" },
	{ "{\"a\":\"\\u12g4\"}", "!a backslash with an unknown letter" },
	{ "{\"a\":\"\\u12", "!a backslash with an unknown letter" },
	{ "{\"a\":\"\t\"}", "!a control character in a string" },
	{ "{\"a\":\"\377\"}", "!bytes that are not UTF-8" },
	{ "{\"a\":\"\303", "!bytes that are not UTF-8" },
	{ "{\"a\":\"\355\240\200\"}", "!bytes that are not UTF-8" },

	/* Truncated text, or no object */
	{ "", "!not a JSON object" },
	{ "1", "!not a JSON object" },
	{ "[]", "!not a JSON object" },
	{ "{", "!a member without a name" },
	{ "{\"a", "!a string without an end" },
	{ "{\"a\"", "!no colon after a name" },
	{ "{\"a\":", "!no value after a name" },
	{ "{\"a\":1", "a=N1 !neither a comma nor a brace after a value" },
	{ "{\"a\":1,", "a=N1 !a member without a name" },
	{ "{\"a\":1,}", "a=N1 !a member without a name" },
	{ "{,\"a\":1}", "!a member without a name" },
	{ "{a:1}", "!a member without a name" },
	{ "{'a':1}", "!a member without a name" },
	{ "{\"a\" 1}", "!no colon after a name" },
	{ "{\"a\":1 \"b\":2}", "a=N1 !neither a comma nor a brace after a value" },
	{ "{\"a\":1}}", "a=N1 !text after the object" },
	{ "{} {}", "!text after the object" },
	{ "{\"a\":tru}", "!no value after a name" },
	{ "{\"a\":truex}", "a=Wtrue !neither a comma nor a brace after a value" },

	/* JSON that is not accepted here */
	{ "{\"a\":{}}", "!an object or an array as a value" },
	{ "{\"a\":[1]}", "!an object or an array as a value" },
};

static const struct {
	const char *value;
	enum json_type type;
	int err;
	uint64_t number;
} numbers[] = {
	{ "0", JSON_NUMBER, 0, 0 },
	{ "4711", JSON_NUMBER, 0, 4711 },
	{ "4711", JSON_STRING, 0, 4711 },
	{ "9007199254740993", JSON_NUMBER, 0, 9007199254740993 },
	{ "18446744073709551615", JSON_STRING, 0, UINT64_MAX },
	{ "18446744073709551616", JSON_STRING, -ERANGE, 0 },
	{ "99999999999999999999999999", JSON_NUMBER, -ERANGE, 0 },
	{ "99999999999999999999999999x", JSON_STRING, -EINVAL, 0 },
	{ "-1", JSON_NUMBER, -EINVAL, 0 },
	{ "1.0", JSON_NUMBER, -EINVAL, 0 },
	{ "1e3", JSON_NUMBER, -EINVAL, 0 },
	{ "", JSON_STRING, -EINVAL, 0 },
	{ " 1", JSON_STRING, -EINVAL, 0 },
	{ "\\u0031", JSON_STRING, -EINVAL, 0 },
	{ "true", JSON_WORD, -EINVAL, 0 },
};

static void test_line(const char *line, const char *expected)
{
	struct json_object object = { .at = line };
	struct json_member member;
	char read[256], *end = read;
	bool ok;

	while (json_next(&object, &member))
		end += sprintf(end, "%.*s=%c%.*s ", (int)member.name.len, member.name.start,
			       "SNW"[member.type], (int)member.value.len, member.value.start);
	sprintf(end, "%s%s", object.error ? "!" : "", object.error ? object.error : "");
	ok = tap_result(!strcmp(read, expected), "reads %s", line);
	if (!ok)
		tap_note("got %s", read);
}

static void test_number(size_t i)
{
	const struct json_member member = {
		.value = { numbers[i].value, strlen(numbers[i].value) },
		.type = numbers[i].type,
	};
	uint64_t number = 0;
	int err = json_number(&member, &number);

	if (!tap_result(err == numbers[i].err && number == numbers[i].number,
			"the number '%s', of type %d", numbers[i].value, numbers[i].type))
		tap_note("got error %d, %ju", err, (uintmax_t)number);
}

int main(void)
{
	size_t i;

	puts("TAP version 13");
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		test_line(lines[i].line, lines[i].read);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		test_number(i);
	return tap_done();
}
