package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class UcxSignalsTest {
    private static final String UCX =
            "7f649ec14000-7f649ec1d000 r--p 00000000 fe:00 1184 /usr/lib/x86_64-linux-gnu/libucs.so.0.0.0";
    private static final String MPI = "7f649ec14000-7f649ec1d000 r--p 00000000 fe:00 1184 /usr/lib/libmpi.so.40";

    @Test
    void whoeverLetsUcxHaveTheSignalsOfTheJvmIsTold() {
        assertThat(UcxSignals.warning(Map.of(), Stream.of(MPI, UCX)))
                .get()
                .asString()
                .contains("mpirun -x UCX_ERROR_SIGNALS=", "found none");
        assertThat(UcxSignals.warning(Map.of("UCX_ERROR_SIGNALS", "SEGV,BUS"), Stream.of(UCX)))
                .get()
                .asString()
                .contains("found SEGV,BUS");
    }

    @Test
    void nothingIsSaidWhereUcxIsNotThereOrKeepsOff() {
        assertThat(UcxSignals.warning(Map.of(), Stream.of(MPI))).isEmpty();
        assertThat(UcxSignals.warning(Map.of("UCX_ERROR_SIGNALS", ""), Stream.of(MPI, UCX)))
                .isEmpty();
        assertThat(UcxSignals.warning(Map.of("UCX_ERROR_SIGNALS", "FPE"), Stream.of(UCX)))
                .isEmpty();
    }
}
