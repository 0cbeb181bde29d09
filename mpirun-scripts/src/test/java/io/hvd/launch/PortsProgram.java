package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Program of a test job: prints the ports at which this rank and its horovodrun listen. */
final class PortsProgram {
    /** TCP_LISTEN of Linux. */
    private static final String LISTENING = "0A";

    private PortsProgram() {}

    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            hvd.allreduce("connected", Tensor.of(1F), AllreduceOptions.sum());
            System.out.println("rank " + hvd.rank() + " listens at " + ports(ProcessHandle.current()));
            System.out.println("horovodrun listens at " + ports(launcher()));
            hvd.barrier();
        }
    }

    private static ProcessHandle launcher() throws IOException {
        Optional<ProcessHandle> parent = ProcessHandle.current().parent();
        while (!Files.readString(of(parent.orElseThrow()).resolve("cmdline"), StandardCharsets.ISO_8859_1)
                .contains(Horovodrun.class.getName())) {
            parent = parent.get().parent();
        }
        return parent.get();
    }

    private static Path of(ProcessHandle process) {
        return Path.of("/proc", String.valueOf(process.pid()));
    }

    private static Set<Integer> ports(ProcessHandle process) throws IOException {
        Set<String> sockets;
        try (Stream<Path> open = Files.list(of(process).resolve("fd"))) {
            sockets = open.map(PortsProgram::target).collect(Collectors.toSet());
        }
        Set<Integer> ports = new TreeSet<>();
        for (String table : new String[] {"net/tcp", "net/tcp6"}) {
            for (String row : Files.readAllLines(of(process).resolve(table))) {
                String[] columns = row.strip().split("\\s+");
                if (columns[3].equals(LISTENING) && sockets.contains("socket:[" + columns[9] + "]")) {
                    ports.add(Integer.parseInt(columns[1].substring(columns[1].indexOf(':') + 1), 16));
                }
            }
        }
        return ports;
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return ""; // closed by now
        }
    }
}
