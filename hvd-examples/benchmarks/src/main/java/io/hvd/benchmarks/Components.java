package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The components for collectives that an installation of Open MPI has.
 *
 * @param names such as {@code tuned}
 */
record Components(Set<String> names) {
    private static final Pattern LINE = Pattern.compile("^mca:coll:([^:]+):", Pattern.MULTILINE);

    /** The components of the installation whose ompi_info is on PATH; none without one. */
    static Components installed() {
        try {
            Process process = new ProcessBuilder("ompi_info", "--parsable")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return of(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            return new Components(Set.of());
        }
    }

    /** @param said what {@code ompi_info --parsable} prints */
    static Components of(String said) {
        return new Components(LINE.matcher(said)
                .results()
                .map((MatchResult line) -> line.group(1))
                .collect(Collectors.toUnmodifiableSet()));
    }

    /** The settings that can have an effect here; the progress is told of each one that cannot. */
    List<MpiSetting> usable(List<MpiSetting> settings, Benchmark.Progress progress) {
        List<MpiSetting> usable = new ArrayList<>();
        for (MpiSetting setting : settings) {
            Optional<String> missing = setting.component().filter(name -> !names.contains(name));
            missing.ifPresentOrElse(
                    name -> progress.say("Open MPI's setting " + setting.name()
                            + " is left out, because ompi_info names no component coll/" + name + " here"),
                    () -> usable.add(setting));
        }
        return usable;
    }
}
