/**
 * The configuration file of {@code kvrelay relay}: YAML or JSON in, deployment facts, settings and
 * event sources out. Every key stands in {@code docs/operations.md}.
 */
@NullMarked
package io.kvrelay.cli.config;

import org.jspecify.annotations.NullMarked;
