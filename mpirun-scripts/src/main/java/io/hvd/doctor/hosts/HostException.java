package io.hvd.doctor.hosts;

import io.hvd.doctor.checks.Finding;

/** A host could not be examined; carries the finding that this is. */
public final class HostException extends Exception {

    private static final long serialVersionUID = 1;

    private final transient Finding finding;

    HostException(Finding finding) {
        super(finding.found());
        this.finding = finding;
    }

    public Finding finding() {
        return finding;
    }
}
