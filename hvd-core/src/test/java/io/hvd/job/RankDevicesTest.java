package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.Device;
import java.util.List;
import org.junit.jupiter.api.Test;

class RankDevicesTest {
    private final RankDevices devices = new RankDevices(3);

    @Test
    void aDeviceIsKnownByItsPlaceAmongTheRanksOwn() {
        devices.assign(List.of(Device.cuda(6), Device.cuda(7)));

        assertThat(devices.place("w", Device.cuda(6))).isEqualTo(Device.cuda(0));
        assertThat(devices.place("w", Device.cuda(7))).isEqualTo(Device.cuda(1));
        assertThat(devices.place("w", Device.CPU)).isEqualTo(Device.CPU);
    }

    @Test
    void anotherRanksDeviceIsRefused() {
        devices.assign(List.of(Device.cuda(6)));

        assertThatThrownBy(() -> devices.place("w", Device.cuda(0)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("tensor \"w\"", Device.cuda(0).toString(), "rank 3 has", "HVD_GPUS_PER_RANK");
    }

    /** The back end refuses it then, on all ranks alike. */
    @Test
    void aRankWithoutAGpuTakesAnyOfThemForTheFirst() {
        assertThat(devices.all()).isEmpty();
        assertThat(devices.place("w", Device.cuda(5))).isEqualTo(Device.cuda(0));
    }
}
