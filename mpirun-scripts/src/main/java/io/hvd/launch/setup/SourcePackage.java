package io.hvd.launch.setup;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Fetches the source package of an installed Debian package without root and without touching the machine's apt
 * configuration: apt is given a folder of its own, with the machine's package sources turned into sources of source packages.
 */
final class SourcePackage {

    private final Tools tools;
    private final Path apt;
    private final Scratch scratch;

    /** @param apt the machine's configuration of apt */
    SourcePackage(Tools tools, Path apt, Scratch scratch) {
        this.tools = tools;
        this.apt = apt;
        this.scratch = scratch;
    }

    /** The installed package that a file came with; empty if it came otherwise. */
    Optional<String> ownerOf(Path file) throws IOException, InterruptedException {
        if (!tools.has("dpkg-query")) {
            return Optional.empty();
        }
        Tools.Result said = tools.result(scratch.path(), List.of("dpkg-query", "-S", file.toString()));
        return said.exitCode() == 0
                ? said.output().lines().findFirst().map(line -> line.replaceFirst(": .*", ""))
                : Optional.empty();
    }

    /** Downloads the source of exactly the installed version of a package; the folder is the one it is in. */
    Path fetch(String owner) throws IOException, InterruptedException {
        String source = sourceOf(owner);
        writeEntries(scratch.folder("entries"));
        scratch.folder("lists/partial");
        scratch.folder("cache/archives/partial");
        Path folder = scratch.folder("source");
        // A package source that cannot be reached matters only if it is the one that has the package.
        tools.result(scratch.path(), words("update"));
        tools.run(
                folder,
                words("source", "--download-only", "--only-source", source),
                "apt has no source package " + source + "; if the archive has a newer " + owner
                        + ", upgrade it and try again");
        return folder;
    }

    private String sourceOf(String owner) throws IOException, InterruptedException {
        Tools.Result said = tools.result(
                scratch.path(), List.of("dpkg-query", "-W", "-f", "${source:Package}=${source:Version}", owner));
        return said.output().strip();
    }

    private void writeEntries(Path folder) throws IOException {
        List<String> lines = new ArrayList<>(lines(apt.resolve("sources.list")));
        for (Path file : files(apt.resolve("sources.list.d"))) {
            String name = file.getFileName().toString();
            if (name.endsWith(".sources")) {
                Files.write(folder.resolve(name), SourceEntries.ofStanzas(lines(file)));
            } else if (name.endsWith(".list")) {
                lines.addAll(lines(file));
            }
        }
        Files.write(folder.resolve("one-line.list"), SourceEntries.ofLines(lines));
    }

    private static List<Path> files(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    private static List<String> lines(Path file) throws IOException {
        return Files.isReadable(file) ? Files.readAllLines(file) : List.of();
    }

    private List<String> words(String... command) {
        List<String> words = new ArrayList<>(List.of("apt-get", "-qq"));
        Stream.of(
                        "Dir::Etc::sourcelist=/dev/null",
                        "Dir::Etc::sourceparts=" + scratch.path().resolve("entries"),
                        "Dir::State::lists=" + scratch.path().resolve("lists"),
                        "Dir::Cache=" + scratch.path().resolve("cache"),
                        // The caller's own user downloads: apt's unprivileged one may not enter a private folder.
                        "APT::Sandbox::User=" + System.getProperty("user.name"),
                        "Acquire::Languages=none",
                        "Acquire::http::Timeout=20")
                .forEach(setting -> words.addAll(List.of("-o", setting)));
        words.addAll(List.of(command));
        return words;
    }
}
