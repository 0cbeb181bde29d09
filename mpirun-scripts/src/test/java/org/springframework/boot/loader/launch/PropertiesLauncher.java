package org.springframework.boot.loader.launch;

/** Stands for Spring Boot's launcher that takes the main class from a property. */
public final class PropertiesLauncher {
    private PropertiesLauncher() {}
}
