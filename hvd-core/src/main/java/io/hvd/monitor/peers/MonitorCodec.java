package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.StackView;
import io.hvd.monitor.view.Stillness;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.AbstractList;
import java.util.List;
import java.util.Objects;

/** Encodes and decodes the messages between monitors. Each pair of methods has the same fields in the same order. */
final class MonitorCodec {
    /** The most ranks in a message, more than any job has; it bounds the number that stands for all ranks. */
    private static final int MOST_RANKS = 1 << 20;

    private MonitorCodec() {}

    static void report(MessageWriter out, LiveReport report) {
        activity(out, report.activity());
        stack(out, report.training());
        stack(out, report.communication());
        out.writeText(report.stillness().awake());
        out.writeLong(report.stillness().fingerprint());
        out.writeText(report.others());
        out.writeText(report.machine());
    }

    static LiveReport report(MessageReader in) {
        return new LiveReport(
                activity(in),
                stack(in),
                stack(in),
                new Stillness(in.readText(), in.readLong()),
                in.readText(),
                in.readText());
    }

    static void hang(MessageWriter out, HangReport report) {
        out.writeText(report.verdict());
        out.writeInt(report.reporter());
        out.writeText(report.file());
    }

    static HangReport hang(MessageReader in) {
        return new HangReport(in.readText(), in.readInt(), in.readText());
    }

    static void activity(MessageWriter out, Activity activity) {
        out.writeList(activity.pending(), MonitorCodec::call);
        out.writeList(activity.recent(), MonitorCodec::call);
        out.writeText(activity.phase().what());
        out.writeLong(activity.phase().leftMillis());
        out.writeLong(activity.phase().endedAgo());
    }

    static Activity activity(MessageReader in) {
        return new Activity(
                in.readList(MonitorCodec::call),
                in.readList(MonitorCodec::call),
                new PhaseView(in.readText(), in.readLong(), in.readLong()));
    }

    private static void stack(MessageWriter out, StackView stack) {
        out.writeText(stack.thread());
        out.writeText(stack.state());
        out.writeText(stack.place());
        out.writeBoolean(stack.insideHvd());
        out.writeText(stack.text());
    }

    private static StackView stack(MessageReader in) {
        return new StackView(in.readText(), in.readText(), in.readText(), in.readBoolean(), in.readText());
    }

    private static void call(MessageWriter out, CallView call) {
        out.writeLong(call.number());
        out.writeInt(call.key().processSet());
        out.writeText(call.key().kind());
        out.writeText(call.key().name());
        out.writeText(call.detail());
        members(out, call.members());
        out.writeText(call.site());
        out.writeLong(call.submittedAgo());
        out.writeLong(call.startedAgo());
        out.writeLong(call.endedAgo());
        out.writeText(call.error());
    }

    private static CallView call(MessageReader in) {
        return new CallView(
                in.readLong(),
                new CallView.Key(in.readInt(), in.readText(), in.readText()),
                in.readText(),
                members(in),
                in.readText(),
                in.readLong(),
                in.readLong(),
                in.readLong(),
                in.readText());
    }

    /** Writes a list of ranks; the list of all ranks, which is the usual one, takes only one number. */
    private static void members(MessageWriter out, List<Integer> members) {
        boolean all = members.equals(upTo(members.size()));
        out.writeBoolean(all);
        if (all) {
            out.writeInt(members.size());
        } else {
            out.writeList(members, MessageWriter::writeInt);
        }
    }

    private static List<Integer> members(MessageReader in) {
        return in.readBoolean() ? upTo(ranks(in)) : List.copyOf(in.readList(MessageReader::readInt));
    }

    private static int ranks(MessageReader in) {
        int ranks = in.readInt();
        if (ranks < 0 || ranks > MOST_RANKS) {
            throw in.malformed(ranks + " ranks", "0 to " + MOST_RANKS);
        }
        return ranks;
    }

    /** The ranks below a number, in a list that takes no memory even if a damaged message names a large number. */
    private static List<Integer> upTo(int size) {
        return new AbstractList<>() {
            @Override
            public Integer get(int rank) {
                return Objects.checkIndex(rank, size);
            }

            @Override
            public int size() {
                return size;
            }
        };
    }
}
