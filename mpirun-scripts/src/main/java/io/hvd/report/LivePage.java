package io.hvd.report;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Serves the page of runs that are still training, made anew for each request, to browsers of this machine. Its address has a secret
 * word in it, because other users of the machine reach the port too. Threads of its own answer.
 */
final class LivePage implements AutoCloseable {
    /** The time between two requests of a browser. */
    static final int REFRESH_SECONDS = 5;

    private static final byte[] LOOPBACK = {127, 0, 0, 1};
    private static final int SECRET_BYTES = 16;

    private final List<Path> folders;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(LivePage::daemon);
    private final String path;

    private LivePage(List<Path> folders, HttpServer server) {
        this.folders = folders;
        this.server = server;
        byte[] secret = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        this.path = "/" + HexFormat.of().formatHex(secret) + "/";
    }

    /** @param port 0 for a free one @throws IOException if the port is taken */
    static LivePage serve(List<Path> folders, int port) throws IOException {
        InetAddress here = InetAddress.getByAddress(LOOPBACK);
        LivePage page = new LivePage(folders, HttpServer.create(new InetSocketAddress(here, port), 0));
        page.server.createContext("/", page::answer);
        page.server.setExecutor(page.threads); // a browser that stalls keeps no other waiting
        page.server.start();
        return page;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "hvd-report-live");
        thread.setDaemon(true);
        return thread;
    }

    URI address() {
        return URI.create("http://" + authority() + path);
    }

    private String authority() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            boolean reads = exchange.getRequestMethod().equals("GET");
            if (!reads || !isMine(exchange)) {
                exchange.sendResponseHeaders(reads ? 404 : 405, -1);
                return;
            }
            byte[] html = html().getBytes(StandardCharsets.UTF_8);
            Headers headers = exchange.getResponseHeaders();
            headers.set("Content-Type", "text/html; charset=utf-8");
            headers.set("Cache-Control", "no-store");
            headers.set("X-Content-Type-Options", "nosniff");
            headers.set("Referrer-Policy", "no-referrer");
            exchange.sendResponseHeaders(200, html.length);
            exchange.getResponseBody().write(html);
        }
    }

    /** A page of elsewhere whose name leads to this machine names another host. */
    private boolean isMine(HttpExchange exchange) {
        return authority().equals(exchange.getRequestHeaders().getFirst("Host"))
                && path.equals(exchange.getRequestURI().getPath());
    }

    /** A folder that holds no run yet may hold one when the browser asks again. */
    private String html() throws IOException {
        List<RunFolder> runs = new ArrayList<>();
        List<String> obstacles = new ArrayList<>();
        for (Path folder : folders) {
            try {
                runs.add(RunFolder.read(folder, folders));
            } catch (ReportException e) {
                obstacles.add(e.getMessage());
            }
        }
        return new ReportPage(runs, obstacles, REFRESH_SECONDS).html();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
