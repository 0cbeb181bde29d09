package io.hvd.top;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The readings of nvidia-smi, which goes on printing them until it is closed. */
final class GpuReadings implements AutoCloseable {
    private final Process process;
    private final BufferedReader lines;

    /**
     * @param program nvidia-smi
     * @param gpus numbers with commas between them; empty for all
     */
    GpuReadings(String program, String gpus, long intervalMillis) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                program,
                "--format=csv,noheader,nounits",
                "--query-gpu=" + Reading.GPU_COLUMNS,
                "-lms",
                String.valueOf(intervalMillis)));
        if (!gpus.isEmpty()) {
            command.addAll(List.of("-i", gpus));
        }
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        lines = process.inputReader();
    }

    /** Whether nvidia-smi is there and lists a GPU. */
    static boolean areThere(String program) throws InterruptedException {
        try {
            Process list =
                    new ProcessBuilder(program, "-L").redirectErrorStream(true).start();
            boolean listsSome = list.inputReader().lines().toList().stream().anyMatch(line -> line.startsWith("GPU "));
            return list.waitFor() == 0 && listsSome;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Waits for the next one; empty if nvidia-smi has ended.
     *
     * @throws IOException if it prints anything else, which is then in the message
     */
    Optional<Reading> next() throws IOException {
        String line = lines.readLine();
        if (line == null) {
            return Optional.empty();
        }
        return Optional.of(Reading.parse(line)
                .orElseThrow(() -> new IOException(
                        "nvidia-smi says \"" + line + "\", expected the columns " + Reading.GPU_COLUMNS)));
    }

    @Override
    public void close() {
        process.destroy();
    }
}
