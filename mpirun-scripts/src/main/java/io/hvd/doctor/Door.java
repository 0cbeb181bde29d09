package io.hvd.doctor;

/** An address at which a host lets the others of one examination in. */
record Door(String network, String address, int port) {}
