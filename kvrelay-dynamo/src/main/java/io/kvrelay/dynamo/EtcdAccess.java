package io.kvrelay.dynamo;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * How to reach an etcd that holds a deployment's records. Immutable.
 *
 * @param endpoints addresses with their scheme, {@code http} or {@code https}; at least one
 * @param user who asks, or null if etcd does not want to know
 * @param password the user's password, or null
 * @param tls certificates of {@code https}, or null for those the JVM trusts
 */
public record EtcdAccess(
    List<URI> endpoints,
    @Nullable String user,
    @Nullable String password,
    @Nullable SSLContext tls) {
  /**
   * Copies and checks.
   *
   * @param endpoints addresses with their scheme, {@code http} or {@code https}; at least one
   * @param user who asks, or null if etcd does not want to know
   * @param password the user's password, or null
   * @param tls certificates of {@code https}, or null for those the JVM trusts
   * @throws IllegalArgumentException if an address is not acceptable, or there is none
   */
  public EtcdAccess {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("endpoints = []: must name at least one");
    }
    for (URI endpoint : endpoints) {
      String scheme = endpoint.getScheme();
      if (endpoint.getHost() == null
          || endpoint.getPort() < 0
          || !("http".equals(scheme) || "https".equals(scheme))) {
        throw new IllegalArgumentException(
            "endpoints = " + endpoint + ": must be http://HOST:PORT or https://HOST:PORT");
      }
    }
    if ((user == null) != (password == null)) {
      throw new IllegalArgumentException(
          "user = " + user + ": comes with a password, or not at all");
    }
  }

  /**
   * Reads a list of addresses: {@code HOST:PORT} or with a scheme, separated by commas.
   *
   * @param text the list
   * @return access without a user, with the certificates that the JVM trusts
   * @throws IllegalArgumentException if an address is not acceptable
   */
  public static EtcdAccess parse(String text) {
    List<URI> endpoints = new ArrayList<>();
    for (String one : text.split(",", -1)) {
      endpoints.add(URI.create(one.contains("://") ? one.strip() : "http://" + one.strip()));
    }
    return new EtcdAccess(endpoints, null, null, null);
  }

  /** Without the password. */
  @Override
  public String toString() {
    return "EtcdAccess" + endpoints + (user == null ? "" : " as " + user);
  }
}
