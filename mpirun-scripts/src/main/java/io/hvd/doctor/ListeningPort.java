package io.hvd.doctor;

/** A port at which a host listens for the others of one examination. */
record ListeningPort(String network, String address, int number) {}
