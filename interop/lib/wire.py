"""The contract dynamo.kvrelay.v1 as a Python client sees it: messages, calls, reflection."""
import importlib
import os
import sys
import tempfile

import grpc
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO_ROOT = os.path.join(HERE, "..", "..", "kvrelay-transport-grpc", "src", "main", "proto")
PACKAGE = "dynamo.kvrelay.v1"
SERVICE = PACKAGE + ".KvEventRelay"
CONTRACT_MARKER = int.from_bytes(b"KVR1", "big")
REASON_TRAILER = "kv-relay-error-reason"
MAX_MESSAGE_BYTES = 8 * 1024 * 1024


def _compile(target, root, *files):
    arguments = ["protoc", f"-I{root}", f"--python_out={target}"]
    if protoc.main(arguments + [os.path.join(root, name) for name in files]):
        raise RuntimeError("protoc failed")


def _load():
    target = tempfile.mkdtemp(prefix="interop-proto-")
    _compile(target, PROTO_ROOT, "dynamo/kvrelay/v1/relay.proto")
    _compile(target, HERE, "reflection.proto")
    sys.path.insert(0, target)
    return (importlib.import_module("dynamo.kvrelay.v1.relay_pb2"),
            importlib.import_module("reflection_pb2"))


# The reference's packages have a module named dynamo too; nothing of theirs is loaded here.
pb, reflection = _load()

REPLIES = {
    "GetRelayInfo": pb.RelayInfo,
    "WatchKvPoolCatalog": pb.KvPoolCatalogUpdate,
    "SubscribeKvPool": pb.FilterUpdate,
    "SubscribeServingReadiness": pb.ServingReadinessUpdate,
    "SubscribeKvPoolLoad": pb.KvPoolLoadUpdate,
}
REQUESTS = {
    "GetRelayInfo": pb.RelayInfoRequest,
    "WatchKvPoolCatalog": pb.WatchKvPoolCatalogRequest,
    "SubscribeKvPool": pb.SubscribeKvPoolRequest,
    "SubscribeServingReadiness": pb.SubscribeServingReadinessRequest,
    "SubscribeKvPoolLoad": pb.SubscribeKvPoolLoadRequest,
}


def envelope_fault(message):
    """What is wrong with a response's envelope, or None."""
    if message.contract_marker != CONTRACT_MARKER:
        return f"marker {message.contract_marker:#x}"
    if message.protocol_version != 1:
        return f"protocol version {message.protocol_version}"
    if not message.HasField("relay"):
        return "no relay identity"
    return None


class Client:
    def __init__(self, address, subscriber="interop"):
        self.subscriber = subscriber
        self.channel = grpc.insecure_channel(
            address, options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                              ("grpc.use_local_subchannel_pool", 1)])

    def close(self):
        self.channel.close()

    def call(self, method, request, timeout=None):
        """Starts a call: a message for the one unary method, else an iterator of messages."""
        path = f"/{SERVICE}/{method}"
        reply = REPLIES[method].FromString
        kind = (self.channel.unary_unary if method == "GetRelayInfo"
                else self.channel.unary_stream)
        return kind(path, type(request).SerializeToString, reply)(request, timeout=timeout)

    def request(self, method, **fields):
        named = {} if method == "GetRelayInfo" else {"subscriber_id": self.subscriber}
        return REQUESTS[method](**{"contract_marker": CONTRACT_MARKER, **named, **fields})

    def info(self, timeout=10):
        return self.call("GetRelayInfo", self.request("GetRelayInfo"), timeout)

    def first(self, method, timeout=10):
        """The first message of a stream."""
        call = self.call(method, self.request(method), timeout)
        try:
            return next(iter(call))
        finally:
            call.cancel()

    def pool(self, producer):
        return self.call("SubscribeKvPool",
                         self.request("SubscribeKvPool", expected_producer=producer))

    def file_descriptors(self, symbol=SERVICE, timeout=10):
        """The schema as the server itself shows it, by server reflection v1."""
        request = reflection.ServerReflectionRequest(file_containing_symbol=symbol)
        call = self.channel.stream_stream(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            type(request).SerializeToString,
            reflection.ServerReflectionResponse.FromString)(iter([request]), timeout=timeout)
        answer = next(iter(call))
        if not answer.HasField("file_descriptor_response"):
            raise RuntimeError(f"reflection: {answer}")
        return [descriptor_pb2.FileDescriptorProto.FromString(one)
                for one in answer.file_descriptor_response.file_descriptor_proto]
