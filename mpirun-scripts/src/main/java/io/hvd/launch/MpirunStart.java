package io.hvd.launch;

import io.hvd.launch.line.MpirunLine;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.MpiJob;
import io.hvd.launch.process.StartedJob;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** mpirun starts the ranks. */
record MpirunStart(MpiInstall install, MpirunLine line) implements Start {

    @Override
    public String explained() {
        return line.explained();
    }

    @Override
    public StartedJob job(Map<String, String> variables, Path folder, LaunchEnvironment around) {
        Map<String, String> environment = new HashMap<>(install.environment());
        environment.putAll(line.environment());
        environment.putAll(variables);
        return new MpiJob(line.words(), install.version().startsWithHydra(), environment, folder, around);
    }
}
