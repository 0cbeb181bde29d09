package io.hvd.doctor;

import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.checks.MemoryBudget;
import io.hvd.doctor.checks.Severity;
import io.hvd.doctor.checks.Sizes;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.Facts.Interface;
import io.hvd.doctor.facts.Facts.Mpi;
import io.hvd.doctor.facts.Facts.Network;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.doctor.network.MeasuredLink;
import io.hvd.net.Interfaces;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The report for people. */
final class ReportText {

    private static final String INDENT = "  ";

    private final DoctorReport report;
    private final StringBuilder text = new StringBuilder();

    private ReportText(DoctorReport report) {
        this.report = report;
    }

    static String of(DoctorReport report) {
        return new ReportText(report).text();
    }

    private String text() {
        report.inventory().hosts().forEach(this::host);
        links(report.inventory().links());
        if (!report.selfTest().isEmpty()) {
            text.append(report.selfTest()).append("\n\n");
        }
        report.findings().forEach(this::finding);
        return text.append(count(Severity.ERROR))
                .append(", ")
                .append(count(Severity.WARNING))
                .append(", ")
                .append(count(Severity.NOTE))
                .append('\n')
                .toString();
    }

    private String count(Severity severity) {
        long count = report.count(severity);
        return count + " " + severity.word() + (count == 1 ? "" : "s");
    }

    private void host(Host host) {
        Facts facts = host.facts();
        text.append(host.name())
                .append(", ")
                .append(host.ranks())
                .append(host.ranks() == 1 ? " rank" : " ranks")
                .append(host.here() ? ", this host\n" : "\n");
        line("MPI", mpi(facts.mpi()));
        line(
                "Java",
                facts.values().getOrDefault("Java version", "unknown") + ", hvd "
                        + facts.values().getOrDefault("hvd version", "unknown"));
        line("memory", MemoryBudget.of(report.inventory(), host).text());
        Facts.Folder shared = facts.folders().sharedMemory();
        line("/dev/shm", Sizes.of(shared.free()) + " free of " + Sizes.of(shared.total()));
        line("limits", limits(facts.limits()));
        line("network", network(facts.network()));
        line("GPU", gpu(facts));
        text.append('\n');
    }

    private void line(String item, String value) {
        text.append(String.format(Locale.ROOT, "%s%-9s %s%n", INDENT, item, value));
    }

    private static String mpi(Mpi mpi) {
        if (mpi.mpirun().isEmpty()) {
            return "none";
        }
        String way = !mpi.jar().isEmpty()
                ? "called by " + mpi.jar()
                : mpi.foreign().isEmpty() ? "" : "called without mpi.jar, by foreign functions: " + mpi.foreign();
        return mpi.version() + ", " + mpi.mpirun() + (way.isEmpty() ? "" : ", " + way);
    }

    private static String limits(Facts.Limits limits) {
        return limits.cores() + " cores, open files " + limit(limits.openFiles()) + ", processes "
                + limit(limits.processes()) + ", locked memory "
                + (limits.lockedMemory() < 0 ? "unlimited" : Sizes.of(limits.lockedMemory()))
                + (limits.fabric().isEmpty() ? "" : ", " + limits.fabric());
    }

    private static String limit(long number) {
        return number < 0 ? "unlimited" : Long.toString(number);
    }

    private static String network(Network network) {
        String used = network.interfaces().stream()
                .filter(one -> network.used().contains(one.name()))
                .map(one -> one.name() + " " + String.join(" ", one.addresses()))
                .collect(Collectors.joining(", "));
        List<String> others = network.interfaces().stream()
                .map(Interface::name)
                .filter(name -> !network.used().contains(name))
                .sorted()
                .toList();
        List<String> unused = Interfaces.used(others);
        List<String> inside =
                others.stream().filter(name -> !unused.contains(name)).toList();
        return (used.isEmpty() ? "none is used" : "used " + used)
                + (unused.isEmpty() ? "" : "; not used " + String.join(", ", unused))
                + (inside.isEmpty() ? "" : "; end inside the host " + String.join(", ", inside));
    }

    private static String gpu(Facts facts) {
        return facts.gpu().gpus() == 0
                ? "none"
                : facts.gpu()
                        .text()
                        .strip()
                        .replace(System.lineSeparator(), System.lineSeparator() + INDENT + " ".repeat(10));
    }

    private void links(List<MeasuredLink> links) {
        if (links.isEmpty()) {
            return;
        }
        int width = links.stream().mapToInt(link -> way(link).length()).max().orElse(0);
        text.append("between the hosts: there and back, bytes per second, the other clock\n");
        links.forEach(link ->
                text.append(String.format(Locale.ROOT, "%s%-" + width + "s  %s%n", INDENT, way(link), measured(link))));
        text.append('\n');
    }

    private static String way(MeasuredLink link) {
        return link.from() + " -> " + link.to() + " " + link.network();
    }

    private static String measured(MeasuredLink link) {
        return link.open()
                ? String.format(
                        Locale.ROOT,
                        "%7.3f ms  %8.1f MB/s  %+8.3f ms",
                        link.roundTripMicros() / 1e3,
                        link.bytesPerSecond() / 1e6,
                        link.clockAheadMicros() / 1e3)
                : link.obstacle();
    }

    private void finding(Finding finding) {
        text.append(String.format(
                Locale.ROOT,
                "%s %s on %s: %s%n",
                finding.diagnosis().id(),
                finding.diagnosis().severity().word(),
                String.join(", ", finding.hosts()),
                finding.found().replace("\n", System.lineSeparator() + INDENT)));
        line("cause", finding.diagnosis().cause());
        line("run", finding.command());
        text.append('\n');
    }
}
