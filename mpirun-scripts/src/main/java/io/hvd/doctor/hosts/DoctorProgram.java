package io.hvd.doctor.hosts;

import io.hvd.config.HvdProgram;
import io.hvd.launch.words.ShellWords;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How hvd-doctor is started on another host, where it lies at the same path as here.
 *
 * @param remote starts it in a shell, in the place of that shell; ends with 3 where there is no java, and with 2, 126 or
 *     127 where hvd-doctor is not there
 * @param words start it by hand
 * @param copied what a host that lacks it needs, in rsync's words: a folder ends with a slash
 */
public record DoctorProgram(String remote, List<String> words, String copied) {

    /** The script sets this property to its own path. */
    private static final String SCRIPT = "hvd.doctor.program";

    /** Finds the script or the jar of everything that this process was started from. */
    public static Optional<DoctorProgram> ofThisProcess() {
        return Optional.ofNullable(System.getProperty(SCRIPT))
                .map(DoctorProgram::script)
                .or(() -> HvdProgram.jar().map(DoctorProgram::jar));
    }

    static DoctorProgram script(String path) {
        return new DoctorProgram(
                "exec " + ShellWords.join(List.of(path)),
                List.of(path),
                Path.of(path).getParent().getParent() + "/");
    }

    static DoctorProgram jar(Path jar) {
        String file = ShellWords.join(List.of(jar.toString()));
        List<String> words = List.of("java", "-jar", jar.toString(), "doctor");
        String remote = "[ -f " + file + " ] || { echo there is no " + file + " here; exit 127; }; "
                + "command -v java >/dev/null || { echo \"there is no program java here, PATH is $PATH\"; exit 3; }; "
                + "exec " + ShellWords.join(words);
        return new DoctorProgram(remote, words, jar.toString());
    }

    String copyTo(String host) {
        return "rsync -a " + copied + " " + host + ":" + copied.replaceFirst("/$", "");
    }
}
