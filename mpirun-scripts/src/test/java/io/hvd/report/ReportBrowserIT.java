package io.hvd.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A page of runs as a browser shows it, on a phone and on a desk. */
@Tag("long")
class ReportBrowserIT {
    /** The tables of charts have a column per curve; that of the differences has one per run. */
    private static final String WIDER_TABLES = "[...document.querySelectorAll('.differences .wide')]"
            + ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent.slice(0, 80)).join()";

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path folder;

    private Path page() throws Exception {
        new WrittenRun(folder.resolve("two"), 2).write();
        new WrittenRun(folder.resolve("a-run-with-quite-a-long-name-and-64-ranks"), 64)
                .write()
                .with("train.jar digits", "train.jar digits " + "--a-word-without-an-end".repeat(40));
        Path page = folder.resolve("page.html");
        PrintStream out = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        int exit = new HvdReport(out, out)
                .run(
                        folder.resolve("two").toString(),
                        folder.resolve("a-run-with-quite-a-long-name-and-64-ranks")
                                .toString(),
                        "-o",
                        page.toString());
        assertThat(exit).isZero();
        return page;
    }

    @Test
    void aBrowserShowsAllRunsAndChartsAndNothingIsWiderThanThePage() throws Exception {
        assumeTrue(Browser.isThere(), "no chromium; apt-get install chromium");
        Path page = page();
        try (Browser browser = Browser.start(folder.resolve("profile"))) {
            for (int width : new int[] {375, 400, 1280}) {
                browser.open(page, width);

                assertThat(number(browser, "document.documentElement.clientWidth"))
                        .isEqualTo(width);
                browser.value("document.querySelectorAll('details').forEach(one => one.open = true)");
                assertThat(number(browser, "document.documentElement.scrollWidth"))
                        .as("width of what a page of %d shows", width)
                        .isLessThanOrEqualTo(width);
                assertThat(browser.value(WIDER_TABLES).getAsString())
                        .as("tables that are wider than their place on a page of %d", width)
                        .isEmpty();
                assertThat(number(browser, "document.querySelectorAll('article.run').length"))
                        .isEqualTo(2);
                assertThat(number(browser, "document.querySelectorAll('figure > svg').length"))
                        .isEqualTo(6);
                assertThat(number(browser, "document.querySelectorAll('figure > svg rect').length"))
                        .as("three parts of a step and the memory of 66 ranks")
                        .isEqualTo(4 * 66);
                assertThat(number(browser, smallestChart())).isGreaterThan(300);
            }
            String paper = "getComputedStyle(document.body).backgroundColor";
            browser.colours("light");
            String light = browser.value(paper).getAsString();
            browser.colours("dark");
            assertThat(browser.value(paper).getAsString()).isNotEqualTo(light);
            assertThat(browser.complaints()).isEmpty();
        }
    }

    private static String smallestChart() {
        return "Math.min(...[...document.querySelectorAll('figure > svg')].map(one => one.getBoundingClientRect().width))";
    }

    private static int number(Browser browser, String expression) throws Exception {
        return browser.value(expression).getAsInt();
    }
}
