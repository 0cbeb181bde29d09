package io.hvd.faults;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A real job while strangers connect to all of its ports, as many and as rude as a process without its secrets can be.
 * All ranks are on one host, so hvd's ports are at 127.0.0.1; those of Open MPI itself are at all addresses.
 */
@Tag("timing")
@Timeout(400)
class StrangersIT {
    private static final int RANKS = 2;
    private static final int ROUNDS = 20;
    /** More than wait in a listener's queue, and than it lets in without a hello. */
    private static final int CROWD = 1_000;

    /** How a hello begins, by which a process of the job is answered. */
    private static final int HELLO = 0x68_76_64_01;

    private static final String LOOPBACK = "0100007F:";
    private static final String LISTENS = "0A";
    private static final int SEED = 20_260;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    @TempDir
    private Path folder;

    @Test
    void strangersAtEveryPortOfAJobDoNotDisturbIt() throws Exception {
        requireUndisturbed(Map.of(), 1);
    }

    /** Without shared memory, so that all data comes in at the ports that the strangers visit. */
    @Test
    void strangersAtEveryPortOfAJobWithoutMpiDoNotDisturbIt() throws Exception {
        requireUndisturbed(Map.of("HVD_BACKEND", "tcp", "HVD_SHARED_MEMORY", "0"), 2);
    }

    /** @param portsOfARank at which it listens while it trains */
    private void requireUndisturbed(Map<String, String> environment, int portsOfARank) throws Exception {
        Path over = folder.resolve("over");
        Path ranks = Files.createDirectory(folder.resolve("ranks"));
        CompletableFuture<Job> running = CompletableFuture.supplyAsync(
                () -> Job.horovodrun(RANKS, environment, StrangersProgram.class, over.toString(), ranks.toString()));
        List<Closeable> strangers = new ArrayList<>();
        try {
            List<Long> pids = pids(ranks, running);
            Set<Integer> listening = new HashSet<>();
            Set<Integer> letterBoxes = new HashSet<>();
            for (long pid : pids) {
                listening.addAll(ports(pid, "tcp", LOOPBACK, LISTENS));
                letterBoxes.addAll(ports(pid, "udp", LOOPBACK, ""));
            }
            assertThat(listening).as("for questions, and for data").hasSize(RANKS * portsOfARank);
            assertThat(letterBoxes).as("one place for signs of life per rank").hasSize(RANKS);
            Random random = new Random(SEED);
            for (int port : listening) {
                for (int round = 0; round < ROUNDS; round++) {
                    strangers.addAll(visit(port, random));
                }
            }
            for (int silent = 0; silent < CROWD; silent++) {
                for (int port : listening) {
                    strangers.add(call(port, new byte[0]));
                }
            }
            for (int box : letterBoxes) {
                fill(box, random);
            }
        } finally {
            Files.createFile(over);
            running.handle((job, failure) -> job).join();
            for (Closeable stranger : strangers) {
                stranger.close();
            }
        }
        Job job = running.get();
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("all right in many steps")).hasSize(RANKS);
        assertThat(job.output()).doesNotContain("Exception", "OutOfMemory");
    }

    private enum Launcher {
        MPIRUN,
        HOROVODRUN
    }

    private enum Ports {
        RANKS,
        MPIRUN
    }

    /**
     * Open MPI waits at its own ports for the rest of what a stranger has begun to say, in the ranks and in mpirun. The
     * job ends all the same, and with zero: but for plain mpirun that does nothing any more, and has to be ended by a rank.
     * Its exit code is not zero then, where horovodrun knows how the ranks have ended. The jobs wait for limits to pass.
     */
    @ParameterizedTest
    @Execution(ExecutionMode.CONCURRENT)
    @CsvSource({"MPIRUN, MPIRUN, GET, 1, 137", "HOROVODRUN, MPIRUN, GET, 1, 0"})
    void aStrangerWhoStaysAtAPortOfOpenMpiDoesNotKeepTheJobFromItsEnd(
            Launcher launcher, Ports whose, String said, int threads, int exitCode) throws Exception {
        requireEndBesideStranger(launcher, whose, said, threads, exitCode);
    }

    @ParameterizedTest
    @Execution(ExecutionMode.CONCURRENT)
    @CsvSource({"MPIRUN, RANKS, GET, 1, 0", "HOROVODRUN, RANKS, GET, 1, 0", "HOROVODRUN, MPIRUN, SILENCE, 2, 0"})
    @Tag("long")
    void furtherStrangersWhoStayDoNotKeepTheJobFromItsEnd(
            Launcher launcher, Ports whose, String said, int threads, int exitCode) throws Exception {
        requireEndBesideStranger(launcher, whose, said, threads, exitCode);
    }

    private void requireEndBesideStranger(Launcher launcher, Ports whose, String said, int threads, int exitCode)
            throws Exception {
        Path over = folder.resolve("over");
        Path ranks = Files.createDirectory(folder.resolve("ranks"));
        List<String> words = new ArrayList<>(List.of(over.toString(), ranks.toString()));
        if (threads > 1) {
            words.add(String.valueOf(threads));
        }
        String[] args = words.toArray(String[]::new);
        CompletableFuture<Job> running = CompletableFuture.supplyAsync(() -> launcher == Launcher.MPIRUN
                ? Job.run(Mpirun.command(RANKS, StrangersProgram.class, args), Map.of())
                : Job.horovodrun(RANKS, StrangersProgram.class, args));
        List<Closeable> strangers = new ArrayList<>();
        long told;
        try {
            List<Long> processes = pids(ranks, running);
            long mpirun = ProcessHandle.of(processes.get(0))
                    .flatMap(ProcessHandle::parent)
                    .orElseThrow()
                    .pid();
            for (long pid : whose == Ports.RANKS ? processes : List.of(mpirun)) {
                for (int port : ports(pid, "tcp", "", LISTENS)) {
                    stay(port, said.equals("GET") ? "GET / HTTP/1.0\r\n\r\n" : "")
                            .ifPresent(strangers::add);
                }
            }
            assertThat(strangers).as("at %s with %s", whose, launcher).isNotEmpty();
        } finally {
            told = System.nanoTime();
            Files.createFile(over);
            running.handle((job, failure) -> job).join();
            for (Closeable stranger : strangers) {
                stranger.close();
            }
        }
        Job job = running.get();
        System.out.printf(
                Locale.ROOT,
                "%s, %s: %d after %.1f s%n",
                launcher,
                whose,
                job.exitCode(),
                (System.nanoTime() - told) / 1e9);
        if (exitCode == 0) {
            assertThat(job.exitCode()).as(job.output()).isZero();
        } else {
            assertThat(job.exitCode()).as(job.output()).isIn(1, exitCode); // a signal is often enough to end mpirun
        }
        if (whose == Ports.RANKS) { // an mpirun that does nothing any more does not pass on what they print either
            assertThat(job.lines("all right in many steps")).hasSize(RANKS * threads);
        }
        assertThat(job.output()).doesNotContain("Exception");
    }

    /** Some that stay and are to be closed in the end, some that go. */
    private static List<Socket> visit(int port, Random random) throws IOException {
        Socket silent = call(port, new byte[0]);
        Socket halfAHello = call(port, bytes(random, 1 + random.nextInt(15)));
        Socket foreign =
                call(port, ByteBuffer.allocate(24).putInt(20, Integer.MAX_VALUE).array());
        Socket wrongProof =
                call(port, ByteBuffer.allocate(56).putInt(HELLO).putInt(20, -1).array());
        call(port, bytes(random, 7)).close();
        Socket rude = call(port, bytes(random, 5));
        rude.setSoLinger(true, 0); // close() resets the connection
        rude.close();
        try (Socket chatty = call(port, new byte[0])) {
            chatty.getOutputStream().write(bytes(random, 100_000));
        } catch (IOException e) {
            assertThat(e).as("hung up on").hasMessageMatching("(?i).*(broken pipe|reset).*");
        }
        return List.of(silent, halfAHello, foreign, wrongProof);
    }

    /** Empty if the port is closed by now, as one that was open for the start only. */
    private static Optional<Socket> stay(int port, String said) throws IOException {
        try {
            return Optional.of(call(port, said.getBytes(US_ASCII)));
        } catch (ConnectException e) {
            return Optional.empty();
        }
    }

    private static Socket call(int port, byte[] said) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.getOutputStream().write(said);
        return socket;
    }

    private static void fill(int box, Random random) throws IOException {
        try (DatagramSocket socket = new DatagramSocket()) {
            for (int i = 0; i < 50; i++) {
                byte[] garbage = bytes(random, random.nextInt(2_000));
                socket.send(new DatagramPacket(garbage, garbage.length, InetAddress.getLoopbackAddress(), box));
            }
        }
    }

    private static byte[] bytes(Random random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    private static List<Long> pids(Path ranks, CompletableFuture<Job> running) throws IOException {
        while (true) {
            try (Stream<Path> files = Files.list(ranks)) {
                List<Long> pids = files.map(
                                file -> Long.valueOf(file.getFileName().toString()))
                        .toList();
                if (pids.size() == RANKS) {
                    return pids;
                }
            }
            assertThat(running).as("the job before its ranks are there").isNotDone();
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** The ports of a process, as the kernel knows them. @param host and state are in hexadecimal; empty for any */
    private static Set<Integer> ports(long pid, String protocol, String host, String state) throws IOException {
        Set<String> inodes = inodes(pid);
        Set<Integer> ports = new HashSet<>();
        for (String file : List.of(protocol, protocol + "6")) {
            for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/net/" + file))) {
                String[] fields = line.strip().split("\\s+");
                String address = fields[1].replace("0000000000000000FFFF0000", "");
                if (address.startsWith(host)
                        && (state.isEmpty() || fields[3].equals(state))
                        && inodes.contains(fields[9])) {
                    ports.add(Integer.parseInt(address.substring(address.indexOf(':') + 1), 16));
                }
            }
        }
        return ports;
    }

    private static Set<String> inodes(long pid) throws IOException {
        Set<String> inodes = new HashSet<>();
        try (Stream<Path> files = Files.list(Path.of("/proc/" + pid + "/fd"))) {
            for (Path file : files.toList()) {
                try {
                    inodes.add(Files.readSymbolicLink(file).toString().replaceAll("socket:\\[(\\d+)]", "$1"));
                } catch (IOException e) {
                    continue; // closed meanwhile
                }
            }
        }
        return inodes;
    }
}
