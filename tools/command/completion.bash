# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of twheel(1) for bash: make install puts it where bash-completion looks for
# it; anywhere else, source it.

# Complete the value of an option that takes one; or return status 1.
_twheel_value()
{
	case $1 in
	-c | --clock) compgen -W "monotonic boottime realtime tai" -- "$2" ;;
	-d | --device) compgen -f -- "$2" ;;
	--proc) compgen -d -- "$2" ;;
	--sort)
		compgen -W "pid command fd pending unread add cancel expire fires memory
			user" -- "$2" ;;
	-i | -n | -t | -w | --fd | --pid | --interval | --count | --tick | --wheel-size | --max-timers)
		;;
	*) return 1 ;;
	esac
	return 0
}

# The options of a command, or all.
_twheel_options()
{
	twheel help ${1:+"$1"} 2>/dev/null | grep -oE -- '--[a-z-]+'
}

# Print the words up to the cursor that are neither options nor their values.
_twheel_words()
{
	local i word last=

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# --clock=NAME is three words.
		if [ "$word" != = ] && [ "$last" != = ]; then
			case $word in
			-*) ;;
			*) _twheel_value "$last" "" >/dev/null || echo "$word" ;;
			esac
		fi
		last=$word
	done
}

_twheel()
{
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	local commands="after every run info top save load help" offer

	if [ "$current" = = ]; then
		current=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	mapfile -t COMPREPLY < <(_twheel_value "$before" "$current")
	if _twheel_value "$before" "$current" >/dev/null; then
		return
	fi
	mapfile -t words < <(_twheel_words)
	case $current,${words[0]},${#words[@]} in
	-*) offer=$(_twheel_options "${words[0]}") ;;
	*,,0 | *,help,1) offer=$commands ;;
	*,save,1 | *,load,1)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return ;;
	*,top,1) offer=$(cd /proc && echo [0-9]*) ;;
	*) return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$current")
}

complete -F _twheel twheel
