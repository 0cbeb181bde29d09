package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.CppCompiler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs launches of segments.cu on the CPU: the same source, compiled by the host's C++ compiler. It proves the kernels'
 * arithmetic and which elements they reach, not what a GPU's compiler and memory do with them.
 */
final class HostGpu {
    /** Where the source and the destination of a launch begin, as far as its segments are concerned. */
    static final long START = 4096;

    private static final int ENTRY_BYTES = 32;

    private final Path folder;

    private HostGpu(Path folder) {
        this.folder = folder;
    }

    static HostGpu compiledInto(Path folder) {
        HostGpu gpu = new HostGpu(folder);
        CppCompiler.required()
                .compile(List.of(
                        "-Isrc/test/cuda", "-Isrc/main/cuda", "-o", gpu.program(), "src/test/cuda/launch_on_host.cpp"));
        return gpu;
    }

    /**
     * One launch.
     *
     * @param segments with addresses from {@link #START} on
     * @param source the bytes at START to read; none if they are those of the destination
     * @param target the bytes at START to write, as they are before
     */
    record Launch(Kernel kernel, double scale, List<DeviceSegment> segments, byte[] source, byte[] target) {}

    /** What a launch has left. */
    record Outcome(boolean nonFinite, byte[] target) {}

    /** All in one process, one after the other. */
    List<Outcome> run(List<Launch> launches) throws Exception {
        Path jobs = folder.resolve("jobs");
        Path results = folder.resolve("results");
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Launch launch : launches) {
            all.write(bytes(launch));
        }
        Files.write(jobs, all.toByteArray());
        command(program(), jobs.toString(), results.toString());
        ByteBuffer read = ByteBuffer.wrap(Files.readAllBytes(results)).order(ByteOrder.nativeOrder());
        List<Outcome> outcomes =
                launches.stream().map(launch -> outcome(launch, read)).toList();
        assertThat(read.hasRemaining()).isFalse();
        return outcomes;
    }

    private static byte[] bytes(Launch launch) throws IOException {
        ByteBuffer table = ByteBuffer.allocate(launch.segments().size() * SegmentTable.ROW_BYTES)
                .order(ByteOrder.nativeOrder());
        SegmentTable written = SegmentTable.write(launch.segments(), launch.kernel(), table);
        ByteBuffer head = ByteBuffer.allocate(ENTRY_BYTES + 40).order(ByteOrder.nativeOrder());
        head.put(launch.kernel().entry().getBytes(StandardCharsets.US_ASCII)).position(ENTRY_BYTES);
        head.putDouble(launch.scale()).putLong(written.tiles()).putInt(written.rows());
        // Few blocks, so that they walk over the tiles.
        head.putInt((int) Math.min(3, written.tiles()));
        head.putLong(launch.source().length).putLong(launch.target().length);
        ByteArrayOutputStream job = new ByteArrayOutputStream();
        job.write(head.array());
        job.write(table.array(), 0, written.rows() * SegmentTable.ROW_BYTES);
        job.write(launch.source());
        job.write(launch.target());
        return job.toByteArray();
    }

    private static Outcome outcome(Launch launch, ByteBuffer results) {
        boolean nonFinite = results.getInt() != 0;
        byte[] target = new byte[launch.target().length];
        results.get(target);
        return new Outcome(nonFinite, target);
    }

    private String program() {
        return folder.resolve("launch_on_host").toString();
    }

    private void command(String... words) throws Exception {
        Path log = folder.resolve("log");
        Process process = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        boolean ended = process.waitFor(120, TimeUnit.SECONDS);
        process.destroyForcibly();
        assertThat(ended && process.exitValue() == 0)
                .as("%s: %s", String.join(" ", words), Files.readString(log))
                .isTrue();
    }
}
