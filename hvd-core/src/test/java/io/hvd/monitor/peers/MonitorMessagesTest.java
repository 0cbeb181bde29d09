package io.hvd.monitor.peers;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.RankProcess;
import io.hvd.monitor.view.StackView;
import io.hvd.monitor.view.Stillness;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.testing.DamagedMessages;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What monitors tell each other arrives as it was; what is damaged is refused. */
class MonitorMessagesTest {
    /** Every field different from every other, so that a swap shows. */
    private static CallView call(int i, List<Integer> members) {
        var key = new CallView.Key(i + 1, "kind" + i, "name" + i);
        return new CallView(i, key, "detail" + i, members, "site" + i, i + 2L, i + 3L, CallView.NOT_YET, "error" + i);
    }

    private static Activity activity() {
        return new Activity(
                List.of(call(0, List.of(0, 1, 2)), call(10, List.of(1, 3))),
                List.of(call(20, List.of())),
                new PhaseView("evaluation", 77, 88));
    }

    @Test
    void aSignOfLife() {
        Heartbeat heartbeat = new Heartbeat(3, 1L << 40, activity());
        byte[] bytes = MessageWriter.encode(heartbeat::encode);

        assertThat(heartbeat(bytes)).isEqualTo(heartbeat);
        DamagedMessages.of(bytes, MonitorMessagesTest::heartbeat);
    }

    private static Heartbeat heartbeat(byte[] bytes) {
        return MessageReader.decode("a sign of life", bytes, Heartbeat::decode);
    }

    @Test
    void aReport() {
        var training = new StackView("main", "RUNNABLE", "A.b", false, "at A.b");
        var communication = new StackView("hvd-engine-0", "WAITING", "C.d", true, "at C.d");
        var report = new LiveReport(
                activity(),
                training,
                communication,
                new Stillness("thread \"x\" is RUNNABLE", 77),
                "others",
                "x".repeat(70_000));
        byte[] bytes = MessageWriter.encode(out -> MonitorCodec.report(out, report));

        assertThat(report(bytes)).isEqualTo(report);
        DamagedMessages.of(bytes, MonitorMessagesTest::report);
    }

    private static LiveReport report(byte[] bytes) {
        return MessageReader.decode("a report", bytes, MonitorCodec::report);
    }

    @Test
    void everyQuestion() {
        var end = new PeerQuestion.End(new HangReport("rank 1 is missing", 2, "/tmp/file"));
        var givenUp = new PeerQuestion.GivenUp("rank 1 is gone");
        for (PeerQuestion question : List.of(new PeerQuestion.Report(), new PeerQuestion.State(7), end, givenUp)) {
            assertThat(question(question.encode())).isEqualTo(question);
            DamagedMessages.of(question.encode(), MonitorMessagesTest::question);
        }
    }

    private static PeerQuestion question(byte[] bytes) {
        return MessageReader.decode("a question", bytes, PeerQuestion::decode);
    }

    @Test
    void anIntroduction() throws Exception {
        InetAddress here = InetAddress.getByName("10.1.2.3");
        var introduction = new Introduction(
                new RankProcess(5, "host", 77, 88, "machine"),
                new InetSocketAddress(here, 1000),
                new InetSocketAddress(here, 2000),
                MessageAuthentication.share());

        assertThat(Introduction.decode(introduction.encode()))
                .usingRecursiveComparison()
                .isEqualTo(introduction);
        DamagedMessages.of(introduction.encode(), Introduction::decode);
    }
}
