package io.hvd.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A page that follows runs as they train. */
@Timeout(60)
final class LivePageTest {
    @TempDir
    private Path folder;

    private static HttpResponse<String> get(URI address) throws Exception {
        return HttpClient.newHttpClient().send(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString());
    }

    @Test
    void itShowsARunThatBeginsLaterAndEachValueThatIsWrittenMeanwhile() throws Exception {
        Path run = folder.resolve("a");
        try (LivePage page = LivePage.serve(List.of(run), 0)) {
            assertThat(get(page.address()).body())
                    .contains("holds no run", "<meta http-equiv=\"refresh\" content=\"5\">")
                    .doesNotContain("<article");

            new WrittenRun(run, 2).write();
            assertThat(get(page.address()).body())
                    .contains("<article class=\"run\"")
                    .doesNotContain("steps/loss");

            Files.writeString(
                    run.resolve("scalars.jsonl"),
                    "{\"time\":1,\"step\":25,\"tag\":\"steps/loss\",\"value\":0.625}\n",
                    StandardOpenOption.APPEND);
            HttpResponse<String> answer = get(page.address());
            assertThat(answer.body()).contains("<dt>steps/loss</dt><dd>0.625 after step 25</dd>", "<figcaption>Loss<");
            assertThat(answer.headers().firstValue("Cache-Control")).hasValue("no-store");
            assertThat(answer.body()).doesNotContain("<script", "src=", "href=", "url(");
        }
    }

    @Test
    void runsWithoutADifferenceAreSaidToBeAlike() throws Exception {
        new WrittenRun(folder.resolve("a"), 1).write();
        new WrittenRun(folder.resolve("b"), 1).write();
        try (LivePage page = LivePage.serve(List.of(folder.resolve("a"), folder.resolve("b")), 0)) {
            assertThat(get(page.address()).body()).contains("Nothing that a record holds");
        }
    }

    @Test
    void onlyWhoKnowsTheWholeAddressGetsThePage() throws Exception {
        new WrittenRun(folder.resolve("a"), 1).write();
        try (LivePage page = LivePage.serve(List.of(folder.resolve("a")), 0)) {
            assertThat(get(page.address().resolve("/")).statusCode()).isEqualTo(404);
            assertThat(get(page.address().resolve("/../../etc/passwd")).statusCode())
                    .isEqualTo(404);
            HttpRequest post = HttpRequest.newBuilder(page.address())
                    .POST(HttpRequest.BodyPublishers.noBody())
                    .build();
            assertThat(HttpClient.newHttpClient()
                            .send(post, BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(405);
            assertThat(firstLine(page.address(), "elsewhere.example")).contains("404");
            assertThat(firstLine(page.address(), page.address().getAuthority())).contains("200");
            assertThat(InetAddress.getByName(page.address().getHost()).isLoopbackAddress())
                    .isTrue();
        }
    }

    /** What a browser sends that was led here by another name. */
    private static String firstLine(URI address, String host) throws IOException {
        try (Socket socket = new Socket(address.getHost(), address.getPort())) {
            socket.getOutputStream()
                    .write(("GET " + address.getPath() + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return answer.lines().findFirst().orElse("");
        }
    }

    @ParameterizedTest
    @CsvSource({"--live -o page.html a, --output", "--live --port x a, --port is x", "--port 7 a, --live"})
    void aCommandLineThatMakesNoSenseEndsWithTwo(String words, String named) {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream print = new PrintStream(err, true, StandardCharsets.UTF_8);
        assertThat(new HvdReport(print, print).run(words.split(" "))).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("hvd-report: ", named);
    }

    @Test
    void aPortThatIsTakenIsNamed() throws Exception {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream print = new PrintStream(err, true, StandardCharsets.UTF_8);
        try (LivePage page = LivePage.serve(List.of(folder), 0)) {
            String port = String.valueOf(page.address().getPort());
            assertThat(new HvdReport(print, print).run("--live", "--port", port, "a"))
                    .isEqualTo(1);
            assertThat(err.toString(StandardCharsets.UTF_8)).contains("port " + port);
        }
    }
}
