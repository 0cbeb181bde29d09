package io.hvd.engine.tuning;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.config.Setting;
import io.hvd.engine.coordination.Coordinator;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tunable.Knob;
import io.hvd.engine.message.Tuning;
import io.hvd.engine.plan.DataPlaneLock;
import io.hvd.log.HvdLogger;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Tries other settings on rank 0 while the program trains, and keeps those that are faster beyond doubt. It only
 * decides: the {@link Coordinator} sends new settings with a plan, so that all ranks change them between the same two operations. Only
 * the thread that has the {@link DataPlaneLock} calls it.
 */
public final class Autotuner implements Tuner {
    private static final HvdLogger LOG = HvdLogger.of(Autotuner.class);
    /** Samples that are left out at most until the study has looked at the step under settings under which it runs in another way. */
    private static final int MOST_WAITED_FOR_STUDY = 10;
    /** By how much the bytes of a step may change before samples no longer compare. */
    private static final double ANOTHER_STEP = 0.1;

    /** A search that may take so many more samples may be begun anew once more. */
    private static final int SAMPLES_PER_RESTART = 5;
    /** With the same seed always, so that two runs with the same samples choose alike. */
    private static final int SEED_OF_ORDER = 28;

    private final AutotuneSettings settings;
    private final Tunable start;
    private final StepSampler sampler;
    private final TuningLog log;
    private final StepStudy study;
    private final Job job;
    private final Random order = new Random(SEED_OF_ORDER);
    /** Null while it warms up. */
    private TuningSearch search;

    private StepSample typical;
    private int warmed;
    private int waited;
    private int restarts;
    private int samples;
    /** The settings that are to hold, and those that hold until all ranks have been told. */
    private Tunable now;

    private Tunable holding;
    private Tuning wish;
    private boolean over;

    /**
     * What matters of the job.
     *
     * @param localSize the number of ranks on each host; 1 if it differs
     * @param noChoiceOfLevels see {@link io.hvd.spi.DataPlane.Levels#obstacle}
     * @param buckets whether an optimizer groups its gradients as the settings say
     */
    public record Job(int localSize, Optional<String> noChoiceOfLevels, BooleanSupplier buckets) {
        /** Why a setting is not tuned, in words; empty if it is. */
        Optional<String> obstacle(Knob knob) {
            return switch (knob) {
                case LEVELS -> noChoiceOfLevels.map(why -> "gives no choice here, because " + why + ",");
                case BUCKET_BYTES ->
                    buckets.getAsBoolean()
                            ? Optional.empty()
                            : Optional.of(
                                    "has no effect without a DistributedOptimizer of all ranks that leaves it open,");
                case FUSION_THRESHOLD, CYCLE_TIME -> Optional.empty();
            };
        }
    }

    /** @param study keeps still while other settings are tried */
    public Autotuner(AutotuneSettings settings, EngineSettings engine, StepStudy study, Job job) {
        this.settings = settings;
        this.start = Tunable.of(engine);
        this.now = start;
        this.holding = start;
        this.job = job;
        this.study = study;
        this.sampler = new StepSampler(
                settings.stepsPerSample(),
                settings.sampleMillis() * 1_000_000L,
                engine.strict() ? 0 : engine.staticPlanSteps(),
                settings.warmupSamples() > 0);
        this.log = new TuningLog(settings, engine.cacheCapacity() > 0);
    }

    boolean isOver() {
        return over;
    }

    @Override
    public void planBegan() {
        sampler.planBegan();
    }

    @Override
    public void planEnded() {
        sampler.planEnded();
    }

    @Override
    public void ran(Collection<String> names, long bytes, long nanos) {
        if (isMeasuring()) {
            sampler.ran(names, bytes, nanos).ifPresent(sample -> sampled(sample, nanos));
        }
    }

    /**
     * Some ranks have joined, and the others have carried out allreduces: they have more of the cores and of the network
     * for themselves. The sample begins anew when all ranks take part again.
     */
    @Override
    public void ranWithoutSome() {
        sampler.settingsChanged();
    }

    @Override
    public boolean ranStep(long bytes, long nanos) {
        if (isMeasuring()) {
            sampler.stepEnded(bytes, nanos).ifPresent(sample -> sampled(sample, nanos));
        }
        return !now.equals(holding);
    }

    @Override
    public boolean isMeasuring() {
        return !over && now.equals(holding);
    }

    @Override
    public Tunable wanted() {
        return now;
    }

    @Override
    public Tuning takeWish() {
        Tuning taken = wish;
        wish = null;
        return taken;
    }

    @Override
    public void applied(Tuning tuning) {
        holding = tuning.settings();
        sampler.settingsChanged();
    }

    private void sampled(StepSample sample, long nanos) {
        samples++;
        boolean waits = waitsForStudy(sample);
        if (search == null) {
            warmUp(sample, waits);
        } else if (isAnotherStep(sample)) {
            startAnew();
        } else if (waits) {
            log.add(now, sample, "settling");
        } else {
            log.add(now, sample, search.phase());
            search.sampled(sample, nanos);
            goOn();
        }
    }

    private boolean waitsForStudy(StepSample sample) {
        return settings.warmupSamples() > 0
                && sample.inPlan()
                && !study.hasLooked()
                && waited++ < settings.warmupSamples() + MOST_WAITED_FOR_STUDY;
    }

    private void warmUp(StepSample sample, boolean waits) {
        log.add(now, sample, "warmup");
        warmed++;
        if (warmed >= settings.warmupSamples() && !waits) {
            typical = sample;
            search = new TuningSearch(start, knobs(), sample, settings.maxSamples(), job.localSize(), order);
            study.keepStill(true);
            goOn();
        }
    }

    private List<Knob> knobs() {
        return Arrays.stream(Knob.values())
                .filter(knob -> !settings.isFixed(knob.setting()))
                .filter(knob -> job.obstacle(knob).isEmpty())
                .toList();
    }

    private boolean isAnotherStep(StepSample sample) {
        return Math.abs(sample.bytes() - typical.bytes()) > ANOTHER_STEP * typical.bytes();
    }

    /** The program does something else than before, so that earlier samples say nothing about it. */
    private void startAnew() {
        search = null;
        warmed = 0;
        study.keepStill(false);
        if (++restarts > settings.maxSamples() / SAMPLES_PER_RESTART) {
            end(
                    start,
                    "keeps " + start + ": the bytes of a step have changed " + restarts
                            + " times, so that no two settings could be compared.");
        } else {
            change(start, "");
        }
    }

    private void goOn() {
        Optional<Tunable> next = search.next();
        if (next.isPresent()) {
            change(next.get(), "");
        } else {
            end(search.chosen(), search.result());
        }
    }

    private void change(Tunable to, String result) {
        if (to.equals(now) && result.isEmpty()) {
            return;
        }
        waited = to.runsLike(now) ? waited : 0;
        now = to;
        wish = new Tuning(to, result);
    }

    private void end(Tunable chosen, String result) {
        over = true;
        study.keepStill(false);
        change(chosen, line(result));
        log.add(chosen, typicalOf(chosen), "best");
        LOG.notice(line(result));
    }

    private StepSample typicalOf(Tunable chosen) {
        return search == null ? typical : search.typicalOf(chosen).orElse(typical);
    }

    private String line(String result) {
        return "autotune: " + result + notTuned() + fixed() + " It took " + samples + " samples.";
    }

    private String notTuned() {
        return Arrays.stream(Knob.values())
                .filter(knob -> !settings.isFixed(knob.setting()))
                .flatMap(knob -> job.obstacle(knob).stream()
                        .map(why -> " " + knob.setting().variable() + " " + why + " and was not tuned."))
                .collect(Collectors.joining());
    }

    private String fixed() {
        List<String> given = Arrays.stream(Knob.values())
                .map(Knob::setting)
                .filter(settings::isFixed)
                .map(Setting::variable)
                .toList();
        return given.isEmpty() ? "" : " Set by the job, and so not tuned: " + String.join(", ", given) + ".";
    }

    /** The job ends; says so if the search has not come to its end. */
    @Override
    public void close() {
        if (!over) {
            over = true;
            LOG.notice(
                    "autotune: the job has ended after {} samples, before a choice was made; it began with {}",
                    samples,
                    start);
            if (typical != null) {
                log.add(start, typical, "unfinished");
            }
        }
    }
}
