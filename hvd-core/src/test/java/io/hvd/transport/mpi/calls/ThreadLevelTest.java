package io.hvd.transport.mpi.calls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThreadLevelTest {
    @ParameterizedTest
    @CsvSource({"0, MPI_THREAD_FUNNELED", "1, MPI_THREAD_SINGLE"})
    void theSettingDecidesWhatMpiIsAskedFor(String disabled, String name) {
        HvdConfig config = HvdConfig.from(Map.of("HOROVOD_MPI_THREADS_DISABLE", disabled));

        assertThat(ThreadLevel.wantedBy(config)).hasToString(name);
    }

    @ParameterizedTest
    @CsvSource({"SINGLE, SINGLE", "SINGLE, FUNNELED", "FUNNELED, FUNNELED", "FUNNELED, SERIALIZED", "FUNNELED, MULTIPLE"
    })
    void asMuchAsIsWantedOrMoreWillDo(ThreadLevel wanted, ThreadLevel provided) {
        assertThatCode(() -> ThreadLevel.require(wanted, provided, true)).doesNotThrowAnyException();
    }

    @Test
    void tooLittleIsNamedWithWhatThereIsAndWhatIsNeeded() {
        assertRefused(ThreadLevel.FUNNELED, ThreadLevel.SINGLE, true)
                .hasMessageContainingAll("thread level MPI_THREAD_SINGLE,", "needs MPI_THREAD_FUNNELED")
                .hasMessageNotContaining("another thread");
    }

    @Test
    void anotherThreadsMpiIsRefusedWhateverItOffers() {
        assertRefused(ThreadLevel.SINGLE, ThreadLevel.MULTIPLE, false)
                .hasMessageContainingAll(
                        "thread level MPI_THREAD_MULTIPLE on another thread", "needs MPI_THREAD_SINGLE");
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> assertRefused(
            ThreadLevel wanted, ThreadLevel provided, boolean mainThread) {
        return assertThatThrownBy(() -> ThreadLevel.require(wanted, provided, mainThread))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.MPI_LEVEL))
                .hasMessageContainingAll("HVD-106", "Call Hvd.init() first");
    }
}
