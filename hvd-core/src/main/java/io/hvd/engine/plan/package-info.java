/** The static plan: steps that repeat without negotiation, and how ranks leave it. */
package io.hvd.engine.plan;
