package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HvdProgramTest {
    @TempDir
    private Path folder;

    @Test
    void aProcessThatDoesNotKnowWhatTheUserHasNamesBothWays() {
        assertThat(HvdProgram.SETUP.eitherWay()).isEqualTo("mpirun-scripts/setup.sh or java -jar hvd-launch.jar setup");
        assertThat(HvdProgram.HOROVODRUN.eitherWay("-np 4 COMMAND"))
                .isEqualTo("horovodrun -np 4 COMMAND or java -jar hvd-launch.jar run -np 4 COMMAND");
    }

    @Test
    void aProgramOfACheckoutNamesTheScript() {
        assertThat(HvdProgram.jar()).isEmpty();
        assertThat(HvdProgram.DOCTOR.line()).isEqualTo("hvd-doctor");
    }

    @Test
    void theJarOfEverythingIsKnownByItsMainClass() throws IOException {
        assertThat(HvdProgram.startsHere(jar("io.hvd.command.HvdCommand"))).isTrue();
        assertThat(HvdProgram.startsHere(jar("com.example.Trainer"))).isFalse();
    }

    private Path jar(String mainClass) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, mainClass);
        Path jar = folder.resolve(mainClass + ".jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
        return jar;
    }
}
