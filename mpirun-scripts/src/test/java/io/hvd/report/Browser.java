package io.hvd.report;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Chromium without a window, by its DevTools protocol. */
final class Browser implements AutoCloseable {
    private static final String LISTENING = "DevTools listening on ";
    private static final long LIMIT_SECONDS = 60;

    private final Process process;
    private final HttpClient http = HttpClient.newHttpClient();
    private final BlockingQueue<JsonObject> answers = new LinkedBlockingQueue<>();
    private final List<JsonObject> complaints = new ArrayList<>();
    private final WebSocket socket;
    private int calls;

    private Browser(Process process, String address) throws Exception {
        this.process = process;
        this.socket = http.newWebSocketBuilder()
                .buildAsync(URI.create(pageOf(address)), new Listener())
                .get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    static boolean isThere() {
        return Stream.of(System.getenv("PATH").split(":"))
                .anyMatch(one -> Files.isExecutable(Path.of(one, "chromium")));
    }

    static Browser start(Path profile) throws Exception {
        Process process = new ProcessBuilder(
                        "chromium",
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--hide-scrollbars",
                        "--remote-debugging-port=0",
                        "--remote-allow-origins=*",
                        "--user-data-dir=" + profile,
                        "about:blank")
                .redirectErrorStream(true)
                .start();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        while (line != null && !line.startsWith(LISTENING)) {
            line = lines.readLine();
        }
        if (line == null) {
            throw new IOException("chromium has ended with " + process.waitFor());
        }
        Thread rest = new Thread(() -> lines.lines().forEach(one -> {}));
        rest.setDaemon(true);
        rest.start();
        return new Browser(process, line.substring(LISTENING.length()).trim());
    }

    /** The address of the open page, from that of the browser. */
    private String pageOf(String address) throws Exception {
        URI list = URI.create("http://" + URI.create(address).getAuthority() + "/json/list");
        String pages = http.send(HttpRequest.newBuilder(list).build(), HttpResponse.BodyHandlers.ofString())
                .body();
        for (JsonElement page : JsonParser.parseString(pages).getAsJsonArray()) {
            if (page.getAsJsonObject().get("type").getAsString().equals("page")) {
                return page.getAsJsonObject().get("webSocketDebuggerUrl").getAsString();
            }
        }
        throw new IOException("chromium has no page: " + pages);
    }

    private final class Listener implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean last) {
            text.append(part);
            if (last) {
                answers.add(JsonParser.parseString(text.toString()).getAsJsonObject());
                text.setLength(0);
            }
            from.request(1);
            return null;
        }
    }

    /** Opens a page of this width, and waits until it is there. */
    void open(Path page, int width) throws Exception {
        call("Runtime.enable", "{}");
        call("Log.enable", "{}");
        call("Page.enable", "{}");
        call(
                "Emulation.setDeviceMetricsOverride",
                "{\"width\":" + width + ",\"height\":900,\"deviceScaleFactor\":1,\"mobile\":" + (width < 600) + "}");
        call("Page.navigate", "{\"url\":\"" + page.toUri() + "\"}");
        JsonObject event = next();
        while (!isEvent(event, "Page.loadEventFired")) {
            event = next();
        }
    }

    /** The value of an expression of JavaScript. */
    JsonElement value(String expression) throws Exception {
        JsonObject parameters = new JsonObject();
        parameters.addProperty("expression", expression);
        parameters.addProperty("returnByValue", true);
        JsonObject result = call("Runtime.evaluate", parameters.toString());
        if (result.has("exceptionDetails")) {
            throw new IOException(expression + ": " + result);
        }
        return result.getAsJsonObject("result").get("value");
    }

    /** Shows the page as on a screen that is light or dark. */
    void colours(String scheme) throws Exception {
        call(
                "Emulation.setEmulatedMedia",
                "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"" + scheme + "\"}]}");
    }

    /** What the page has had written to the console. */
    List<JsonObject> complaints() {
        return complaints;
    }

    private JsonObject call(String method, String parameters) throws Exception {
        int id = ++calls;
        socket.sendText("{\"id\":" + id + ",\"method\":\"" + method + "\",\"params\":" + parameters + "}", true)
                .get(LIMIT_SECONDS, TimeUnit.SECONDS);
        JsonObject answer = next();
        while (!answer.has("id") || answer.get("id").getAsInt() != id) {
            answer = next();
        }
        if (answer.has("error")) {
            throw new IOException(method + ": " + answer);
        }
        return answer.getAsJsonObject("result");
    }

    private JsonObject next() throws Exception {
        JsonObject answer = answers.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (answer == null) {
            throw new IOException("chromium has not answered for " + LIMIT_SECONDS + " seconds");
        }
        if (isEvent(answer, "Runtime.consoleAPICalled")
                || isEvent(answer, "Runtime.exceptionThrown")
                || isEvent(answer, "Log.entryAdded")) {
            complaints.add(answer);
        }
        return answer;
    }

    private static boolean isEvent(JsonObject answer, String method) {
        return answer.has("method") && answer.get("method").getAsString().equals(method);
    }

    /** Ends with the browser's own processes, which write into its folder. */
    @Override
    public void close() throws Exception {
        try {
            call("Browser.close", "{}");
            process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
    }
}
