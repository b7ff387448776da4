# SPDX-License-Identifier: MIT
"""Builds the programs of the native suites, and the parts that a mutant changes.

It reads the commands of make, and splits them into one object for each source, so that a
mutant compiles only the sources that include its file.
"""

import os
import shlex
import shutil
import subprocess

WORK = "build/mutants"
COMPILERS = {"cc", "gcc", "clang", os.environ.get("CC", "cc")}
# Writing debugging information takes longer than writing the code.
EXTRA = ["-g0", "-w"]


class DoesNotCompile(Exception):
    """The compiler or the linker fails on a mutant."""


def compile_object(folder, command, source, target, extra=()):
    """Compiles one source in a folder, and writes its includes to TARGET.d."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    done = subprocess.run([*command, *EXTRA, *extra, "-MMD", "-MF", target + ".d", "-c",
                           "-o", target, source], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise DoesNotCompile(done.stderr)


class Program:
    """A program of the Makefile: the sources of its objects, and its link command."""

    def __init__(self, root, name):
        self.root = root
        self.name = name
        self.target = "build/native/" + name
        # The command for each source, and its includes.
        self.compile = {}
        self.includes = {}
        self.link = []
        self.read_recipe()

    def read_recipe(self):
        recipe = subprocess.run(["make", "-nB", self.target], cwd=self.root, text=True,
                                capture_output=True, check=True).stdout
        source_of = {}
        for line in recipe.replace("\\\n", " ").splitlines():
            if line.split(" ", 1)[0] not in COMPILERS:
                continue
            words = [word for word in shlex.split(line) if word not in ("-MMD", "-MP", "-g")]
            output = words[words.index("-o") + 1]
            del words[words.index("-o"):words.index("-o") + 2]
            sources = [word for word in words if word.endswith(".c")]
            flags = [word for word in words
                     if not word.endswith((".c", ".o")) and word not in ("-c", "-pthread")
                     and not word.startswith(("-Wl,", "-l"))]
            for source in sources:
                self.compile[source] = flags
                source_of[output if "-c" in words else source] = source
            if output == self.target:
                self.link = [words[0], *(word for word in words[1:]
                                         if word.startswith(("-fsanitize", "-Wl,", "-l")))]
                linked = [source_of[word] for word in words if word in source_of]
        self.compile = {source: self.compile[source] for source in linked}
        assert self.link and self.compile, self.name

    def object_of(self, source):
        return os.path.abspath(os.path.join(
            WORK, "base", self.name, source.replace("/", "_") + ".o"))

    def build(self):
        """Compiles the unchanged program, and links it."""
        for source, command in self.compile.items():
            target = self.object_of(source)
            compile_object(self.root, command, source, target)
            with open(target + ".d", encoding="utf-8") as file:
                self.includes[source] = {os.path.normpath(word) for word in
                                         file.read().replace("\\\n", " ").split()[1:]}
        path = os.path.join(WORK, "base", self.name, self.name)
        self.link_to(path, map(self.object_of, self.compile))
        return os.path.abspath(path)

    def link_to(self, path, objects):
        done = subprocess.run([self.link[0], "-o", os.path.abspath(path), *objects,
                               *self.link[1:], "-pthread", "-lm"], cwd=self.root,
                              capture_output=True, text=True)
        if done.returncode:
            raise DoesNotCompile(done.stderr)

    def affected(self, path):
        """The sources that depend on the file."""
        return [source for source, files in self.includes.items() if path in files]

    def build_mutant(self, tree, path):
        """Links the program with the recompiled objects for a changed file of the tree."""
        objects = {source: self.object_of(source) for source in self.compile}
        for source in self.affected(path):
            objects[source] = os.path.join(tree, "objects", source.replace("/", "_") + ".o")
            compile_object(tree, self.compile[source], source, objects[source])
        program = os.path.join(tree, self.name)
        self.link_to(program, objects.values())
        return program

    def same_code(self, tree, path):
        """Whether the changed file compiles to the same code, without sanitizers."""
        for source in self.affected(path):
            command = [word for word in self.compile[source]
                       if not word.startswith(("-fsanitize", "-fno-sanitize", "-O"))]
            code = []
            for folder in self.root, tree:
                target = os.path.join(tree, "objects/plain.o")
                compile_object(folder, command, source, target, ["-O2"])
                with open(target, "rb") as file:
                    code.append(file.read())
            if code[0] != code[1]:
                return False
        return True


def make(tree, *words):
    """Runs make in a tree, where all that it needs is installed."""
    done = subprocess.run(["make", "-s", *words, "DEPS=", "KBUILD_ARGS="], cwd=tree,
                          capture_output=True, text=True)
    if done.returncode:
        raise DoesNotCompile(done.stderr)


def build_module(tree):
    """Builds the module of a tree."""
    make(tree, "module", "KERNEL=stock")
    return os.path.join(tree, "build/stock/twheel.ko")


def build_library(tree):
    """Builds the tests of libtwheel for the virtual machine, with the tree's libtwheel."""
    make(tree, "build/bin/twheel-library")
    return os.path.join(tree, "build/bin/twheel-library")


def copy_tree(root, name):
    """A copy of the sources, for one mutant at a time."""
    tree = os.path.abspath(os.path.join(WORK, name))
    shutil.rmtree(tree, ignore_errors=True)
    files = subprocess.run(["git", "ls-files"], cwd=root, text=True,
                           capture_output=True, check=True).stdout.splitlines()
    for file in files:
        os.makedirs(os.path.join(tree, os.path.dirname(file)), exist_ok=True)
        shutil.copy(os.path.join(root, file), os.path.join(tree, file))
    os.makedirs(os.path.join(tree, "build/native"))
    for name in "source", "include":
        os.symlink(os.path.realpath(os.path.join(root, "build/native", name)),
                   os.path.join(tree, "build/native", name))
    return tree
