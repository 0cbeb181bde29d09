package com.example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.tensor.Device;
import java.util.Collections;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OverDevicesTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void devicesOfOneProcessLearnTheCircle(int devices) {
        long right = OverDevices.train(Collections.nCopies(devices, Device.CPU));

        assertTrue(right > 950, right + " of 1000 right");
    }
}
