package org.springframework.boot.loader.launch;

import java.net.URL;
import java.net.URLClassLoader;

/** Stands for the class loader of Spring Boot's executable jars, which is known by its name. */
public final class LaunchedClassLoader extends URLClassLoader {
    /** Loads from these places first its own. */
    public LaunchedClassLoader(URL... places) {
        super(places, ClassLoader.getPlatformClassLoader());
    }
}
