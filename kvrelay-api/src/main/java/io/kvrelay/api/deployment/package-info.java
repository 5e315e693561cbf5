/**
 * What a relay is told about its deployment: complete, revisioned facts from a {@link
 * io.kvrelay.api.deployment.DeploymentFactsSource}, and occupancy reports from a {@link
 * io.kvrelay.api.deployment.LoadReportSource}. Where the facts come from (a program, a file, a
 * discovery service) is a provider's business; what follows from them is the relay's. The rules
 * stand in {@code docs/topology-and-load.md}.
 */
@NullMarked
package io.kvrelay.api.deployment;

import org.jspecify.annotations.NullMarked;
