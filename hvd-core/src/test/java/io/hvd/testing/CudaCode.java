package io.hvd.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The lines at the head of a PTX file that {@code kernels.sh} would write for the sources and options of today. */
public final class CudaCode {
    private static final Path SCRIPT = Path.of("../mpirun-scripts/kernels.sh");

    private CudaCode() {}

    /** @param files names of the sources, in the order in which the compiler reads them */
    public static String digestLine(Path folder, String... files) throws IOException {
        StringBuilder sources = new StringBuilder();
        for (String file : files) {
            sources.append(Files.readString(folder.resolve(file)));
        }
        return "\n// SHA-256 of the code of " + String.join(" and ", files) + ": " + digest(code(sources.toString()))
                + "\n";
    }

    /** The line about the compiler's options. @param name of the PTX file, without its ending */
    public static String optionsLine(String name) {
        Job script = Job.run(List.of(SCRIPT.toString(), "--maker", name), Map.of());
        return "\n" + script.lines("// Options: ").get(0) + "\n";
    }

    /** The text without comments, with single blanks: what is left decides what a compiler makes of it. */
    static String code(String source) {
        return source.replaceAll("//.*", "")
                .replaceAll("(?s)/\\*.*?\\*/", "")
                .replaceAll("\\s+", " ")
                .strip();
    }

    private static String digest(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
