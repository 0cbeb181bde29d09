package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.Phase;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;

/**
 * Program of a test job: writes down all command lines of the machine and what a recording would say of the job, and then
 * waits for an allreduce that rank 1 leaves out.
 */
final class SecretsProgram {

    private SecretsProgram() {}

    public static void main(String[] args) throws IOException {
        Path folder = Path.of(args[0]);
        try (Recording recording = new Recording();
                HvdContext hvd = recorded(recording)) {
            // The limit for a rank that leaves something out is shorter than a busy machine may take for this.
            try (Phase phase = hvd.phase("writing down what is seen", Duration.ofMinutes(5))) {
                writeDown(hvd.rank(), recording, folder);
            }
            hvd.barrier();
            if (hvd.rank() == 0) {
                hvd.allreduce("left out", Tensor.of(1F), AllreduceOptions.sum());
            }
            hvd.barrier();
        }
    }

    private static void writeDown(int rank, Recording recording, Path folder) throws IOException {
        String own = System.getenv("HVD_RENDEZVOUS").replaceAll("launcher=|@.*", "");
        Files.writeString(folder.resolve("token-" + rank), own);
        try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : all) {
                write(folder.resolve("ps-" + rank + "-" + process.getFileName()), process);
            }
        }
        recording.dump(folder.resolve("recording-" + rank));
        Files.writeString(
                folder.resolve("job-" + rank),
                RecordingFile.readAllEvents(folder.resolve("recording-" + rank)).toString());
    }

    private static HvdContext recorded(Recording recording) {
        recording.enable("hvd.Job");
        recording.start();
        return Hvd.init();
    }

    private static void write(Path file, Path process) throws IOException {
        try {
            byte[] line = Files.readAllBytes(process.resolve("cmdline"));
            Files.writeString(file, new String(line, StandardCharsets.UTF_8).replace('\0', ' '));
        } catch (IOException e) {
            Files.deleteIfExists(file); // that process has ended
        }
    }
}
