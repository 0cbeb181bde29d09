package io.hvd.doctor.hosts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.doctor.DoctorHostsIT;
import io.hvd.doctor.HvdDoctor;
import io.hvd.doctor.checks.Diagnosis;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.network.ExaminationSecret;
import io.hvd.doctor.network.ListeningPort;
import io.hvd.doctor.network.MeasuredLink;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With a script in the place of ssh; {@link DoctorHostsIT} has the real one. */
@Timeout(400)
final class SshHostTest {
    /** For an answer on a busy machine. */
    private static final int ENOUGH_SECONDS = 300;

    private static final SshAccess ACCESS = new SshAccess(Optional.of(2222), Optional.of("/keys/id"));

    private static final DoctorProgram PROGRAM = DoctorProgram.script("/opt/hvd/bin/hvd-doctor");

    @TempDir
    private Path folder;

    @Test
    void whatSshSaysOfAHostThatItDoesNotReach() throws IOException {
        Finding finding = refused("echo no route to host; exit 255");

        assertThat(finding.diagnosis()).isEqualTo(Diagnosis.NOT_REACHED);
        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("ssh says: no route to host");
        assertThat(finding.command()).isEqualTo("ssh -p 2222 -i /keys/id b true");
    }

    @Test
    void noSshAtAll() {
        var examined = new SshHost("b", folder.resolve("none").toString(), ACCESS, PROGRAM, "/bin");

        Finding finding = refusal(examined);

        assertThat(finding.diagnosis()).isEqualTo(Diagnosis.NOT_REACHED);
        assertThat(finding.found()).contains("cannot be started");
    }

    @Test
    void aProgramThatIsNotThereOrNotBuilt() throws IOException {
        for (int exitCode : new int[] {2, 126, 127}) {
            Finding finding = refused("echo sh: not found; exit " + exitCode);

            assertThat(finding.diagnosis()).isEqualTo(Diagnosis.NO_DOCTOR);
            assertThat(finding.command()).isEqualTo("rsync -a /opt/hvd/ b:/opt/hvd");
        }
    }

    /** With the shell of this machine in the place of the other host's. */
    @Test
    void theJarIsStartedWhereItLiesAndMissedWhereItDoesNot() throws Exception {
        Path jar = folder.resolve("a b/hvd-launch.jar");
        String remote = DoctorProgram.jar(jar).remote();
        Files.createDirectories(jar.getParent());
        Job absent = Job.run(List.of("/bin/sh", "-c", remote), Map.of());
        Files.createFile(jar);
        Job withoutJava = Job.run(List.of("/bin/sh", "-c", remote), Map.of("PATH", "/nowhere"));
        Path java = Files.writeString(folder.resolve("java"), "#!/bin/sh\necho \"started with $*\"\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        Job started = Job.run(List.of("/bin/sh", "-c", remote + " --facts x"), Map.of("PATH", folder.toString()));

        assertThat(absent.exitCode()).isEqualTo(127);
        assertThat(absent.output()).contains("there is no " + jar);
        assertThat(withoutJava.exitCode()).isEqualTo(3);
        assertThat(started.output()).isEqualTo("started with -jar " + jar + " doctor --facts x\n");
        assertThat(DoctorProgram.jar(jar).copyTo("b")).isEqualTo("rsync -a " + jar + " b:" + jar);
    }

    @Test
    void noJava() throws IOException {
        Finding finding = refused("echo there is no program java here; exit 3");

        assertThat(finding.diagnosis()).isEqualTo(Diagnosis.NO_JAVA);
        assertThat(finding.command())
                .isEqualTo("ssh -p 2222 -i /keys/id b 'apt-get install -y openjdk-17-jre-headless'");
    }

    @Test
    void aProgramThatFails() throws IOException {
        Finding finding = refused("echo out of memory; exit 134");

        assertThat(finding.diagnosis()).isEqualTo(Diagnosis.NO_ANSWER);
        assertThat(finding.found()).isEqualTo("exit code 134: out of memory");
    }

    /** The other side is the real program; what a login script prints between the answers is passed over. */
    @Test
    void theOtherSideAnswersAndEndsWhenItsInputEnds() throws Exception {
        String agent = String.join(" ", Job.program(HvdDoctor.class, "--facts", "/nowhere"));
        Path ended = folder.resolve("ended");
        try (var examined = examined("echo welcome to b; " + agent + "; touch " + ended)) {
            Facts facts = examined.open(opening());
            List<MeasuredLink> links = examined.measure(
                    new AgentMessages.Errand("a", List.of(new ListeningPort("lo", "127.0.0.1", 1)), 1));

            assertThat(facts.names().hostname()).isNotEmpty();
            assertThat(facts.mpi().daemonPath())
                    .as("on the PATH that was handed over")
                    .isEmpty();
            assertThat(facts.memory().total()).isPositive();
            assertThat(links)
                    .singleElement()
                    .satisfies(link -> assertThat(link.from()).isEqualTo("b"));
            examined.endInput();
            assertThat(examined.onExit().get().exitValue()).isZero();
        }
        assertThat(ended).exists();
    }

    /** The answers of more hosts than the JVM has common workers never come. */
    @Test
    void hostsThatHangCostTheOthersNoTime() throws IOException {
        String hang = "read -r question; touch " + folder + "/waits-$$; exec cat >/dev/null";
        examined("case $* in *' hanging-'*) " + hang + ";; esac; exit 255");
        List<String> program = new ArrayList<>(Job.program(AmongHangingHosts.class, folder.toString()));
        program.add(1, "-Djava.util.concurrent.ForkJoinPool.common.parallelism=2");

        Job job = Job.run(program, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("FOUND ")).containsExactly("FOUND " + Diagnosis.NOT_REACHED + " WHILE 6 WAIT");
    }

    /** One host is not reached, which shows at once, and some others take the question and say nothing. */
    static final class AmongHangingHosts {
        private static final int HANGING = 6;

        private AmongHangingHosts() {}

        public static void main(String[] args) throws IOException {
            Path folder = Path.of(args[0]);
            String ssh = folder.resolve("ssh").toString();
            List<Thread> waiting = new ArrayList<>();
            for (int i = 0; i < HANGING; i++) {
                var hanging = new SshHost("hanging-" + i, ssh, ACCESS, PROGRAM, "/bin", ENOUGH_SECONDS);
                Thread thread = new Thread(() -> refusal(hanging));
                thread.setDaemon(true);
                thread.start();
                waiting.add(thread);
            }
            while (asked(folder) < HANGING) {
                LockSupport.parkNanos(10_000_000);
            }
            Finding found = refusal(new SshHost("b", ssh, ACCESS, PROGRAM, "/bin"));
            long still = waiting.stream().filter(Thread::isAlive).count();
            System.out.println("FOUND " + found.diagnosis() + " WHILE " + still + " WAIT");
        }

        private static long asked(Path folder) throws IOException {
            try (Stream<Path> files = Files.list(folder)) {
                return files.filter(file -> file.getFileName().toString().startsWith("waits-"))
                        .count();
            }
        }
    }

    private Finding refused(String script) throws IOException {
        return refusal(examined(script));
    }

    private static Finding refusal(SshHost examined) {
        try (examined) {
            return catchThrowableOfType(HostException.class, () -> examined.open(opening()))
                    .finding();
        }
    }

    private static AgentMessages.Opening opening() {
        return new AgentMessages.Opening("b", ExaminationSecret.random().hex(), List.of("a", "b"), Map.of(), "");
    }

    private SshHost examined(String script) throws IOException {
        Path ssh = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(ssh, PosixFilePermissions.fromString("rwx------"));
        return new SshHost("b", ssh.toString(), ACCESS, PROGRAM, "/bin", ENOUGH_SECONDS);
    }
}
