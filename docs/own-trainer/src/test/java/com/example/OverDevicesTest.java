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

        // With a rate of 0.05 to the end, 897 to 979 were right, depending on the start weights; about half if it learns nothing.
        assertTrue(right > 850, right + " of 1000 right");
    }
}
