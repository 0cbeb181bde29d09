package io.hvd.launch.setup;

import io.hvd.config.HvdProgram;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The distribution's packages: those that this machine lacks, and their installation by apt-get. */
final class Packages {

    private static final Path ROOT = Path.of("/");
    private static final String APT = "apt-get";

    private final Tools tools;
    private final Path certificates;
    private final boolean mayInstall;

    /** @param mayInstall whether it may install, as root; otherwise the message says what to ask for */
    Packages(Tools tools, boolean mayInstall) {
        this(tools, mayInstall, Path.of("/etc/ssl/certs/ca-certificates.crt"));
    }

    Packages(Tools tools, boolean mayInstall, Path certificates) {
        this.tools = tools;
        this.mayInstall = mayInstall;
        this.certificates = certificates;
    }

    /** @throws SetupException that names the packages, if they are not installed now */
    void require(List<String> missing) throws IOException, InterruptedException {
        if (missing.isEmpty()) {
            return;
        }
        if (!tools.has(APT)) {
            throw new SetupException("this machine lacks what Debian calls " + String.join(", ", missing)
                    + ", and has no apt-get; ask its administrator for Open MPI with its Java bindings and for a JDK");
        }
        String line = line(missing);
        if (!mayInstall) {
            throw new SetupException("ask the administrator for: " + line + "; as root, " + HvdProgram.SETUP.lineOfJar()
                    + " --install runs it");
        }
        install(missing);
    }

    private void install(List<String> missing) throws IOException, InterruptedException {
        // One broken source among several is no reason to stop: the installation itself tells what it cannot get.
        if (tools.result(ROOT, List.of(APT, "update")).exitCode() != 0) {
            tools.say("going on although apt-get update failed");
        }
        tools.say("installing " + String.join(" ", missing));
        List<String> words = new ArrayList<>(
                List.of(APT, "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"));
        words.addAll(missing);
        tools.run(ROOT, words, "apt-get could not install what is missing; its own words stand above");
    }

    private static String line(List<String> missing) {
        return "apt-get install --no-install-recommends " + String.join(" ", missing);
    }

    /** The packages with which mpi.jar is compiled. */
    List<String> forCompiling(Jdk jdk) throws IOException, InterruptedException {
        List<String> missing = new ArrayList<>();
        if (jdk.home().isEmpty()) {
            missing.add(jdkPackage());
        }
        if (!tools.has("xz")) {
            missing.add("xz-utils");
        }
        if (tools.has(APT) && !Files.exists(certificates)) {
            missing.add("ca-certificates");
        }
        return missing;
    }

    /** Newer distributions have no JDK 17 any more, and older ones have a default below 17. */
    private String jdkPackage() throws IOException, InterruptedException {
        String wanted = "openjdk-17-jdk-headless";
        boolean known = !tools.has("apt-cache")
                || tools.result(ROOT, List.of("apt-cache", "show", wanted)).exitCode() == 0;
        return known ? wanted : "default-jdk-headless";
    }
}
