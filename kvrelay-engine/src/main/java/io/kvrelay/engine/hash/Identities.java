package io.kvrelay.engine.hash;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.Member;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.Text;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The digests that make up a pool's identity. Static and thread safe; every method allocates and
 * none is on a hot path.
 *
 * <p>A digest is the first 16 bytes of the BLAKE3 hash of tagged, length-framed material. The block
 * size and the hash format belong to the cache semantics however they are derived; an explicit map
 * replaces only the rest.
 */
public final class Identities {
  private static final String SEMANTICS_DEFAULT = "dynamo/indexer-cache-semantics/default/v1";
  private static final String SEMANTICS_EXPLICIT = "dynamo/indexer-cache-semantics/explicit/v1";
  private static final String SCOPE_DEFAULT = "dynamo/indexer-routing-scope/default/v1";
  private static final String SCOPE_EXPLICIT = "dynamo/indexer-routing-scope/explicit/v1";
  private static final String DC = "dynamo/indexer-dc/v1";
  private static final String RESIDENCY_OWNER = "dynamo/residency-owner/worker/v1";

  private Identities() {}

  /**
   * Cache semantics derived from a model.
   *
   * @param modelSourcePath where the model comes from
   * @param semantics block size and hash format
   * @return the identity
   */
  public static CacheSemanticsId cacheSemantics(String modelSourcePath, QuerySemantics semantics) {
    return new CacheSemanticsId(
        defaultSemantics(modelSourcePath, semantics).digest(), IdentitySource.DEFAULT_DERIVED);
  }

  /**
   * Cache semantics given by the operator.
   *
   * @param entries the explicit map
   * @param semantics block size and hash format
   * @return the identity
   */
  public static CacheSemanticsId cacheSemantics(IdentityEntries entries, QuerySemantics semantics) {
    return new CacheSemanticsId(
        explicitSemantics(entries, semantics).digest(), IdentitySource.EXPLICIT);
  }

  /**
   * Routing scope derived from an endpoint: every endpoint has its own.
   *
   * @param endpoint the endpoint
   * @return the identity
   */
  public static RoutingScopeId routingScope(EndpointId endpoint) {
    return new RoutingScopeId(defaultScope(endpoint).digest(), IdentitySource.DEFAULT_DERIVED);
  }

  /**
   * Routing scope given by the operator; endpoints with the same map share it.
   *
   * @param entries the explicit map
   * @return the identity
   */
  public static RoutingScopeId routingScope(IdentityEntries entries) {
    return new RoutingScopeId(explicitScope(entries).digest(), IdentitySource.EXPLICIT);
  }

  /**
   * A data center's id.
   *
   * @param dcName the data center's name
   * @return the id: the first 8 bytes of the hash, read little-endian
   * @throws IllegalArgumentException if the name is empty or surrounded by white space
   */
  public static DcId dcId(String dcName) {
    if (!Text.isValid(dcName)) {
      throw new IllegalArgumentException(
          "dcName = \"" + dcName + "\": must not be empty or surrounded by white space");
    }
    ByteBuffer hash = ByteBuffer.wrap(dc(dcName).blake3()).order(ByteOrder.LITTLE_ENDIAN);
    return new DcId(hash.getLong(0));
  }

  /**
   * The key of a worker rank as the owner of residency.
   *
   * @param member the worker rank
   * @return the key
   */
  public static Digest residencyOwnerKey(Member member) {
    return residencyOwner(member).digest();
  }

  static IdentityMaterial defaultSemantics(String modelSourcePath, QuerySemantics semantics) {
    return withSemantics(
        new IdentityMaterial().frame(SEMANTICS_DEFAULT).u32(1).frame(modelSourcePath), semantics);
  }

  static IdentityMaterial explicitSemantics(IdentityEntries entries, QuerySemantics semantics) {
    IdentityMaterial material = new IdentityMaterial().frame(SEMANTICS_EXPLICIT);
    entries.writeTo(material);
    return withSemantics(material, semantics);
  }

  private static IdentityMaterial withSemantics(
      IdentityMaterial material, QuerySemantics semantics) {
    return material.u32(semantics.kvBlockSize()).u16(semantics.hashFormat().number());
  }

  static IdentityMaterial defaultScope(EndpointId endpoint) {
    return new IdentityMaterial()
        .frame(SCOPE_DEFAULT)
        .u32(3)
        .frame(endpoint.namespace())
        .frame(endpoint.component())
        .frame(endpoint.endpoint());
  }

  static IdentityMaterial explicitScope(IdentityEntries entries) {
    IdentityMaterial material = new IdentityMaterial().frame(SCOPE_EXPLICIT);
    entries.writeTo(material);
    return material;
  }

  static IdentityMaterial dc(String dcName) {
    return new IdentityMaterial().raw(DC).frame(dcName);
  }

  static IdentityMaterial residencyOwner(Member member) {
    return new IdentityMaterial()
        .raw(RESIDENCY_OWNER)
        .bigEndian(member.workerId(), Long.BYTES)
        .bigEndian(member.dpRank(), Integer.BYTES);
  }
}
