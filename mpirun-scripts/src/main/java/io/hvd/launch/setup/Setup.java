package io.hvd.launch.setup;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFile;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.words.UsageException;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.mpi.OpenMpi;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Makes a machine ready for ranks of hvd, as far as a user of the jars needs it: finds Open MPI, and puts the mpi.jar of
 * its version into the local Maven repository, where hvd looks for it. What is there already is left as it is.
 */
public final class Setup {

    private static final int FAILED = 1;
    private static final int USAGE = 2;

    private final Map<String, String> environment;
    private final Tools tools;
    private final PrintStream out;

    Setup(Map<String, String> environment, PrintStream out, PrintStream err) {
        this.environment = environment;
        this.tools = new Tools(environment, err);
        this.out = out;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        System.exit(new Setup(System.getenv(), System.out, System.err).run(args));
    }

    int run(String... args) throws IOException, InterruptedException {
        SetupOptions options;
        try {
            options = SetupOptions.parse(args);
        } catch (UsageException e) {
            tools.say(e.getMessage());
            return USAGE;
        }
        try {
            out.print(options.help() ? SetupOptions.helpText() : perform(options));
            return 0;
        } catch (SetupException | UsageException | HvdException e) {
            tools.say(e.getMessage());
            return FAILED;
        }
    }

    private String perform(SetupOptions options) throws IOException, InterruptedException {
        HvdConfig config = HvdConfig.from(environment);
        Jdk jdk = Jdk.ofThisMachine(tools);
        var packages = new Packages(tools, mayInstall(options));
        MpiInstall install = requireMpirun(packages, jdk);
        Optional<String> foreign = MpiProvider.byForeignFunctions(config);
        if (foreign.isPresent() && lacksBindings(install, config)) {
            return "setup: " + install.version().text() + " (" + install.mpirun()
                    + ") needs no mpi.jar: this Java calls " + foreign.get()
                    + " by foreign functions, as any from 22 on does" + System.lineSeparator();
        }
        OpenMpi mpi = OpenMpi.locate(config);
        Path repository = options.repository().orElseGet(MpiProvider::localRepository);
        Path jar = mpi.jarIn(repository);
        Optional<Path> present = options.repository().isPresent() ? there(jar) : suitable(config);
        if (present.isEmpty()) {
            if (mpi.ownJar().isEmpty()) {
                packages.require(packages.forCompiling(jdk));
            }
            Files.createDirectories(jar.getParent());
            WholeFile.write(jar, new MpiJarMaker(tools, jdk).jarFor(mpi));
        }
        return said(mpi, present.orElse(jar)) + advice(config, jar);
    }

    private boolean mayInstall(SetupOptions options) {
        boolean root =
                new MachineSurvey(Path.of("/"), environment).survey(List.of()).uid() == 0;
        return options.install() && root;
    }

    private static boolean lacksBindings(MpiInstall install, HvdConfig config) {
        if (install.version().startsWithHydra()) {
            return true;
        }
        try {
            OpenMpi.locate(config);
            return false;
        } catch (HvdException none) {
            return true;
        }
    }

    /** A machine without any MPI is told everything that it lacks at once. */
    private MpiInstall requireMpirun(Packages packages, Jdk jdk) throws IOException, InterruptedException {
        boolean named = !environment.getOrDefault("HVD_OPENMPI_HOME", "").isEmpty();
        if (!named && !tools.has("mpirun")) {
            List<String> missing = new ArrayList<>(List.of("openmpi-bin"));
            missing.addAll(packages.forCompiling(jdk));
            packages.require(missing);
        }
        MpiInstall install = MpiInstall.find(environment);
        Optional<String> obstacle =
                install.version().obstacle(OptionalInt.of(Runtime.version().feature()));
        if (obstacle.isPresent()) {
            throw new SetupException(
                    install.mpirun() + " is " + install.version().text() + ": " + obstacle.get()
                            + ". Or set HVD_OPENMPI_HOME to the prefix of an Open MPI 4.1 or 5.0");
        }
        return install;
    }

    private static Optional<Path> there(Path jar) {
        return Optional.of(jar).filter(Files::isRegularFile);
    }

    private static Optional<Path> suitable(HvdConfig config) {
        try {
            return Optional.of(MpiProvider.jar(config));
        } catch (HvdException none) {
            return Optional.empty();
        }
    }

    private static String said(OpenMpi mpi, Path jar) {
        return "setup: Open MPI " + mpi.version() + " (" + mpi.prefix() + "), its mpi.jar is " + jar
                + System.lineSeparator();
    }

    /** A jar in another repository, or behind a variable that names another jar, is not found by itself. */
    private static String advice(HvdConfig config, Path jar) {
        return suitable(config).isPresent()
                ? ""
                : "setup: hvd finds it there after export HVD_MPI_JAR=" + jar + System.lineSeparator();
    }
}
