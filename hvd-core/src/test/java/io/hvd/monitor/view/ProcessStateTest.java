package io.hvd.monitor.view;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessStateTest {
    @Test
    void theStateOfAProcessIsReadBehindItsCommand() {
        String fields = " T 1 4711 4711 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 9876 1 2";
        Optional<ProcessStat> stat = ProcessStat.parse("4711 (a (strange) name)" + fields);

        assertThat(stat).contains(new ProcessStat('T', 9876));
        assertThat(ProcessState.of(stat, 9876)).isEqualTo(ProcessState.STOPPED);
        assertThat(ProcessState.of(stat, 1)).as("another process by now").isEqualTo(ProcessState.GONE);
        assertThat(ProcessState.of(Optional.empty(), 1)).isEqualTo(ProcessState.GONE);
    }

    @ParameterizedTest
    @CsvSource({
        "'proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0', true",
        "'proc /proc proc rw,hidepid=0 0 0', true",
        "'proc /proc proc rw,hidepid=off 0 0', true",
        "'proc /proc proc rw,relatime,hidepid=2 0 0', false",
        "'proc /proc proc rw,hidepid=invisible,gid=7 0 0', false",
        "'proc /proc proc rw,hidepid=1 0 0', false",
        "'none /tmp tmpfs rw,hidepid=2 0 0', true",
    })
    void aProcessThatIsNotSeenIsGoneWhereNothingIsHidden(String mount, boolean shows) {
        assertThat(ProcessStat.showsEverything(List.of("none / overlay rw 0 0", mount)))
                .isEqualTo(shows);
    }
}
