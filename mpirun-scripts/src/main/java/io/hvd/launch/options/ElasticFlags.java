package io.hvd.launch.options;

import io.hvd.config.Numerals;
import io.hvd.launch.hosts.HostDiscovery;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** The flags for elastic jobs, with the meaning that they have in Horovod, and for jobs that are started again. */
record ElasticFlags(List<FlagValue> given) {

    private static final int LIMIT_SECONDS = 600;
    private static final int LONGEST_SECONDS = 1_000_000;
    private static final int HIGHEST_PORT = 65_535;
    private static final List<Flag> MAKE_ELASTIC =
            List.of(Flag.MIN_NP, Flag.MAX_NP, Flag.HOST_DISCOVERY_SCRIPT, Flag.ELASTIC_COORDINATOR);
    private static final List<Flag> OF_ELASTIC =
            List.of(Flag.SLOTS_PER_HOST, Flag.ELASTIC_TIMEOUT, Flag.RESET_LIMIT, Flag.BLACKLIST_COOLDOWN_RANGE);

    /** Those that a coordinator needs which starts no ranks. */
    private static final Set<Flag> OF_COORDINATOR = EnumSet.of(
            Flag.ELASTIC_COORDINATOR,
            Flag.NUM_PROC,
            Flag.MIN_NP,
            Flag.MAX_NP,
            Flag.ELASTIC_TIMEOUT,
            Flag.RESET_LIMIT,
            Flag.START_TIMEOUT,
            Flag.GLOO_TIMEOUT,
            Flag.NETWORK_INTERFACES,
            Flag.NETWORK_INTERFACE,
            Flag.CONFIG_FILE);

    boolean isElastic() {
        return !isRestarted() && mayChangeSize();
    }

    /** Whether a failed job is started again, instead of going on without the lost ranks. */
    boolean isRestarted() {
        return FlagValue.has(given, Flag.RESTARTS);
    }

    /** Whether flags allow other numbers of ranks than that of the start. */
    boolean mayChangeSize() {
        return MAKE_ELASTIC.stream().anyMatch(flag -> FlagValue.has(given, flag));
    }

    /** @throws UsageException if a flag speaks of elastic jobs, and none makes this job one */
    void requireElastic() {
        for (Flag flag : OF_ELASTIC) {
            boolean fits = flag == Flag.SLOTS_PER_HOST ? mayChangeSize() : isElastic();
            if (!fits && FlagValue.has(given, flag)) {
                throw new UsageException(
                        "not-elastic",
                        FlagValue.last(given, flag).orElseThrow().origin()
                                + " is for elastic jobs; --min-np, --max-np or --host-discovery-script makes this job one"
                                + (isRestarted() ? " if there is no --restarts" : ""));
            }
        }
    }

    /** Whether others start the ranks. */
    boolean startsNothing() {
        return FlagValue.has(given, Flag.ELASTIC_COORDINATOR);
    }

    /** @throws UsageException if a coordinator that starts nothing is told what to start, or how */
    void requireNothingToStart(List<String> command) {
        String tooMuch = given.stream()
                .filter(one -> !OF_COORDINATOR.contains(one.flag()))
                .map(FlagValue::origin)
                .findFirst()
                .orElse(command.isEmpty() ? "" : command.get(0));
        if (!tooMuch.isEmpty()) {
            throw new UsageException(
                    "coordinator-starts-nothing",
                    tooMuch + " is for ranks that horovodrun starts, and with --elastic-coordinator others start them;"
                            + " leave it out");
        }
    }

    /** @throws UsageException if the ranks are to be started with mpirun, which cannot start more of them later */
    Starter starter(Starter asked) {
        if (asked == Starter.MPIRUN) {
            throw new UsageException(
                    "elastic-mpi",
                    "an elastic job (--min-np, --max-np, --host-discovery-script) is started without MPI, as by --gloo:"
                            + " MPI cannot change the number of ranks of a running job. Leave out --mpi and"
                            + " HOROVOD_CONTROLLER=mpi");
        }
        return Starter.HOROVODRUN;
    }

    /** The ranks that are started first: as many as are asked for, if the hosts have the slots. */
    int first(JobSize size, List<HostSlots> hosts) {
        int asked = size.asked()
                .or(() -> number(Flag.MIN_NP))
                .orElseThrow(() -> new UsageException(
                        "np-missing", "-np is missing: say with how many ranks the job begins, as in -np 4"));
        int least = number(Flag.MIN_NP).orElse(asked);
        int slots = hosts.isEmpty() ? Integer.MAX_VALUE : HostSlots.total(hosts);
        if (slots < least) {
            throw new UsageException(
                    "np-exceeds-slots",
                    "the job needs at least " + least + " ranks (--min-np), but " + HostSlots.join(hosts) + " has "
                            + slots + " slots");
        }
        return Math.min(asked, slots);
    }

    /** @param first the ranks with which the job begins */
    ElasticSettings settings(int first) {
        int least = number(Flag.MIN_NP).orElse(first);
        int most = number(Flag.MAX_NP).orElse(Math.max(first, least));
        if (least > first || first > most) {
            throw new UsageException(
                    "elastic-sizes",
                    "--min-np " + least + ", -np " + first + " and --max-np " + most
                            + ": expected them in this order, from the least to the most");
        }
        return new ElasticSettings(
                least,
                most,
                number(Flag.ELASTIC_TIMEOUT, 1, LONGEST_SECONDS).orElse(LIMIT_SECONDS),
                number(Flag.RESET_LIMIT, 0, Integer.MAX_VALUE).orElse(Integer.MAX_VALUE),
                FlagValue.last(given, Flag.BLACKLIST_COOLDOWN_RANGE).map(ElasticFlags::cooldown),
                discovery(),
                FlagValue.last(given, Flag.ELASTIC_COORDINATOR)
                        .map(one -> OptionalInt.of(one.number(0, HIGHEST_PORT)))
                        .orElse(OptionalInt.empty()));
    }

    /** @param first the ranks with which the job begins */
    RestartSettings restarts(int first) {
        ElasticSettings sizes = settings(first);
        return new RestartSettings(
                number(Flag.RESTARTS, 0, Integer.MAX_VALUE).orElseThrow(),
                sizes.atLeast(),
                sizes.atMost(),
                sizes.discovery());
    }

    Optional<HostDiscovery> discovery() {
        return FlagValue.value(given, Flag.HOST_DISCOVERY_SCRIPT)
                .map(script -> new HostDiscovery(
                        Path.of(script).toAbsolutePath(),
                        number(Flag.SLOTS_PER_HOST).orElse(1)));
    }

    private Optional<Integer> number(Flag flag) {
        return number(flag, 1, Integer.MAX_VALUE);
    }

    private Optional<Integer> number(Flag flag, int least, int most) {
        return FlagValue.last(given, flag).map(one -> one.number(least, most));
    }

    private static ElasticSettings.Cooldown cooldown(FlagValue one) {
        String[] both = one.value().strip().split("[\\s,]+");
        try {
            int least = Numerals.wholeInt(both[0]);
            int most = Numerals.wholeInt(both[1]);
            if (both.length == 2 && least >= 1 && most >= least) {
                return new ElasticSettings.Cooldown(least, most);
            }
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            throw cooldownError(one, e);
        }
        throw cooldownError(one, null);
    }

    private static UsageException cooldownError(FlagValue one, Exception cause) {
        UsageException error = new UsageException(
                "cooldown-range",
                one.origin() + " " + one.value()
                        + ": expected two numbers of seconds, from the least to the most, as in" + " 10 60");
        error.initCause(cause);
        return error;
    }
}
