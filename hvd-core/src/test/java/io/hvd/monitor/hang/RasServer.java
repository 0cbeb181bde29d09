package io.hvd.monitor.hang;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A server that speaks the text protocol of NCCL's RAS for one client after the other. */
public final class RasServer implements AutoCloseable {
    /** An answer as NCCL gives it when one process of a job is gone. */
    public static final String INCOMPLETE = """
            NCCL version 2.30.7 compiled with CUDA 13.3
            CUDA runtime version 13030, driver version 13030

            Job summary
            ===========

              Nodes  Processes         GPUs  Processes     GPUs
            (total)   per node  per process    (total)  (total)
                  1          2            1          2        2

            Communicators... (2.00s)
            =============

            Group     Comms     Nodes     Ranks     Ranks     Ranks    RankStatus  Errors
                #  in group  per comm  per node  per comm  in group
                0         1         1         2         2         2   RUNNING  INCOMPLETE

            Errors
            ======

            INCOMPLETE
              Missing communicator data from 1 job process
              Process 3487984 on node 172.16.64.213 managing GPU 5

            Warnings
            ========

            #0-0 (27a079b828ff1a75) MISMATCH
              Communicator ranks have different collective operation counts
            """;

    private final ServerSocket socket;
    private final Script script;
    private final List<String> heard = new CopyOnWriteArrayList<>();

    interface Script {
        void answer(BufferedReader in, OutputStream out) throws IOException, InterruptedException;
    }

    private RasServer(Script script) throws IOException {
        this.socket = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        this.script = script;
        Thread thread = new Thread(this::serve, "ras-server");
        thread.setDaemon(true);
        thread.start();
    }

    static RasServer with(Script script) throws IOException {
        return new RasServer(script);
    }

    /** One that does what NCCL's does. */
    public static RasServer answering(String status) throws IOException {
        return new RasServer((in, out) -> {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.startsWith("CLIENT PROTOCOL ")) {
                    say(out, "SERVER PROTOCOL 2\n");
                } else if (line.matches("TIMEOUT [0-9.]+")) {
                    say(out, "OK\n");
                } else if (line.equals("VERBOSE STATUS")) {
                    say(out, status);
                    return;
                } else {
                    say(out, "ERROR: Unknown command " + line + "\n");
                }
            }
        });
    }

    static void say(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private void serve() {
        while (!socket.isClosed()) {
            try (Socket client = socket.accept()) {
                InputStreamReader reader = new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8);
                script.answer(
                        new BufferedReader(reader) {
                            @Override
                            public String readLine() throws IOException {
                                String line = super.readLine();
                                heard.add(String.valueOf(line));
                                return line;
                            }
                        },
                        client.getOutputStream());
            } catch (IOException | InterruptedException e) {
                heard.add("gone");
            }
        }
    }

    /** What clients have said, line by line. */
    List<String> heard() {
        return heard;
    }

    public int port() {
        return socket.getLocalPort();
    }

    /** How a process that has loaded NCCL asks this server. */
    public NcclRas ras(Path folder) throws IOException {
        Path maps = Files.writeString(
                folder.resolve("maps"),
                "7f00-7f01 r-xp 00000000 08:01 42 /usr/lib/libc.so.6\n"
                        + "7f02-7f03 r-xp 00000000 08:01 43 /usr/lib/libnccl.so.2.30.7\n");
        return new NcclRas("localhost", port(), maps);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
