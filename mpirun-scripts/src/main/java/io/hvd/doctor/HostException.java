package io.hvd.doctor;

/** A host could not be examined; carries the finding that this is. */
final class HostException extends Exception {

    private static final long serialVersionUID = 1;

    private final transient Finding finding;

    HostException(Finding finding) {
        super(finding.found());
        this.finding = finding;
    }

    Finding finding() {
        return finding;
    }
}
