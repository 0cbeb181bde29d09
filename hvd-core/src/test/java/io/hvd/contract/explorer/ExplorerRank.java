package io.hvd.contract.explorer;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ObjectCodec;
import io.hvd.RankBody;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramGenerator;
import io.hvd.contract.program.ProgramId;
import io.hvd.contract.program.ProgramId.Pace;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A process of a job that plays programs, one after the other, each in a context of its own, and says what it has seen:
 * rank 0 for all. A program that does not end is ended together with the process.
 */
public final class ExplorerRank {
    /** Begin of the lines for {@link JobTeam}. */
    static final String BEGINS = "EXPLORING ";

    static final String ENDS = "EXPLORED ";
    static final String FOUND = "FOUND ";
    static final String STUCK = "STUCK ";

    /** For whatever else the other processes have to say. */
    private static final long LAST_WORDS_MILLIS = 2_000;

    private final Composition composition;
    private final long endNanos;
    /** The logs of this process's ranks in the program that they play. */
    private final Map<Integer, RankLog> playing = new ConcurrentSkipListMap<>();

    private ExplorerRank(Composition composition, long seconds) {
        this.composition = composition;
        this.endNanos = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
    }

    /** Composition, pace, first seed, number of programs, seconds; or composition and one program. */
    public static void main(String[] args) throws Exception {
        Composition composition = Composition.of(args[0]);
        if (args.length == 2) {
            new ExplorerRank(composition, 0).play(ProgramId.of(args[1]));
            return;
        }
        ExplorerRank explorer = new ExplorerRank(composition, Long.parseLong(args[4]));
        Pace pace = Pace.valueOf(args[1]);
        long first = Long.parseLong(args[2]);
        long count = Long.parseLong(args[3]);
        boolean goesOn = true;
        for (long seed = first; goesOn && seed < first + count; seed++) {
            goesOn = explorer.play(ProgramId.of(pace, seed));
        }
    }

    /** @return whether there is time for another one, on which all ranks agree */
    private boolean play(ProgramId id) throws Exception {
        Program program = ProgramGenerator.write(id, composition.ranks());
        Timer timer = endAfter(program);
        InitOptions options = InitOptions.standard().withDynamicProcessSets().withProcessSets(program.startSets());
        try (Starvation starvation = Starvation.watch()) {
            RankBody<Boolean> body = hvd -> playAndTell(program, hvd, starvation);
            if (composition.threads() > 0) {
                return Hvd.spawn(composition.threads(), options, body).get(0);
            }
            HvdContext hvd = Hvd.init(options);
            boolean goesOn = body.run(hvd);
            hvd.shutdown();
            return goesOn;
        } finally {
            timer.cancel();
        }
    }

    private boolean playAndTell(Program program, HvdContext hvd, Starvation starvation) {
        if (hvd.rank() == 0) {
            System.out.println(BEGINS + program.id());
        }
        long begun = System.nanoTime();
        RankLog log = new RankLog(program.ops().size());
        playing.put(hvd.rank(), log);
        ProgramRunner.play(program, hvd, log);
        playing.remove(hvd.rank());
        if (composition.threads() == 0 || hvd.rank() % composition.threads() == 0) { // the first one of its process
            log.starvation = starvation.samples();
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        List<RankLog> logs = hvd.allgatherObject("explorer.logs", log.toBytes(), ObjectCodec.bytes()).stream()
                .map(RankLog::of)
                .toList();
        if (hvd.rank() == 0) {
            tell(program, ResultChecker.of(program, logs), seconds);
        }
        String more = System.nanoTime() < endNanos ? "more" : "no more";
        boolean goesOn = hvd.broadcastObject("explorer.more", more, ObjectCodec.utf8(), 0)
                .equals("more");
        List<String> wrong = EarlyEnd.play(program, hvd);
        if (!wrong.isEmpty()) {
            throw new IllegalStateException(String.join("; ", wrong)); // the job ends, and its team says with what
        }
        return goesOn;
    }

    /** One line each: other ranks' output may come between lines. */
    private static void tell(Program program, ResultChecker.Verdict verdict, double seconds) {
        StringBuilder text = new StringBuilder();
        verdict.findings()
                .forEach(finding -> text.append(FOUND)
                        .append(finding.property())
                        .append(" ")
                        .append(finding.certain())
                        .append(" ")
                        .append(finding.what().replace("\n", " | "))
                        .append("\n"));
        text.append(ENDS)
                .append(program.id())
                .append(" ")
                .append(verdict.longestLagMillis())
                .append(" ")
                .append(Math.round(seconds * 1e3))
                .append("\n");
        System.out.print(text);
        System.out.flush();
    }

    /** Ends the process at the program's limit: a program that still runs then would run for ever. */
    private Timer endAfter(Program program) {
        Timer timer = new Timer("explorer-limit", true);
        timer.schedule(
                new TimerTask() {
                    @Override
                    public void run() {
                        StringBuilder text = new StringBuilder(STUCK + program.id());
                        playing.forEach((rank, log) -> text.append(" | rank ")
                                .append(rank)
                                .append(" is in ")
                                .append(log.unfinished(program)));
                        text.append(" | ").append(ThreadTeam.stacks().replace("\n", " | "));
                        System.out.println(text);
                        System.out.flush();
                    }
                },
                ThreadTeam.limitMillis(program));
        timer.schedule(
                new TimerTask() {
                    @Override
                    public void run() {
                        Runtime.getRuntime().halt(3);
                    }
                },
                ThreadTeam.limitMillis(program) + LAST_WORDS_MILLIS);
        return timer;
    }
}
