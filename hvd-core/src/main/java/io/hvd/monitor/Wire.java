package io.hvd.monitor;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** What monitors tell each other, as bytes. The pairs of methods stand side by side and name the same fields in the same order. */
final class Wire {
    /** Writes the fields of one message. */
    interface Writer {
        void write(DataOutputStream out) throws IOException;
    }

    private Wire() {}

    static byte[] bytes(Writer writer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            writer.write(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new IllegalStateException("memory does not refuse bytes", e);
        }
        return bytes.toByteArray();
    }

    static DataInputStream reader(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }

    static void text(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static String text(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    static void report(DataOutputStream out, LiveReport report) throws IOException {
        activity(out, report.activity());
        stack(out, report.training());
        stack(out, report.communication());
        text(out, report.others());
        text(out, report.machine());
    }

    static LiveReport report(DataInputStream in) throws IOException {
        return new LiveReport(activity(in), stack(in), stack(in), text(in), text(in));
    }

    static void hang(DataOutputStream out, HangReport report) throws IOException {
        text(out, report.verdict());
        out.writeInt(report.reporter());
        text(out, report.file());
    }

    static HangReport hang(DataInputStream in) throws IOException {
        return new HangReport(text(in), in.readInt(), text(in));
    }

    static void activity(DataOutputStream out, Activity activity) throws IOException {
        calls(out, activity.pending());
        calls(out, activity.recent());
        text(out, activity.phase().what());
        out.writeLong(activity.phase().leftMillis());
        out.writeLong(activity.phase().endedAgo());
    }

    static Activity activity(DataInputStream in) throws IOException {
        return new Activity(calls(in), calls(in), new PhaseView(text(in), in.readLong(), in.readLong()));
    }

    private static void stack(DataOutputStream out, StackView stack) throws IOException {
        text(out, stack.thread());
        text(out, stack.state());
        text(out, stack.place());
        out.writeBoolean(stack.insideHvd());
        text(out, stack.text());
    }

    private static StackView stack(DataInputStream in) throws IOException {
        return new StackView(text(in), text(in), text(in), in.readBoolean(), text(in));
    }

    private static void calls(DataOutputStream out, List<CallView> calls) throws IOException {
        out.writeInt(calls.size());
        for (CallView call : calls) {
            out.writeLong(call.number());
            out.writeInt(call.key().processSet());
            text(out, call.key().kind());
            text(out, call.key().name());
            text(out, call.detail());
            members(out, call.members());
            text(out, call.site());
            out.writeLong(call.submittedAgo());
            out.writeLong(call.startedAgo());
            out.writeLong(call.endedAgo());
            text(out, call.error());
        }
    }

    private static List<CallView> calls(DataInputStream in) throws IOException {
        List<CallView> calls = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            calls.add(new CallView(
                    in.readLong(),
                    new CallView.Key(in.readInt(), text(in), text(in)),
                    text(in),
                    members(in),
                    text(in),
                    in.readLong(),
                    in.readLong(),
                    in.readLong(),
                    text(in)));
        }
        return calls;
    }

    /** All ranks, the usual case, take one number however many they are. */
    private static void members(DataOutputStream out, List<Integer> members) throws IOException {
        boolean all = members.equals(upTo(members.size()));
        out.writeBoolean(all);
        out.writeInt(members.size());
        for (int i = 0; i < members.size() && !all; i++) {
            out.writeInt(members.get(i));
        }
    }

    private static List<Integer> members(DataInputStream in) throws IOException {
        boolean all = in.readBoolean();
        int size = in.readInt();
        List<Integer> members = new ArrayList<>(all ? upTo(size) : List.of());
        while (members.size() < size) {
            members.add(in.readInt());
        }
        return List.copyOf(members);
    }

    private static List<Integer> upTo(int size) {
        return IntStream.range(0, size).boxed().toList();
    }
}
