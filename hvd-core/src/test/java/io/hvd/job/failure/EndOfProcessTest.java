package io.hvd.job.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.CalledMethods;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A policy alone ends the process: nothing else in the libraries calls halt or exit, as their byte code shows. */
class EndOfProcessTest {
    private static final List<String> ENDS = List.of(
            "java/lang/Runtime.halt", "java/lang/Runtime.exit", "java/lang/System.exit", "java/lang/Shutdown.exit");

    @Test
    void haltAndExitStandInOnePolicyAlone() throws Exception {
        List<String> found = new ArrayList<>();
        for (Path classes : List.of(
                Path.of("target", "classes"),
                Path.of("..", "hvd-optimizer", "target", "classes"),
                Path.of("..", "mpirun-scripts", "spark", "target", "classes"))) {
            CalledMethods.in(classes).forEach((type, called) -> {
                if (called.stream().anyMatch(ENDS::contains)) {
                    found.add(type);
                }
            });
        }
        assertThat(found).containsExactly("io/hvd/job/failure/EndProcess");
    }

    @Test
    void aCallIsSeen() throws Exception {
        assertThat(CalledMethods.of(EndProcess.class)).contains("java/lang/Runtime.halt", "java/lang/System.exit");
    }
}
