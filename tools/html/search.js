/* SPDX-License-Identifier: MIT */
/*
 * Search the documentation: the list shows the pages that have all of the words, with the
 * text around the first one. tools/html/run inserts the pages above: [file, title, text].
 */
const field = document.getElementById("search");
const list = document.querySelector("#pages ul");
const all = list.innerHTML;

/* An element with a text. */
function element(name, text)
{
	const made = document.createElement(name);

	made.textContent = text;
	return made;
}

/* A page as an item of the list. */
function item([file, title, text], word)
{
	const at = text.toLowerCase().indexOf(word);
	const line = document.createElement("li");
	const link = element("a", title);

	link.href = file;
	line.append(link, element("small", text.slice(Math.max(at - 30, 0), at + 60)));
	return line;
}

field.hidden = false;
field.addEventListener("input", () => {
	const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
	const found = pages.filter(([, title, text]) =>
		words.every((word) => (title + " " + text).toLowerCase().includes(word)));

	if (!words.length)
		list.innerHTML = all;
	else if (found.length)
		list.replaceChildren(...found.map((page) => item(page, words[0])));
	else
		list.replaceChildren(element("li", "No page has all of these words."));
});
