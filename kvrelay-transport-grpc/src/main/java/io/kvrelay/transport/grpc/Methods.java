package io.kvrelay.transport.grpc;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServiceDescriptor;
import io.grpc.protobuf.ProtoUtils;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.KvEventRelayGrpc;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import io.kvrelay.transport.grpc.v1.RelayInfoRequest;
import io.kvrelay.transport.grpc.v1.ServingReadinessUpdate;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolLoadRequest;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolRequest;
import io.kvrelay.transport.grpc.v1.SubscribeServingReadinessRequest;
import io.kvrelay.transport.grpc.v1.WatchKvPoolCatalogRequest;

/**
 * The methods of the service as its two ends see them: each reads with a marshaller that does not
 * throw, and the server writes pool messages without building them.
 */
final class Methods {
  private Methods() {}

  /** The server's end. */
  static final class Serving {
    static final MethodDescriptor<Received<RelayInfoRequest>, RelayInfo> INFO =
        unary(
            "GetRelayInfo",
            WireMarshallers.reading(RelayInfoRequest.parser()),
            ProtoUtils.marshaller(RelayInfo.getDefaultInstance()));
    static final MethodDescriptor<Received<WatchKvPoolCatalogRequest>, KvPoolCatalogUpdate>
        CATALOG =
            serving(
                "WatchKvPoolCatalog",
                WatchKvPoolCatalogRequest.parser(),
                ProtoUtils.marshaller(KvPoolCatalogUpdate.getDefaultInstance()));
    static final MethodDescriptor<Received<SubscribeKvPoolRequest>, FilterMessage> POOL =
        serving(
            "SubscribeKvPool", SubscribeKvPoolRequest.parser(), WireMarshallers.filterMessages());
    static final MethodDescriptor<
            Received<SubscribeServingReadinessRequest>, ServingReadinessUpdate>
        READINESS =
            serving(
                "SubscribeServingReadiness",
                SubscribeServingReadinessRequest.parser(),
                ProtoUtils.marshaller(ServingReadinessUpdate.getDefaultInstance()));
    static final MethodDescriptor<Received<SubscribeKvPoolLoadRequest>, KvPoolLoadUpdate> LOAD =
        serving(
            "SubscribeKvPoolLoad",
            SubscribeKvPoolLoadRequest.parser(),
            ProtoUtils.marshaller(KvPoolLoadUpdate.getDefaultInstance()));

    /** The service, with the generated schema for reflection. The additive plane is not served. */
    static final ServiceDescriptor SERVICE =
        ServiceDescriptor.newBuilder(KvRelayWire.SERVICE_NAME)
            .setSchemaDescriptor(KvEventRelayGrpc.getServiceDescriptor().getSchemaDescriptor())
            .addMethod(INFO)
            .addMethod(CATALOG)
            .addMethod(POOL)
            .addMethod(READINESS)
            .addMethod(LOAD)
            .build();

    private Serving() {}

    private static <Q extends MessageLite, R> MethodDescriptor<Received<Q>, R> serving(
        String method, Parser<Q> requests, MethodDescriptor.Marshaller<R> responses) {
      return stream(method, WireMarshallers.reading(requests), responses);
    }
  }

  /** The client's end. */
  static final class Calling {
    static final MethodDescriptor<RelayInfoRequest, Received<RelayInfo>> INFO =
        unary(
            "GetRelayInfo",
            ProtoUtils.marshaller(RelayInfoRequest.getDefaultInstance()),
            WireMarshallers.reading(RelayInfo.parser()));
    static final MethodDescriptor<WatchKvPoolCatalogRequest, Received<KvPoolCatalogUpdate>>
        CATALOG =
            calling(
                "WatchKvPoolCatalog",
                WatchKvPoolCatalogRequest.getDefaultInstance(),
                KvPoolCatalogUpdate.parser());
    static final MethodDescriptor<SubscribeKvPoolRequest, Received<FilterUpdate>> POOL =
        calling(
            "SubscribeKvPool", SubscribeKvPoolRequest.getDefaultInstance(), FilterUpdate.parser());
    static final MethodDescriptor<
            SubscribeServingReadinessRequest, Received<ServingReadinessUpdate>>
        READINESS =
            calling(
                "SubscribeServingReadiness",
                SubscribeServingReadinessRequest.getDefaultInstance(),
                ServingReadinessUpdate.parser());
    static final MethodDescriptor<SubscribeKvPoolLoadRequest, Received<KvPoolLoadUpdate>> LOAD =
        calling(
            "SubscribeKvPoolLoad",
            SubscribeKvPoolLoadRequest.getDefaultInstance(),
            KvPoolLoadUpdate.parser());

    private Calling() {}

    private static <Q extends com.google.protobuf.Message, R extends MessageLite>
        MethodDescriptor<Q, Received<R>> calling(String method, Q request, Parser<R> responses) {
      return stream(method, ProtoUtils.marshaller(request), WireMarshallers.reading(responses));
    }
  }

  private static <Q, R> MethodDescriptor<Q, R> unary(
      String method,
      MethodDescriptor.Marshaller<Q> requests,
      MethodDescriptor.Marshaller<R> responses) {
    return method(MethodType.UNARY, method, requests, responses);
  }

  private static <Q, R> MethodDescriptor<Q, R> stream(
      String method,
      MethodDescriptor.Marshaller<Q> requests,
      MethodDescriptor.Marshaller<R> responses) {
    return method(MethodType.SERVER_STREAMING, method, requests, responses);
  }

  private static <Q, R> MethodDescriptor<Q, R> method(
      MethodType type,
      String method,
      MethodDescriptor.Marshaller<Q> requests,
      MethodDescriptor.Marshaller<R> responses) {
    return MethodDescriptor.newBuilder(requests, responses)
        .setType(type)
        .setFullMethodName(
            MethodDescriptor.generateFullMethodName(KvRelayWire.SERVICE_NAME, method))
        .build();
  }
}
