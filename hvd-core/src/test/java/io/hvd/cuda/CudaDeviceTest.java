package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;

/** Order and arguments of the calls, with a fake that records them. That proves the order, not a device. */
class CudaDeviceTest {
    private static final long STREAM = 0x57;
    private static final Conversion HALVED = new Conversion(DType.FLOAT32, DType.FLOAT16, 0.5);

    private final RecordingCuda cuda = new RecordingCuda();

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    private static List<DeviceSegment> segments(int number, long count) {
        List<DeviceSegment> segments = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            segments.add(new DeviceSegment(0x100000 + 0x10000L * i, 0x900000 + 0x10000L * i, count));
        }
        return segments;
    }

    private CudaDevice opened() {
        CudaDevice device = CudaDevice.open(cuda);
        assertThat(cuda.takeCalls()).containsExactly("load module");
        return device;
    }

    @Test
    void aBatchIsOneLaunchBehindTheCopyOfItsTable() {
        CudaDevice device = opened();
        device.kernels().convert(segments(3, 5000), HALVED, STREAM);
        assertThat(cuda.takeCalls())
                .containsExactly(
                        "create event 1",
                        "allocate pinned 1 of 8192",
                        "allocate 8192 at 10000",
                        "copy 96 of pinned 1 from 0 to 10000 on 57",
                        "look up hvd_float32_to_float16",
                        "launch 6x256 with 3 rows at 10000, 6 tiles, scale 0.5, flag 0 on 57",
                        "record 1 on 57");
        device.kernels().convertAndCheck(segments(1, 1), HALVED, 0xF1A6, STREAM);
        assertThat(cuda.takeCalls())
                .endsWith(
                        "copy 32 of pinned 2 from 0 to 20000 on 57",
                        "launch 1x256 with 1 rows at 20000, 1 tiles, scale 0.5, flag f1a6 on 57",
                        "record 2 on 57");
    }

    @Test
    void aTableIsWrittenAgainOnlyOnceItsLastLaunchIsDone() {
        CudaDevice device = opened();
        for (int i = 0; i < 4; i++) {
            device.kernels().convert(segments(2, 100 + i), HALVED, STREAM + i);
        }
        assertThat(cuda.takeCalls()).noneMatch(call -> call.startsWith("await"));
        device.kernels().convert(segments(2, 777), HALVED, STREAM);
        assertThat(cuda.takeCalls())
                .containsExactly(
                        "await event 1",
                        "copy 64 of pinned 1 from 0 to 10000 on 57",
                        "launch 2x256 with 2 rows at 10000, 2 tiles, scale 0.5, flag 0 on 57",
                        "record 1 on 57");
    }

    @Test
    void aTableGrowsWithTheBatchAndOnlyWhenItIsFree() {
        CudaDevice device = opened();
        for (int i = 0; i < 4; i++) {
            device.kernels().convert(segments(1, 1), HALVED, STREAM);
        }
        cuda.takeCalls();
        device.kernels().convert(segments(257, 1), HALVED, STREAM);
        assertThat(cuda.takeCalls())
                .startsWith("await event 1", "free pinned 1", "free 10000")
                .contains("allocate 16384 at 50000");
        device.close();
        assertThat(cuda.held()).isZero();
    }

    @Test
    void aTableWhoseLaunchFailedIsWaitedForToo() {
        CudaDevice device = opened();
        cuda.launchesFail = true;
        assertThatThrownBy(() -> device.kernels().convert(segments(1, 1), HALVED, STREAM))
                .hasMessageContaining("the launch failed");
        assertThat(cuda.takeCalls()).endsWith("record 1 on 57");
        device.close();
        assertThat(cuda.takeCalls()).startsWith("await event 1");
    }

    @Test
    void theGridCoversTheGpuAndNoMore() {
        CudaDevice device = opened();
        device.kernels().convert(segments(1, 1L << 33), HALVED, STREAM);
        assertThat(cuda.takeCalls())
                .contains("launch 32x256 with 1 rows at 10000, 2097152 tiles, scale 0.5, flag 0 on 57");
    }

    @Test
    void withoutElementsThereIsNothingToLaunch() {
        CudaDevice device = opened();
        device.kernels().convert(List.of(), HALVED, STREAM);
        device.kernels().convert(List.of(new DeviceSegment(0, 0, 0)), HALVED, STREAM);
        assertThat(cuda.takeCalls()).noneMatch(call -> call.startsWith("copy") || call.startsWith("launch"));
    }

    @Test
    void stagesAndStreamsPassOnWhatTheyAreTold() {
        CudaDevice device = opened();
        DeviceStage stage = device.allocate(1000);
        PinnedStage pinned = device.allocatePinned(600);
        CudaStream stream = device.createStream();
        cuda.takeCalls();
        stage.clear(STREAM);
        stream.follow(STREAM);
        pinned.copyFromDevice(stage.address(), 200, 400, stream.handle());
        pinned.copyToDevice(100, stage.address() + 8, 300, stream.handle());
        stream.holdBack(STREAM);
        stream.await();
        assertThat(cuda.takeCalls())
                .containsExactly(
                        "clear 1000 at 10000 on 57",
                        "record 2 on 57",
                        "hold 50 until 2",
                        "copy 400 of 10000 to pinned 1 from 200 on 50",
                        "copy 300 of pinned 1 from 100 to 10008 on 50",
                        "record 2 on 50",
                        "hold 57 until 2",
                        "await stream 50");
        stream.close();
        pinned.close();
        stage.close();
        device.close();
        assertThat(cuda.takeCalls()).endsWith("unload module a0", "close");
        assertThat(cuda.held()).isZero();
    }

    @Test
    void aDriverThatIsTooOldIsNamedWithWhatIsNeeded() {
        cuda.driver = 9020;
        assertThatThrownBy(() -> CudaDevice.open(cuda))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-201", "driver", "CUDA 9.2", "CUDA 10.0 or newer");
        assertThat(cuda.takeCalls()).containsExactly("close");
    }

    @Test
    void aGpuThatIsTooOldIsNamedWithWhatIsNeeded() {
        cuda.capability = 70;
        assertThatThrownBy(() -> CudaDevice.open(cuda))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-201", "capability 7.0", "7.5 (Turing) or newer");
        assertThat(cuda.takeCalls()).containsExactly("close");
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void withoutADriverThereIsAnErrorTheFirstTimeAndTheSecond() {
        for (int time = 0; time < 2; time++) {
            assertThatThrownBy(() -> CudaDevice.open(0))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-107", "JCuda");
        }
    }
}
