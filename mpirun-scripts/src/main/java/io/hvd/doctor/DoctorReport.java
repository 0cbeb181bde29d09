package io.hvd.doctor;

import com.google.gson.GsonBuilder;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.checks.Severity;
import io.hvd.doctor.facts.HostInventory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What came of an examination: the hosts as they are, and what is to be mended, the worst first.
 *
 * @param selfTest what its ranks said, or empty
 */
record DoctorReport(HostInventory inventory, List<Finding> findings, String selfTest) {

    DoctorReport {
        List<Finding> sorted = new ArrayList<>(findings);
        sorted.sort(
                Comparator.comparing((Finding finding) -> finding.diagnosis().severity())
                        .thenComparing(Finding::diagnosis));
        findings = List.copyOf(sorted);
    }

    boolean hasErrors() {
        return count(Severity.ERROR) > 0;
    }

    long count(Severity severity) {
        return findings.stream()
                .filter(finding -> finding.diagnosis().severity() == severity)
                .count();
    }

    String json() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("errors", count(Severity.ERROR));
        all.put("warnings", count(Severity.WARNING));
        all.put("findings", findings.stream().map(DoctorReport::json).toList());
        all.put("hosts", inventory.hosts());
        all.put("links", inventory.links());
        all.put("selfTest", selfTest);
        return new GsonBuilder()
                .disableHtmlEscaping()
                .setPrettyPrinting()
                .create()
                .toJson(all);
    }

    private static Map<String, Object> json(Finding finding) {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("id", finding.diagnosis().id());
        one.put("area", finding.diagnosis().area().word());
        one.put("severity", finding.diagnosis().severity().word());
        one.put("hosts", finding.hosts());
        one.put("found", finding.found());
        one.put("cause", finding.diagnosis().cause());
        one.put("command", finding.command());
        return one;
    }
}
